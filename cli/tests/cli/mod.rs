//! The program as users see it: exit codes, both streams, and the files it leaves.

#[cfg(target_os = "linux")]
mod attach;
#[cfg(target_os = "linux")]
mod attach_border;
#[cfg(target_os = "linux")]
mod dependencies;
mod device;
mod device_install;
mod dump;
mod export_and_report;
#[cfg(target_os = "linux")]
mod generated;
mod help;
mod instrument;
#[cfg(target_os = "linux")]
mod jvm;
#[cfg(target_os = "linux")]
mod jvm_agent;
#[cfg(target_os = "linux")]
mod jvm_brim;
mod jvm_collections;
#[cfg(target_os = "linux")]
mod jvm_programs;
#[cfg(target_os = "linux")]
mod jvm_signals;
#[cfg(target_os = "linux")]
mod maven;
#[cfg(target_os = "linux")]
mod merge;
mod open;
#[cfg(target_os = "linux")]
mod packages;
mod plan;
mod reports;
mod status;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod test_data;
mod web;
mod wrong_input;
mod wrong_inputs;
