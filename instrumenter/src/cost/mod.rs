//! What a call of a method can cost at most, as far as bytecode alone can tell.
//!
//! A method whose cost is known is short: it has no loop, waits for nothing, and runs no more than a few
//! dozen instructions together with all that it calls. No thread hangs in it, so the default rule leaves it
//! out. Everything that is not known for certain counts as unlimited:
//!
//! | in the code | why |
//! | --- | --- |
//! | a jump or exception handler that leads back, `jsr`, `ret` | it may be a loop |
//! | `synchronized`, `monitorenter`, `monitorexit` | it may wait |
//! | an array of a size that is not a small constant | as long as the array |
//! | `invokeinterface` | lambdas and `java.lang.reflect.Proxy` implement interfaces without a class file |
//! | `invokedynamic`, dynamic constants, method handles | what runs is decided at run time |
//! | a call of a native method, or out of the program | nothing is known of it, unless [`known`] lists it |
//! | a call that a class outside the program could override | see [`program`] |
//! | a call that the catalogue of waits lists | it may wait |
//! | the first use of a class whose static initializer is not limited | the initializer may do any of this |
//! | recursion | it may go on |
//!
//! Loading a class is not counted: nearly every instruction can cause it, once.
//!
//! So there are two steps. [`body`] reduces the code of one method to its number of instructions and its calls,
//! when the class is looked at. [`limits`] puts these together when all classes are known; as its result for
//! one class depends on others, an incremental run does it again ([`crate::update`] says when it need not).

pub(crate) mod body;
mod known;
pub(crate) mod limits;
mod program;

/// Costs above this count as unlimited, in instructions: a tenth of a millisecond even where they are
/// interpreted.
pub(crate) const MOST: u16 = 4096;

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
    pub(crate) how: How,
    /// Internal name of the class that the call names.
    pub(crate) class: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) descriptor: Box<str>,
}

/// The instruction of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
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
