//! `anrscope jvm`: runs a Java program and records all of its methods.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod argfile;
pub(crate) mod attach;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod java;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod notices;
mod options;
#[cfg(target_os = "linux")]
mod properties;
#[cfg(target_os = "linux")]
mod run_maps;
#[cfg(target_os = "linux")]
mod saved;
#[cfg(target_os = "linux")]
mod sparse;
#[cfg(target_os = "linux")]
mod traced;
#[cfg(target_os = "linux")]
mod with_agent;

pub(crate) use options::Options;

/// Runs the subcommand.
#[cfg(target_os = "linux")]
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    traced::run(options)
}

/// Reports that it does not run on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_options: Options) -> anyhow::Result<ExitCode> {
    anyhow::bail!("anrscope jvm needs Linux: run it there, or instrument the jars with anrscope instrument")
}
