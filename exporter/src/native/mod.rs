//! Native stacks: what was captured of threads in native code, as stacks of frames.
//!
//! ```text
//! captures (sections, slots) -> whole stacks -> frames (crate native-stacks) ┐
//! frames that the device unwound ────────────────────────────────────────────┴> + Java's frames -> ThreadStack
//! ```
//! Stack bytes and registers end here: what leaves this module has frames alone.

mod calls;
mod java;
mod modules;
mod unwinding;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use answers::text::clean;
use trace_format::hex::unhex;
use trace_format::native_slot::{Reason, flags};
use trace_format::sections::native_frames::{FrameKind, NativeFrame, NativeFrames};
use trace_format::sections::native_modules::NativeModules;
use trace_format::sections::native_stack::{NativeStack, WholeStacks};
use trace_format::{ReadError, Section};

use crate::facts::Facts;
use crate::names::Names;
use unwinding::{Unwinders, Unwinding};

pub use unwinding::HAS_UNWINDING;

/// Maximum number of frames of all stacks, of bytes of their distinct texts, and of mappings.
const MAX_FRAMES: usize = 1 << 18;
const MAX_TEXT: usize = 16 << 20;
const MAX_MAPPINGS: usize = 1 << 16;

/// An executable mapping of a file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct MappedFile {
    /// Its first address; 0 if only the file is known.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// What the file's own addresses exceed its offsets by.
    pub load_bias: u64,
    /// The build id; empty if unknown.
    pub build_id: Vec<u8>,
    /// The file.
    pub path: String,
}

/// A frame in native code.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NativePlace {
    /// What it is.
    pub kind: FrameKind,
    /// The address in the numbering of the file.
    pub rel_pc: u64,
    /// The file; empty if unknown.
    pub path: Arc<str>,
    /// Its build id in hexadecimal; empty if unknown.
    pub build_id: Arc<str>,
    /// The place of its mapping among the mappings of all stacks.
    pub mapping: Option<u32>,
}

impl NativePlace {
    /// The file's name.
    pub(crate) fn library(&self) -> &str {
        self.path.rsplit(['/', '!']).next().unwrap_or_default()
    }
}

/// A frame of a thread's stack.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Frame {
    /// The function, or class and method; empty if unknown.
    pub function: Arc<str>,
    /// Source file, if known, and line, from 1.
    pub source: Option<(Arc<str>, u32)>,
    /// Its place, unless it is Java's.
    pub native: Option<NativePlace>,
    /// Whether it is a native method of Java's.
    pub is_native_method: bool,
}

impl Frame {
    /// The function, or the library and the offset in it.
    pub(crate) fn title(&self) -> String {
        match &self.native {
            Some(place) if self.function.is_empty() => match (place.kind, place.library()) {
                (FrameKind::Jit, "") => "[generated code]".to_owned(),
                (FrameKind::Interpreter, "") => "[interpreter]".to_owned(),
                (_, "") => format!("{:#x}", place.rel_pc),
                (_, library) => format!("{library}+{:#x}", place.rel_pc),
            },
            _ => self.function.to_string(),
        }
    }

    /// Whether it is Java's.
    pub(crate) fn is_java(&self) -> bool {
        self.native.is_none()
    }
}

/// The native stack of a thread at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ThreadStack {
    /// The number of the capture.
    pub number: u64,
    /// The thread.
    pub tid: u32,
    /// When, BOOTTIME ns.
    pub at: u64,
    /// Why; `None` for a reason of a later version.
    pub reason: Option<Reason>,
    /// The frames, innermost first.
    pub frames: Vec<Frame>,
    /// Whether the place of Java's frames among the native ones is not certain.
    pub approximate: bool,
    /// Why the stack ends at its last frame; empty if it is complete.
    pub end: String,
    /// The system call that the thread was in: its name, or its number.
    pub call: Option<String>,
    /// The tid of the owner of the mutex that the thread waits for, if known.
    pub owner: Option<u32>,
}

