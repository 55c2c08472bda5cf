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

/// Returns an address as JSON has it: a text, because many readers' numbers end at 2^53.
fn address(address: Option<u64>) -> Option<String> {
    address.map(|address| format!("0x{address:08x}"))
}
