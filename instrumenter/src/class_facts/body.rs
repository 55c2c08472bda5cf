//! The code of a short method, reduced to its instructions and calls.

/// The cost of code without its calls, and the calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// The number of instructions, those of [known](crate::cost) calls included.
    pub(crate) instructions: u16,
    /// In the order of the code, with duplicates.
    pub(crate) calls: Box<[Call]>,
}

/// A call of a method that may belong to the program. All names are those in the class files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) how: CallKind,
    /// Internal name of the class in the call.
    pub(crate) class: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) descriptor: Box<str>,
}

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Static,
    Special,
    Virtual,
    /// Not a call: the first use of the class, which runs its static initializer.
    Initialize,
}

impl Call {
    /// Returns [`key`] of the called method.
    pub(crate) fn key(&self) -> u64 {
        key(&self.name, &self.descriptor)
    }
}

/// Returns a hash (FNV-1a) of a method's name and descriptor.
pub(crate) fn key(name: &str, descriptor: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().chain(descriptor.bytes()).fold(0xcbf2_9ce4_8422_2325, step)
}
