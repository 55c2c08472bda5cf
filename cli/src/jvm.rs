//! `anrscope jvm`: runs a Java program with every method of it on a time line.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod argfile;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod class_log;
#[cfg(target_os = "linux")]
mod class_path;
#[cfg(target_os = "linux")]
mod folder;
#[cfg(target_os = "linux")]
mod java;
#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod manifest;
mod options;
#[cfg(target_os = "linux")]
mod own_folder;
#[cfg(target_os = "linux")]
mod prepare;
#[cfg(target_os = "linux")]
mod properties;
#[cfg(target_os = "linux")]
pub(crate) mod stand_in;
#[cfg(target_os = "linux")]
mod told;
#[cfg(target_os = "linux")]
mod traced;

pub(crate) use options::Options;

/// Runs the subcommand.
#[cfg(target_os = "linux")]
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    traced::run(options)
}

/// Says that it cannot run here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_options: Options) -> anyhow::Result<ExitCode> {
    anyhow::bail!("anrscope jvm needs Linux: run it there, or instrument the jars with anrscope instrument")
}
