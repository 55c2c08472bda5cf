//! The recording's memory: what is stored here is in the file, even if the process is killed.
//!
//! | module | what |
//! | --- | --- |
//! | `mapping` | the mapped part of the recording |
//! | `bus_fault`, `hotspot` | its pages, when the file or its device is gone; what a JVM then allows |
//! | `block` | one block of words, its writer's side and its reader's |
//! | `ring`, `mark` | main's blocks, taken in turn; marks in what main wrote |
//! | `pool` | the blocks that all other threads share |
//! | `stale` | words that a block's former owner may still store |
//! | `slice` | a copied stretch of a ring |
//! | `storage` | where a block is, in memory or in the file, and how it gets there |
//! | `writer`, `open_calls` | a thread's writer into its blocks, and the calls that are open at the start of each |
//! | `texts` | interned texts |

pub(crate) mod block;
pub(crate) mod bus_fault;
mod hotspot;
pub(crate) mod mapping;
pub mod mark;
pub(crate) mod open_calls;
pub(crate) mod pool;
pub(crate) mod ring;
pub mod slice;
pub(crate) mod stale;
pub(crate) mod storage;
pub(crate) mod texts;
pub(crate) mod writer;
