//! Files, which one thread alone touches.
//!
//! | module | what |
//! | --- | --- |
//! | `worker` | that thread |
//! | `file` | where the recording's file is made |
//! | `migration` | the move from memory into it |
//! | `kept_sizes` | sizes that the app wants at its next start |
//! | `process_facts` | what a recording says of its process and the system |

pub mod file;
pub mod kept_sizes;
pub(crate) mod migration;
pub mod process_facts;
pub mod worker;
