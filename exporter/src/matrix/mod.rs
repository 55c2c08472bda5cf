//! Tencent Matrix's data: creates reports in its form from a recording ([`issues`]), and reads its files as
//! recordings ([`recording_of`]).

mod frames;
mod issues;
mod read;
mod slice;
mod starts;
mod thread_stack;

pub use issues::{IssueOptions, Reports, issues};
pub use read::{MAX_LENGTH, recording_of};
