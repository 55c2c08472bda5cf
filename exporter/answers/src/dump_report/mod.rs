//! Reports of dumps for people and scripts: a summary page, JSON, and groups of many dumps by stack and cause.

mod doing;
mod fold;
mod group;
mod json;
mod page;
mod system;
mod why;

pub use group::{Group, Groups};
pub use json::write_json;
pub use page::PageOptions;
