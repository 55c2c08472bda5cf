//! From registers and stack bytes to frames.

use std::fmt;

use trace_format::native_slot::Machine;
use trace_format::sections::native_frames::FrameKind;
use trace_format::sections::native_modules::NativeModules;
use trace_format::sections::native_stack::NativeStack;

use crate::modules::Files;

/// A frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnwoundFrame {
    /// The address to look up: of the instruction for the innermost frame and below a signal, else the return address less 1.
    pub pc: u64,
    /// The place of its mapping in [`NativeModules::mappings`].
    pub mapping: Option<usize>,
    /// `pc` in the numbering of the mapping's file, or `pc` without one.
    pub rel_pc: u64,
    /// What it is.
    pub kind: FrameKind,
}

/// Why a stack ends where it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// At the start of the thread.
    Complete,
    /// This machine is not unwound.
    Unsupported,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => Ok(()),
            Self::Unsupported => f.write_str("this machine's stacks are not unwound"),
        }
    }
}

/// A stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwound {
    /// The frames, innermost first.
    pub frames: Vec<UnwoundFrame>,
    /// Why there are no more.
    pub end: End,
}

/// Unwinds the stacks of one process.
#[derive(Debug)]
pub struct Unwinder<'m> {
    modules: &'m NativeModules,
}

impl<'m> Unwinder<'m> {
    /// An unwinder for captures of this machine with these modules.
    pub fn new(machine: Machine, modules: &'m NativeModules, files: &mut dyn Files) -> Self {
        let _ = (machine, files);
        Self { modules }
    }

    /// Unwinds a capture; `stack` is its whole stack.
    #[must_use]
    pub fn unwind(&self, capture: &NativeStack, stack: &[u8]) -> Unwound {
        let _ = (self.modules, capture, stack);
        Unwound { frames: Vec::new(), end: End::Unsupported }
    }
}
