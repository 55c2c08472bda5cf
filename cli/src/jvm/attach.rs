//! `anrscope attach`: records a Java program that runs already.

#[cfg(target_os = "linux")]
mod client_lock;
#[cfg(target_os = "linux")]
mod open_text;
mod options;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod thread_dump;

pub(crate) use options::Options;

/// Runs the subcommand.
#[cfg(target_os = "linux")]
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    session::run(options)
}

/// Reports that it does not run on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_options: &Options) -> anyhow::Result<()> {
    anyhow::bail!("anrscope attach needs Linux: run it there, where the program runs")
}