impl ThreadStack {
    /// `in futex (waits for a mutex owned by tid 7)`: the system call in words.
    #[must_use]
    pub fn call_words(&self) -> Option<String> {
        self.call_of(|owner| format!("tid {owner}"))
    }

    /// As [`Self::call_words`], with the mutex's owner as `named` calls it.
    pub(crate) fn call_of(&self, named: impl Fn(u32) -> String) -> Option<String> {
        let owner = self.owner.map(|owner| format!("waits for a mutex owned by {}", named(owner)));
        match (&self.call, owner) {
            (Some(call), Some(owner)) => Some(format!("in {call} ({owner})")),
            (Some(call), None) => Some(format!("in {call}")),
            (None, owner) => owner,
        }
    }
}

/// The reason of a capture: the stable identifier, the same in all versions.
pub(crate) fn reason_word(reason: Option<Reason>) -> &'static str {
    match reason {
        Some(Reason::Stall) => "stall",
        Some(Reason::Sigquit) => "sigquit",
        Some(Reason::LockOwner) => "lock-owner",
        Some(Reason::MissedBeat) => "missed-heartbeat",
        Some(Reason::Asked) => "asked",
        None => "unknown",
    }
}

/// The native stacks of a recording.
#[derive(Debug, Default)]
pub(crate) struct NativeStacks {
    /// All of them, by time.
    pub(crate) all: Vec<ThreadStack>,
    /// The mappings of their frames.
    pub(crate) mappings: Vec<MappedFile>,
    /// Number of captures that this build cannot unwind.
    pub(crate) not_unwound: u64,
    /// Number of stacks beyond the limits.
    pub(crate) more: u64,
    /// Names of threads that recorded nothing, by tid.
    pub(crate) names: HashMap<u32, String>,
    /// Sentences about symbols that were left out or could not be read.
    pub(crate) notes: Vec<String>,
}

/// Where a capture is.
enum Capture<'a> {
    Section(&'a Section),
    Slot(Box<NativeStack>),
}

impl NativeStacks {
    /// Reads and unwinds the captures of a recording. `symbols` are directories of files with symbols.
    ///
    /// # Errors
    /// If reading fails.
    pub(crate) fn of(facts: &Facts<'_>, names: &Names<'_>, symbols: &[PathBuf]) -> Result<Self, ReadError> {
        let sections = &facts.sections.native;
        let mut captures: HashMap<u64, Capture<'_>> = HashMap::new();
        let mut unwound: HashMap<u64, &Section> = HashMap::new();
        let mut times: BTreeMap<u64, u64> = BTreeMap::new();
        for frames in &sections.frames {
            unwound.insert(frames.number, &frames.section);
            times.insert(frames.number, frames.at);
        }
        for slot in facts.recording.native_slots()? {
            times.insert(slot.number, slot.at);
            captures.insert(slot.number, Capture::Slot(Box::new(slot)));
        }
        for capture in &sections.captures {
            times.insert(capture.number, capture.at);
            captures.insert(capture.number, Capture::Section(&capture.section));
        }
        // Those with the same list of modules follow each other, so that each list is read and joined once.
        let mut numbers: Vec<u64> = times.keys().copied().collect();
        let nearest = |number: &u64| modules::nearest(facts, times[number]);
        numbers.sort_by_key(nearest);
        let mut numbers = numbers.into_iter().peekable();
        let mut found = Collector::new(symbols);
        while let Some(first) = numbers.peek() {
            let list = nearest(first);
            let joined = modules::joined(facts, list)?;
            let mut unwinders = Unwinders::of(&joined);
            while let Some(number) = numbers.next_if(|number| nearest(number) == list) {
                let capture = match captures.remove(&number) {
                    Some(Capture::Slot(capture)) => Some(*capture),
                    Some(Capture::Section(section)) => {
                        facts.payload(section, NativeStack::parse).transpose()?
                    }
                    None => None,
                };
                let device = unwound.get(&number);
                let device = device.and_then(|section| facts.payload(section, NativeFrames::parse));
                found.add(number, capture, device.transpose()?, &mut unwinders);
            }
        }
        let notes = found.unwinding.notes();
        let mut found = NativeStacks { notes, ..found.found };
        found.all.sort_by_key(|stack| (stack.at, stack.number));
        java::interleave(facts, names, &mut found.all)?;
        let notices = facts.incidents.notices.iter();
        let texts = notices.filter_map(|(_, text)| facts.recording.texts().get(*text));
        found.names = texts.filter_map(name_in_notice).collect();
        Ok(found)
    }

