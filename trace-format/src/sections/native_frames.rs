//! The frames of a native stack, unwound and named on the device: the payload of [`SectionKind::NativeFrames`].
//!
//! ```text
//! number=<of the capture>  tid=  at=<BOOTTIME ns>  reason=<its number>  end=<why the stack ends here>
//!                                                a line each, then a blank line, then a frame a line, innermost first:
//! KIND PC REL_PC BUILD_ID <tab> PATH <tab> FUNCTION <tab> FILE <tab> LINE
//! ```
//! KIND is `n` for native code, `i` for a function inlined into the frame on the next line, `j` for generated code, `r` for an interpreter.
//! PC and REL_PC are hexadecimal; what is unknown is empty, and a build id `-`.
//!
//! [`SectionKind::NativeFrames`]: crate::section::SectionKind::NativeFrames

use std::fmt::Write as _;

use super::lines::{Keys, split_blank};
use super::text_of;
use crate::section::SectionKind;

/// The most frames of a stack, from the innermost on.
pub const MAX_FRAMES: usize = 1_024;

words! {
    /// What a frame is.
    FrameKind {
        /// Native code.
        Native = "n",
        /// A function that was inlined into the next outer frame.
        Inlined = "i",
        /// Code that ART or a JVM generated.
        Jit = "j",
        /// An interpreter of ART or of a JVM.
        Interpreter = "r",
    }
}

/// A frame. Texts that are empty are not known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NativeFrame {
    /// What it is.
    pub kind: FrameKind,
    /// The address in memory: of the instruction for the innermost frame and below a signal, else the return address less 1.
    pub pc: u64,
    /// The same in the numbering of the file.
    pub rel_pc: u64,
    /// The file's build id in hexadecimal.
    pub build_id: String,
    /// The file.
    pub path: String,
    /// The function, demangled, with its offset (`name+0x1c`) only where no size bounds it.
    pub function: String,
    /// The source file.
    pub file: String,
    /// Its line, 0 if unknown.
    pub line: u32,
}

/// A stack of frames.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct NativeFrames {
    /// The number of the capture.
    pub number: u64,
    /// The thread.
    pub tid: u32,
    /// When the registers were read, BOOTTIME ns in `1..MAX_TIME`.
    pub at: u64,
    /// The number of the reason: [`crate::native_slot::Reason`].
    pub reason: u8,
    /// Why the stack ends at its last frame, for people; empty if it is complete.
    pub end: String,
    /// The frames, innermost first.
    pub frames: Vec<NativeFrame>,
}

impl NativeFrames {
    /// The section's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let plain = |text: &str| text.replace(['\n', '\r', '\t'], " ");
        let Self { number, tid, at, reason, end, .. } = self;
        let mut out = format!("number={number}\ntid={tid}\nat={at}\nreason={reason}\nend={}\n\n", plain(end));
        for frame in &self.frames {
            let NativeFrame { kind, pc, rel_pc, build_id, path, function, file, line } = frame;
            let id = if build_id.is_empty() { "-" } else { build_id };
            let (path, function, file) = (plain(path), plain(function), plain(file));
            let _ = writeln!(out, "{kind} {pc:x} {rel_pc:x} {id}\t{path}\t{function}\t{file}\t{line}");
        }
        out.into_bytes()
    }

    /// Reads a payload; `None` if it is too long, or has no number, thread or valid time. Lines that are no frames are skipped.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let text = text_of(SectionKind::NativeFrames, payload)?;
        let (head, frames) = split_blank(&text);
        let keys = Keys::new(head);
        Some(Self {
            number: keys.number("number").filter(|number| *number > 0)?,
            tid: keys.number("tid")?,
            at: keys.time("at")?,
            reason: keys.number("reason").unwrap_or(0),
            end: keys.owned("end").unwrap_or_default(),
            frames: frames.lines().filter_map(frame).take(MAX_FRAMES).collect(),
        })
    }
}

fn frame(line: &str) -> Option<NativeFrame> {
    let mut parts = line.split('\t');
    let mut words = parts.next()?.split(' ');
    let kind = words.next()?.parse().ok()?;
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (pc, rel_pc) = (number()?, number()?);
    let build_id = words.next().filter(|id| *id != "-").unwrap_or_default().to_owned();
    let mut part = || parts.next().unwrap_or_default().to_owned();
    let (path, function, file) = (part(), part(), part());
    let line = parts.next().and_then(|line| line.parse().ok()).unwrap_or(0);
    Some(NativeFrame { kind, pc, rel_pc, build_id, path, function, file, line })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::MAX_TIME;
    use proptest::prelude::*;

    prop_compose! {
        fn frames()(
            kind in prop::sample::select(FrameKind::ALL), pc: u64, rel_pc: u64, build_id in "[0-9a-f]{0,40}",
            path in "[^\t\r\n]{0,20}", function in "[^\t\r\n]{0,20}", file in "[^\t\r\n]{0,20}", line: u32,
        ) -> NativeFrame {
            NativeFrame { kind, pc, rel_pc, build_id, path, function, file, line }
        }
    }

    proptest! {
        #[test]
        fn frames_round_trip(
            number in 1u64.., tid: u32, at in 1..MAX_TIME, reason: u8, end in "([a-z][a-z ]{0,9}[a-z])?",
            frames in prop::collection::vec(frames(), 0..9),
        ) {
            let stack = NativeFrames { number, tid, at, reason, end, frames };
            prop_assert_eq!(NativeFrames::parse(&stack.encode()), Some(stack));
        }

        #[test]
        fn no_text_is_too_wild(text in "number=1\ntid=1\nat=1\n\n([nijrx] [0-9a-g]{0,17} [0-9a-f]{0,4} -\t.{0,9}\n|.{0,9}\n){0,20}") {
            let found = NativeFrames::parse(text.as_bytes()).unwrap();
            prop_assert!(found.frames.len() <= text.len());
        }
    }
}
