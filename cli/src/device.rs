//! `anrscope device`: what only works with an Android device at hand.

use std::process::ExitCode;

use device::Stop;

mod doctor;
mod fetched;
mod pull;
mod record;
mod startup;
mod target;
mod trigger;
mod watch;

/// Recordings off Android devices, through the adb server
///
/// The server is spoken to on its socket (ADB_SERVER_SOCKET, ANDROID_ADB_SERVER_PORT and ANDROID_SERIAL as adb itself
/// takes them); the program adb is needed only to start it.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # What is wrong with the set-up, and what cures it.
    anrscope device doctor com.example.app

    # All recordings of an app, whole and checked.
    anrscope device pull com.example.app -o recordings

    # Wait for an ANR, pull it, say in words what it was.
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
    let result = match options.what {
        What::Doctor(options) => doctor::run(&options, &stop),
        What::Pull(options) => pull::run(&options, &stop),
        What::Watch(options) => watch::run(&options, &stop),
        What::Record(options) => record::run(&options, &stop),
        What::Trigger(options) => trigger::run(&options, &stop),
        What::Startup(options) => startup::run(&options, &stop),
    };
    if let Err(error) = &result
        && error.downcast_ref::<device::Error>().is_some_and(device::Error::is_interrupt)
    {
        // What had to be removed is gone. A shell that runs us in a loop has to see why we end.
        #[cfg(unix)]
        crate::cleanup::end_by(signal_hook::consts::SIGINT);
    }
    result
}

/// The first Ctrl-C asks for an end in order, the second one ends the program at once.
#[cfg(unix)]
fn stop_on_interrupts(stop: &Stop) -> anyhow::Result<()> {
    use anyhow::Context;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !crate::signals::ignored(*signal)) {
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