    /// The stacks of a thread from `since` to `until`, by time.
    pub(crate) fn of_thread(
        &self,
        tid: u32,
        since: u64,
        until: u64,
    ) -> impl Iterator<Item = &ThreadStack> + Clone {
        self.all.iter().filter(move |stack| stack.tid == tid && (since..=until).contains(&stack.at))
    }
}

/// Reads captures, one after another.
struct Collector {
    found: NativeStacks,
    unwinding: Unwinding,
    whole: WholeStacks,
    frames: usize,
    texts: Texts,
    mappings: HashMap<MappedFile, u32>,
}

impl Collector {
    fn new(symbols: &[PathBuf]) -> Self {
        Self {
            found: NativeStacks::default(),
            unwinding: Unwinding::with(symbols),
            whole: WholeStacks::default(),
            frames: 0,
            texts: Texts::default(),
            mappings: HashMap::new(),
        }
    }

    fn add(
        &mut self,
        number: u64,
        capture: Option<NativeStack>,
        device: Option<NativeFrames>,
        unwinders: &mut Unwinders<'_>,
    ) {
        let host = match &capture {
            Some(capture) if !capture.is_wiped() => {
                let stack = self.whole.of(capture);
                self.unwinding.frames(capture, &stack, unwinders)
            }
            _ => None,
        };
        let device = device.map(|mut frames| {
            self.unwinding.name(&mut frames);
            frames
        });
        let unwound = match (host, device) {
            // The device has its own libraries, the host the app's symbols: the longer stack is the better one.
            (Some(host), Some(device)) if host.frames.len() > device.frames.len() => Some(host),
            (host, device) => device.or(host),
        };
        if unwound.is_none() && capture.as_ref().is_some_and(|capture| !capture.is_wiped()) {
            self.found.not_unwound += 1;
        }
        let (tid, at, reason) = match (&capture, &unwound) {
            (Some(capture), _) => (capture.tid, capture.at, capture.reason),
            (None, Some(frames)) => (frames.tid, frames.at, Reason::try_from(frames.reason).ok()),
            (None, None) => return,
        };
        let NativeFrames { frames, end, .. } = unwound.unwrap_or_else(|| NativeFrames {
            end: capture.as_ref().map_or("", not_unwound).to_owned(),
            ..NativeFrames::default()
        });
        if self.frames + frames.len() > MAX_FRAMES {
            self.found.more += 1;
            return;
        }
        self.frames += frames.len();
        let modules = unwinders.modules;
        let mut shown = Vec::with_capacity(frames.len());
        for frame in &frames {
            let mapping = mapped_file(modules, frame);
            let mapping =
                mapping.and_then(|file| number_of(file, &mut self.mappings, &mut self.found.mappings));
            shown.push(self.texts.frame(frame, mapping));
        }
        let call = capture.as_ref().and_then(|capture| {
            let number = capture.system_call?.number;
            let name = calls::name(capture.machine, number);
            Some(name.map_or_else(|| format!("system call {number}"), str::to_owned))
        });
        self.found.all.push(ThreadStack {
            number,
            tid,
            at,
            reason,
            frames: shown,
            approximate: false,
            end: clean(&end).into_owned(),
            call,
            owner: capture.map(|capture| capture.mutex.1).filter(|owner| *owner > 0),
        });
    }
}

