//! Unwinding and naming by the crate `native-stacks`, or neither in a build without that feature.

use std::path::PathBuf;

use trace_format::sections::native_frames::NativeFrames;
use trace_format::sections::native_modules::NativeModules;
use trace_format::sections::native_stack::NativeStack;

/// Whether this build unwinds captures and names frames.
pub const HAS_UNWINDING: bool = cfg!(feature = "native-stacks");

#[cfg(feature = "native-stacks")]
pub(super) struct Unwinding(native_stacks::Symbols);

/// The unwinders of the captures that share a list of modules, by machine: to read the unwind tables of its files takes longer than to unwind a stack.
#[cfg(feature = "native-stacks")]
pub(super) struct Unwinders<'m> {
    modules: &'m NativeModules,
    all: std::collections::BTreeMap<u8, native_stacks::Unwinder<'m>>,
}

#[cfg(feature = "native-stacks")]
impl<'m> Unwinders<'m> {
    pub(super) fn of(modules: &'m NativeModules) -> Self {
        Self { modules, all: std::collections::BTreeMap::new() }
    }

    pub(super) fn modules(&self) -> &'m NativeModules {
        self.modules
    }
}

#[cfg(feature = "native-stacks")]
impl Unwinding {
    pub(super) fn with(symbols: &[PathBuf]) -> Self {
        Self(native_stacks::Symbols::new(symbols.to_vec()))
    }

    /// The frames of a capture with this stack.
    pub(super) fn frames(
        &mut self,
        capture: &NativeStack,
        stack: &[u8],
        unwinders: &mut Unwinders<'_>,
    ) -> Option<NativeFrames> {
        let Unwinders { modules, all } = unwinders;
        let unwinder = all
            .entry(capture.machine as u8)
            .or_insert_with(|| native_stacks::Unwinder::new(capture.machine, modules, &mut self.0));
        Some(native_stacks::frames_by(unwinder, capture, stack, modules, &mut self.0))
    }

    /// Returns sentences about symbols that were left out or could not be read.
    pub(super) fn notes(&self) -> Vec<String> {
        self.0.notes()
    }

    /// Names the frames of a device that lacked the symbols.
    pub(super) fn name(&mut self, frames: &mut NativeFrames) {
        use trace_format::sections::native_frames::{FrameKind, MAX_FRAMES, NativeFrame};

        // An offset shows that only exported functions were known there.
        let is_vague = |frame: &NativeFrame| frame.function.is_empty() || frame.function.contains("+0x");
        let mut named = Vec::with_capacity(frames.frames.len());
        for frame in frames.frames.drain(..) {
            let names = match unhex(&frame.build_id) {
                Some(id) if is_vague(&frame) && frame.kind == FrameKind::Native => {
                    self.0.name(&id, &frame.path, frame.rel_pc)
                }
                _ => Vec::new(),
            };
            if names.is_empty() {
                named.push(frame);
                continue;
            }
            named.extend(names.into_iter().map(|name| NativeFrame {
                kind: if name.inlined { FrameKind::Inlined } else { frame.kind },
                function: name.function,
                file: name.file.unwrap_or_default(),
                line: name.line,
                ..frame.clone()
            }));
        }
        named.truncate(MAX_FRAMES);
        frames.frames = named;
    }
}

#[cfg(not(feature = "native-stacks"))]
pub(super) struct Unwinders<'m>(&'m NativeModules);

#[cfg(not(feature = "native-stacks"))]
impl<'m> Unwinders<'m> {
    pub(super) fn of(modules: &'m NativeModules) -> Self {
        Self(modules)
    }

    pub(super) fn modules(&self) -> &'m NativeModules {
        self.0
    }
}

#[cfg(not(feature = "native-stacks"))]
pub(super) struct Unwinding;

#[cfg(not(feature = "native-stacks"))]
impl Unwinding {
    pub(super) fn with(_symbols: &[PathBuf]) -> Self {
        Self
    }

    pub(super) fn frames(
        &mut self,
        _capture: &NativeStack,
        _stack: &[u8],
        _unwinders: &mut Unwinders<'_>,
    ) -> Option<NativeFrames> {
        None
    }

    pub(super) fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    pub(super) fn name(&mut self, _frames: &mut NativeFrames) {}
}

/// The bytes of a build id; `None` if it has none or is not hexadecimal.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    let pairs = text.as_bytes().chunks_exact(2);
    if text.is_empty() || !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()).collect()
}
