//! `anrscope device`: what only works with an Android device at hand.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use device::{App, Device, Patience, Server, Stop};

mod doctor;
mod fetched;
mod pull;
mod record;
mod startup;
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

/// Which device, and how long it may take.
#[derive(Clone, Debug, clap::Args)]
struct Link {
    /// The device [default: the only one there is]
    #[arg(long, short, value_name = "SERIAL", env = "ANDROID_SERIAL")]
    serial: Option<String>,
    /// How many seconds a device may say nothing
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    timeout: f64,
}

/// Which app of which device.
#[derive(Clone, Debug, clap::Args)]
struct Target {
    /// The app's package
    #[arg(value_name = "PACKAGE")]
    package: String,
    #[command(flatten)]
    link: Link,
    /// The device's user whose app it is
    #[arg(long, value_name = "N", default_value_t = 0)]
    user: u32,
}

impl Link {
    fn patience(&self, stop: &Stop) -> Patience {
        Patience { silence: Duration::from_secs_f64(self.timeout), stop: stop.clone(), ..Patience::default() }
    }

    /// The server, which is started if it does not run.
    fn server(&self, stop: &Stop) -> Result<Server, device::Error> {
        let server = Server::named_by(&environment, self.patience(stop))?;
        server.ensure(&environment)?;
        Ok(server)
    }
}

impl Target {
    fn app(&self, stop: &Stop) -> Result<App, device::Error> {
        let device = Device::open(&self.link.server(stop)?, self.link.serial.as_deref())?;
        App::new(device, &self.package, self.user)
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Takes a number of seconds from a thousandth to a day.
fn seconds(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse().map_err(|_| "a number of seconds")?;
    if (0.001..=86_400.0).contains(&seconds) { Ok(seconds) } else { Err("from 0.001 to 86400 seconds") }
}

/// The map for what comes off a device: the one that was given, or one in the folder it goes to.
fn map_for(given: Option<&Path>, folder: &Path) -> Option<PathBuf> {
    let beside = || Some(folder.join(crate::recordings::MAP_NAME)).filter(|path| path.is_file());
    given.map(Path::to_owned).or_else(beside)
}

/// `n things`, of which one is a thing.
fn plural(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
