//! The calls in a slice of the recording, and Matrix's words.

/// An enter or an exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The method, or [`trace_format::ids::DISPATCH`].
    pub id: u32,
    /// Whether it is entered; else it is left.
    pub entered: bool,
    /// When, in nanoseconds of the slice's clock.
    pub at_ns: u64,
}

impl Call {
    /// `id` is entered.
    #[must_use]
    pub fn enter(id: u32, at_ns: u64) -> Self {
        Call { id, entered: true, at_ns }
    }

    /// `id` is left.
    #[must_use]
    pub fn exit(id: u32, at_ns: u64) -> Self {
        Call { id, entered: false, at_ns }
    }
}

/// A word of Matrix's ring.
#[derive(Clone, Copy)]
pub(super) struct Word(pub(super) i64);

impl Word {
    pub(super) fn entered(self) -> bool {
        self.0 < 0
    }

    pub(super) fn id(self) -> u32 {
        (self.0 >> 43) as u32 & 0xF_FFFF
    }

    pub(super) fn ms(self) -> i64 {
        self.0 & 0x7FF_FFFF_FFFF
    }
}
