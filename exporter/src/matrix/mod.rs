//! Tencent Matrix's data: reports in its form out of a recording ([`issues`]), and what its own users have, read as if it
//! were a recording ([`recording_of`]).

mod frames;
mod issues;
mod read;
mod slice;
mod starts;
mod thread_stack;

pub use issues::{IssueOptions, Reports, issues};
pub use read::{MAX_LENGTH, recording_of};
