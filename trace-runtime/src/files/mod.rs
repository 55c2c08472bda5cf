//! Files, which one thread alone touches.
//!
//! | module | what |
//! | --- | --- |
//! | `worker` | that thread |
//! | `file` | where the recording's file is made |
//! | `kept_sizes` | sizes that the app wants at its next start |
//! | `process_facts` | what a recording says of its process and the system |

pub(crate) mod file;
pub(crate) mod kept_sizes;
pub(crate) mod process_facts;
pub(crate) mod worker;
