//! Files, which only one thread touches.
//!
//! | module | what |
//! | --- | --- |
//! | `worker` | that thread |
//! | `file` | creates and names the recording's file |
//! | `migration` | the recording's way from memory into it |
//! | `kept_sizes` | ring sizes for the app's next start |
//! | `process_facts` | a recording's facts of its process and the system |

pub mod file;
pub mod kept_sizes;
pub(crate) mod migration;
pub mod process_facts;
pub mod worker;
