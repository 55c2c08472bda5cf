//! The highest cost of a call of a method, as far as bytecode shows it.
//!
//! A method with a limited cost is short: it has no loop, waits for nothing, and executes at most a few dozen
//! instructions, called methods included. No thread can block in it, so the default rule skips it. Everything
//! uncertain counts as unlimited:
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
//! Loading a class is not counted, because nearly every instruction can cause it, once.
//!
//! There are two steps. [`body`] measures the code of one method when its class is scanned. [`limits`] adds up the
//! costs when all classes are known. Because a class's result depends on other classes, an incremental run repeats
//! the second step; [`crate::update`] describes the exceptions.

pub(crate) mod body;
pub(crate) mod calls;
pub(crate) mod known;
pub(crate) mod limits;
mod program;

/// Higher costs count as unlimited, in instructions. This many take a tenth of a millisecond even when interpreted.
pub(crate) const MAX_COST: u16 = 4096;
