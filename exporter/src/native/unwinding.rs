//! Unwinding and naming by the crate `native-stacks`, or neither in a build without that feature.

use std::path::PathBuf;

use trace_format::sections::native_frames::NativeFrames;
use trace_format::sections::native_modules::NativeModules;
use trace_format::sections::native_stack::NativeStack;

/// Whether this build unwinds captures and names frames.
pub const HAS_UNWINDING: bool = cfg!(feature = "native-stacks");

#[cfg(feature = "native-stacks")]
pub(super) struct Unwinding(native_stacks::Symbols);

/// The unwinders of the captures that share a list of modules.
pub(super) struct Unwinders<'m> {
    pub(super) modules: &'m NativeModules,
    #[cfg(feature = "native-stacks")]
    all: native_stacks::Unwinders<'m>,
}

impl<'m> Unwinders<'m> {
    pub(super) fn of(modules: &'m NativeModules) -> Self {
        Self {
            modules,
            #[cfg(feature = "native-stacks")]
            all: native_stacks::Unwinders::of(modules),
        }
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
        Some(unwinders.all.frames(capture, stack, &mut self.0))
    }

    /// Returns sentences about symbols that were left out or could not be read.
    pub(super) fn notes(&self) -> Vec<String> {
        self.0.notes()
    }

    /// Names the frames of a device that lacked the symbols.
    pub(super) fn name(&mut self, frames: &mut NativeFrames) {
        use trace_format::hex::unhex;
        use trace_format::sections::native_frames::{FrameKind, MAX_FRAMES, NativeFrame};

        // An offset shows that only exported functions were known there.
        let is_vague = |frame: &NativeFrame| frame.function.is_empty() || frame.function.contains("+0x");
        let mut named = Vec::with_capacity(frames.frames.len());
        for frame in frames.frames.drain(..) {
            let names = match unhex(&frame.build_id).filter(|id| !id.is_empty()) {
                Some(id) if is_vague(&frame) && frame.kind == FrameKind::Native => {
                    self.0.name(&id, &frame.path, frame.rel_pc)
                }
                _ => Vec::new(),
            };
            named.extend(native_stacks::named(frame, names));
        }
        named.truncate(MAX_FRAMES);
        frames.frames = named;
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
