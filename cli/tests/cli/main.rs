//! The program as its users see it: exit codes, both streams, and what is on disk afterwards.

mod dump;
#[cfg(target_os = "linux")]
#[path = "../../../exporter/tests/engine/mod.rs"]
mod engine;
mod export_and_report;
mod folder;
mod help;
mod instrument;
#[cfg(target_os = "linux")]
mod java;
#[cfg(target_os = "linux")]
mod jvm;
#[cfg(target_os = "linux")]
mod merge;
mod program;
mod status;
mod wrong_input;
