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
pub(crate) const MAX_COST: u16 = 4096;
