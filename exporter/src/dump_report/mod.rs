//! Dumps as people and scripts read them: a page that answers first, JSON, and groups of many dumps by stack and cause.

mod doing;
mod fold;
mod group;
mod json;
mod page;
mod system;

pub use group::{Group, Groups};
pub use json::write_json;
pub use page::PageOptions;
