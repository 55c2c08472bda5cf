//! The code of a short method, reduced to what it costs: its instructions and its calls.

/// What code that is short does: so many instructions, and these calls besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// Those of calls in [`known`] included.
    pub(crate) instructions: u16,
    /// In the order of the code; one that is made twice is there twice.
    pub(crate) calls: Box<[Call]>,
}

/// A call of a method that may be one of the program's. All names are those of the class file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) how: CallKind,
    /// Internal name of the class that the call names.
    pub(crate) class: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) descriptor: Box<str>,
}

/// The instruction of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Static,
    Special,
    Virtual,
    /// No call: the first use of the class, which runs its static initializer.
    Initialize,
}

impl Call {
    /// What [`key`] gives for the called method.
    pub(crate) fn key(&self) -> u64 {
        key(&self.name, &self.descriptor)
    }
}

/// A number for name and descriptor of a method: FNV-1a of both.
pub(crate) fn key(name: &str, descriptor: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().chain(descriptor.bytes()).fold(0xcbf2_9ce4_8422_2325, step)
}
