//! Unwinds and names the native stacks of a recording: registers and stack bytes become frames with functions, files and lines.

pub mod modules;
pub mod recording;
pub mod symbols;
pub mod unwind;

use trace_format::sections::native_frames::{FrameKind, MAX_FRAMES, NativeFrame, NativeFrames};
use trace_format::sections::native_modules::NativeModules;
use trace_format::sections::native_stack::NativeStack;

pub use modules::Files;
pub use symbols::{Named, Symbols};
pub use unwind::{End, Unwinder, Unwound, UnwoundFrame};

/// The frames of a capture, innermost first, with the names that `symbols` knows. `stack` is its whole stack, from the stack pointer
/// upwards ([`NativeStack::whole`]).
#[must_use]
pub fn frames(
    capture: &NativeStack,
    stack: &[u8],
    modules: &NativeModules,
    symbols: &mut Symbols,
) -> NativeFrames {
    let unwinder = Unwinder::new(capture.machine, modules, symbols);
    frames_by(&unwinder, capture, stack, modules, symbols)
}

/// As [`frames`], by an unwinder for the capture's machine and these modules: one serves all captures with the same list.
#[must_use]
pub fn frames_by(
    unwinder: &Unwinder<'_>,
    capture: &NativeStack,
    stack: &[u8],
    modules: &NativeModules,
    symbols: &mut Symbols,
) -> NativeFrames {
    let mut unwound = unwinder.unwind(capture, stack);
    let mut frames = Vec::new();
    for frame in &unwound.frames {
        if frames.len() >= MAX_FRAMES {
            unwound.end = End::TooMany;
            break;
        }
        let mapping = frame.mapping.and_then(|index| modules.mappings.get(index));
        let (id, path) = mapping.map_or((&[][..], ""), |mapping| (&mapping.build_id[..], &mapping.path[..]));
        let named = |function: String, file: Option<String>, line, kind| NativeFrame {
            kind,
            pc: frame.pc,
            rel_pc: frame.rel_pc,
            build_id: modules::hex(id),
            path: path.to_owned(),
            function,
            file: file.unwrap_or_default(),
            line,
        };
        let names = symbols.name(id, path, frame.rel_pc);
        if names.is_empty() {
            frames.push(named(String::new(), None, 0, frame.kind));
        }
        for name in names {
            let kind = if name.inlined { FrameKind::Inlined } else { frame.kind };
            frames.push(named(name.function, name.file, name.line, kind));
        }
    }
    let NativeStack { number, tid, at, reason, .. } = *capture;
    let reason = reason.map_or(0, |reason| reason as u8);
    NativeFrames { number, tid, at, reason, end: unwound.end.to_string(), frames }
}
