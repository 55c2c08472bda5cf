//! Unwinding and naming by the crate `native-stacks`, or neither in a build without that feature.

use std::path::PathBuf;

use trace_format::sections::native_frames::NativeFrames;
use trace_format::sections::native_modules::NativeModules;
use trace_format::sections::native_stack::NativeStack;

/// Whether this build unwinds captures and names frames.
pub const HAS_UNWINDING: bool = cfg!(feature = "native-stacks");

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

/// The symbols by which captures are unwound and frames are named.
pub(super) struct Unwinding {
    #[cfg(feature = "native-stacks")]
    symbols: native_stacks::Symbols,
}

#[cfg_attr(not(feature = "native-stacks"), allow(unused_variables))]
impl Unwinding {
    pub(super) fn with(symbols: &[PathBuf]) -> Self {
        Self {
            #[cfg(feature = "native-stacks")]
            symbols: native_stacks::Symbols::new(symbols.to_vec()),
        }
    }

    /// The frames of a capture with this stack.
    pub(super) fn frames(
        &mut self,
        capture: &NativeStack,
        stack: &[u8],
        unwinders: &mut Unwinders<'_>,
    ) -> Option<NativeFrames> {
        #[cfg(feature = "native-stacks")]
        return Some(unwinders.all.frames(capture, stack, &mut self.symbols));
        #[cfg(not(feature = "native-stacks"))]
        None
    }

    /// Returns sentences about symbols that were left out or could not be read.
    pub(super) fn notes(&self) -> Vec<String> {
        #[cfg(feature = "native-stacks")]
        return self.symbols.notes();
        #[cfg(not(feature = "native-stacks"))]
        Vec::new()
    }

    /// Names the frames of a device that lacked the symbols.
    pub(super) fn name(&mut self, frames: &mut NativeFrames) {
        #[cfg(feature = "native-stacks")]
        self.symbols.rename(frames);
    }
}
