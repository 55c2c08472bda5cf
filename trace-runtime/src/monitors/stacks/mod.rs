//! Stacks of main.
//!
//! | module | contents |
//! | --- | --- |
//! | `calls` | what main called since a mark, from its record |
//! | `sampler` | main's Java stack, taken on request by a Java thread of the shims |
//! | `samples` | samples of that stack while main is in an old message |
//! | `java_stack` | a Java stack in the form of reports |

pub(crate) mod calls;
pub(crate) mod java_stack;
pub(crate) mod sampler;
pub(crate) mod samples;
