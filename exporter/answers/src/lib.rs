//! Reads thread dumps, and decides what hung and why.
//!
//! ```text
//! text -> dump (threads, stacks, locks) ┐
//!                                       ├> answer: Observed -> rules -> Answer ┬> dump_report: page, JSON, groups
//! recording -> the crate exporter       ┘                                      └> the crate exporter: report, trace
//! ```
//! The exporter brings the facts of a recording in the form of [`answer::Observed`], so a dump and a recording with the same
//! facts have the same answer. Nothing here reads a recording.
#![forbid(unsafe_code)]

#[macro_use]
mod table;

pub mod answer;
pub mod descriptor;
pub mod dump;
pub mod dump_report;
pub mod retrace;
pub mod text;
pub mod waited;
pub mod words;
