//! Unwinds and names the native stacks of a recording: registers and stack bytes become frames with functions, files and lines.

pub mod recording;
pub mod symbols;
pub mod unwind;

use std::collections::BTreeMap;

use trace_format::hex::hex;
use trace_format::sections::native_frames::{MAX_FRAMES, NativeFrame, NativeFrames};
use trace_format::sections::native_modules::NativeModules;
use trace_format::sections::native_stack::NativeStack;

pub use symbols::{Named, Symbols};
pub use unwind::{End, Files, Unwinder, Unwound, UnwoundFrame};

/// The unwinders of the captures that share a list of modules, by machine: to read the unwind tables of its files takes longer
/// than to unwind a stack.
#[derive(Debug)]
pub struct Unwinders<'m> {
    modules: &'m NativeModules,
    all: BTreeMap<u8, Unwinder<'m>>,
}

impl<'m> Unwinders<'m> {
    /// Unwinders for captures with these modules.
    #[must_use]
    pub fn of(modules: &'m NativeModules) -> Self {
        Self { modules, all: BTreeMap::new() }
    }

    /// The frames of a capture, innermost first, with the names that `symbols` knows. `stack` is its whole stack, from the
    /// stack pointer upwards ([`NativeStack::whole`]).
    pub fn frames(&mut self, capture: &NativeStack, stack: &[u8], symbols: &mut Symbols) -> NativeFrames {
        let unwinder = self
            .all
            .entry(capture.machine as u8)
            .or_insert_with(|| Unwinder::new(capture.machine, self.modules, symbols));
        let mut unwound = unwinder.unwind(capture, stack);
        let mut frames = Vec::new();
        for &UnwoundFrame { pc, mapping, rel_pc, kind } in &unwound.frames {
            if frames.len() >= MAX_FRAMES {
                unwound.end = End::TooMany;
                break;
            }
            let mapping = mapping.and_then(|index| self.modules.mappings.get(index));
            let (id, path) =
                mapping.map_or((&[][..], ""), |mapping| (&mapping.build_id[..], &mapping.path[..]));
            let frame = NativeFrame {
                kind,
                pc,
                rel_pc,
                build_id: hex(id),
                path: path.to_owned(),
                function: String::new(),
                file: String::new(),
                line: 0,
            };
            frames.extend(symbols::named(frame, symbols.name(id, path, rel_pc)));
        }
        let NativeStack { number, tid, at, reason, .. } = *capture;
        let reason = reason.map_or(0, |reason| reason as u8);
        NativeFrames { number, tid, at, reason, end: unwound.end.to_string(), frames }
    }
}