/// The thread that a notice is about: `thread NAME (tid N) missed its heartbeat for 300 ms`.
fn name_in_notice(text: &str) -> Option<(u32, String)> {
    let (name, rest) = text.strip_prefix("thread ")?.rsplit_once(" (tid ")?;
    let (tid, _) = rest.split_once(')')?;
    Some((tid.parse().ok()?, clean(name).into_owned()))
}

/// Why a capture has no frames.
fn not_unwound(capture: &NativeStack) -> &'static str {
    match capture.flags {
        of if of & flags::WIPED != 0 => "wiped before it was unwound",
        of if of & flags::FOREIGN_STACK != 0 => "the thread ran on a stack that is not its own",
        _ if !HAS_UNWINDING => "not unwound: this build has no feature native-stacks",
        _ => "not unwound",
    }
}

fn number_of(
    file: MappedFile,
    known: &mut HashMap<MappedFile, u32>,
    all: &mut Vec<MappedFile>,
) -> Option<u32> {
    if let Some(number) = known.get(&file) {
        return Some(*number);
    }
    if all.len() >= MAX_MAPPINGS {
        return None;
    }
    let number = u32::try_from(all.len()).ok()?;
    all.push(file.clone());
    known.insert(file, number);
    Some(number)
}

/// The mapping of a frame; without one, what the frame says about its file.
fn mapped_file(modules: &NativeModules, frame: &NativeFrame) -> Option<MappedFile> {
    let mappings = &modules.mappings;
    let before = mappings.partition_point(|mapping| mapping.start <= frame.pc).checked_sub(1);
    let mapping = before.map(|place| &mappings[place]).filter(|mapping| frame.pc < mapping.end);
    // A list of another moment may have another file there.
    let same = mapping.filter(|mapping| frame.path.is_empty() || mapping.path == frame.path);
    match same {
        Some(mapping) => Some(MappedFile {
            start: mapping.start,
            end: mapping.end,
            offset: mapping.offset,
            load_bias: mapping.start.wrapping_sub(mapping.bias).wrapping_sub(mapping.offset),
            build_id: mapping.build_id.clone(),
            path: clean(&mapping.path).into_owned(),
        }),
        None if frame.path.is_empty() => None,
        None => Some(MappedFile {
            start: 0,
            end: 1 << 47,
            offset: 0,
            load_bias: 0,
            build_id: unhex(&frame.build_id).unwrap_or_default(),
            path: clean(&frame.path).into_owned(),
        }),
    }
}

/// Distinct texts.
#[derive(Default)]
pub(super) struct Texts {
    all: HashSet<Arc<str>>,
    bytes: usize,
}

impl Texts {
    /// The text, cleaned for display; empty beyond the limit.
    fn text(&mut self, text: &str) -> Arc<str> {
        let text = clean(text);
        if let Some(known) = self.all.get(&*text) {
            return Arc::clone(known);
        }
        if self.bytes + text.len() > MAX_TEXT {
            return Arc::from("");
        }
        self.bytes += text.len();
        let text: Arc<str> = Arc::from(&*text);
        self.all.insert(Arc::clone(&text));
        text
    }

    fn frame(&mut self, frame: &NativeFrame, mapping: Option<u32>) -> Frame {
        let source = (!frame.file.is_empty() && frame.line > 0).then(|| (self.text(&frame.file), frame.line));
        let place = NativePlace {
            kind: frame.kind,
            rel_pc: frame.rel_pc,
            path: self.text(&frame.path),
            build_id: self.text(&frame.build_id),
            mapping,
        };
        Frame { function: self.text(&frame.function), source, native: Some(place), is_native_method: false }
    }
}

#[cfg(test)]
mod tests;
