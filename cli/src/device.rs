//! `anrscope device`: subcommands that need an Android device.

use std::process::ExitCode;

use device::Stop;

mod doctor;
mod fetch;
mod install;
mod pull;
mod record;
mod startup;
mod target;
mod trigger;
mod watch;

/// Install apps on Android devices and get recordings from them, through the adb server
///
/// The connection is made to the server's socket (ADB_SERVER_SOCKET, ANDROID_ADB_SERVER_PORT and ANDROID_SERIAL work as for adb); the
/// program adb runs only to start the server.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Find problems of the set-up and how to fix them.
    anrscope device doctor com.example.app

    # Install an app; a refusal is explained.
    anrscope device install app.apk

    # All recordings of an app, whole and checked.
    anrscope device pull com.example.app -o recordings

    # Wait for an ANR, pull it and print its report.
    anrscope device watch com.example.app

Exit status:
    0  done
    1  a check failed, or a device could not be reached
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Doctor(doctor::Options),
    Install(install::Options),
    Pull(pull::Options),
    Watch(watch::Options),
    Record(record::Options),
    Trigger(trigger::Options),
    Startup(startup::Options),
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    let stop = Stop::default();
    stop_on_interrupts(&stop)?;
    let done = |()| ExitCode::SUCCESS;
    let result = match options.what {
        What::Doctor(options) => doctor::run(&options, &stop),
        What::Install(options) => install::run(&options, &stop).map(done),
        What::Pull(options) => pull::run(&options, &stop),
        What::Watch(options) => watch::run(&options, &stop),
        What::Record(options) => record::run(&options, &stop).map(done),
        What::Trigger(options) => trigger::run(&options, &stop).map(done),
        What::Startup(options) => startup::run(&options, &stop).map(done),
    };
    if result.as_ref().is_err_and(is_interrupt) {
        // Temporary files are removed. The status tells a shell that runs this in a loop that it was interrupted.
        #[cfg(unix)]
        crate::cleanup::end_by(signal_hook::consts::SIGINT);
    }
    result
}

fn is_interrupt(error: &anyhow::Error) -> bool {
    error.downcast_ref::<device::Error>().is_some_and(device::Error::is_interrupt)
}

/// Handles Ctrl-C: the first one requests an orderly end, the second one ends the program at once.
#[cfg(unix)]
fn stop_on_interrupts(stop: &Stop) -> anyhow::Result<()> {
    use anyhow::Context;
    for signal in crate::signals::terminating() {
        signal_hook::flag::register_conditional_default(signal, stop.flag().clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.flag().clone()))
            .context("cannot catch interrupts")?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn stop_on_interrupts(_: &Stop) -> anyhow::Result<()> {
    Ok(())
}
