//! The recording's memory: what is stored here is in the file, whatever becomes of the process.
//!
//! | module | what |
//! | --- | --- |
//! | `mapping` | the mapped part of the recording |
//! | `bus_fault` | its pages, when the file or its device is gone |
//! | `block` | one block of words, its writer's side and its reader's |
//! | `ring`, `mark` | main's blocks, taken in turn; marks in what main wrote |
//! | `pool` | the blocks that all other threads share |
//! | `stale` | words that a block's former owner may still store |
//! | `slice` | a copied stretch of a ring |
//! | `home`, `moving` | blocks before there is a file, and their way into it |
//! | `texts` | interned texts |

pub(crate) mod block;
pub(crate) mod bus_fault;
pub(crate) mod home;
pub(crate) mod mapping;
pub(crate) mod mark;
pub(crate) mod moving;
pub(crate) mod pool;
pub(crate) mod ring;
pub(crate) mod slice;
pub(crate) mod stale;
pub(crate) mod texts;
