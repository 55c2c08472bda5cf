//! `anrscope device pull`: pulls recordings from devices.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use device::pull::MAX_RECORDING;
use device::{App, Device, Server, Stop};
use serde_json::json;

use super::fetch::{fetch, in_words};
use super::is_interrupt;
use super::target::{Link, seconds};
use crate::terminal::counted;

/// Pull an app's recordings, verified, leaving nothing behind on the device
///
/// Tries the app's own directory through run-as, then its content provider, then its directory on the shared storage. After a lost
/// connection the transfer resumes where it stopped, in this run or in the next one.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    anrscope device pull com.example.app -o recordings

    # Only the newest one, as JSON for a script.
    anrscope device pull com.example.app --newest --json

    # Two devices, and a second user of each; each gets its own directory.
    anrscope device pull com.example.app -s emulator-5554 -s 192.168.1.7:5555 --user 0 --user 10 -o recordings

Exit status:
    0  done, also if there was no recording
    1  a device could not be reached, or one of the recordings not be pulled
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// The app's package
    #[arg(value_name = "PACKAGE")]
    package: String,
    /// The directory for the recordings
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// A device; repeat for several [default: the only one connected]
    #[arg(long, short, value_name = "SERIAL", env = "ANDROID_SERIAL")]
    serial: Vec<String>,
    /// Use all connected devices
    #[arg(long, conflicts_with = "serial")]
    all_devices: bool,
    /// A user of the devices; repeat for several [default: 0]
    #[arg(long, value_name = "N")]
    user: Vec<u32>,
    /// Pull only the newest recording
    #[arg(long)]
    newest: bool,
    /// Maximum size of a recording in MiB; the free disk space is always a limit
    #[arg(long, value_name = "MIB", default_value_t = MAX_RECORDING >> 20, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    max_size: u64,
    /// Give up on a device that does not answer for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    timeout: f64,
    /// Print only errors and warnings
    #[arg(long, short)]
    quiet: bool,
    /// Print the pulled files as JSON to stdout
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, stop: &Stop) -> anyhow::Result<ExitCode> {
    let link = Link { serial: None, timeout: options.timeout };
    let server = link.server(stop)?;
    let serials: Vec<Option<String>> = if options.all_devices {
        let usable = server.devices()?.into_iter().filter(|device| device.cure().is_none());
        usable.map(|device| Some(device.serial)).collect()
    } else if options.serial.is_empty() {
        vec![None]
    } else {
        options.serial.iter().cloned().map(Some).collect()
    };
    if serials.is_empty() {
        return Err(device::Error::no_device().into());
    }
    let users = if options.user.is_empty() { vec![0] } else { options.user.clone() };
    let several = serials.len() * users.len() > 1;
    let mut all = Vec::new();
    let mut failed = false;
    for (serial, user) in serials.iter().flat_map(|serial| users.iter().map(move |user| (serial, *user))) {
        let mut directory = options.out.clone();
        if serials.len() > 1 {
            directory.push(directory_name(serial.as_deref().unwrap_or_default()));
        }
        if users.len() > 1 {
            directory.push(format!("user{user}"));
        }
        match pull_all(options, &server, serial.as_deref(), user, &directory, &mut all) {
            Ok(whole) => failed |= !whole,
            // An error of one device does not stop the others; Ctrl-C does.
            Err(error) if several && !is_interrupt(&error) => {
                print_line(&format!("error: {error:#}"))?;
                failed = true;
            }
            Err(error) => return Err(error),
        }
    }
    if options.json {
        crate::terminal::print_json(&json!({ "pulled": all }))?;
    } else if !options.quiet && all.len() > 1 {
        print_line(&format!("{} in {}", counted(all.len(), "recording"), options.out.display()))?;
    }
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Pulls from one device and user; returns whether each recording was pulled.
fn pull_all(
    options: &Options,
    server: &Server,
    serial: Option<&str>,
    user: u32,
    directory: &Path,
    all: &mut Vec<serde_json::Value>,
) -> anyhow::Result<bool> {
    let quiet = options.quiet || options.json;
    let package = &options.package;
    let app = App::new(Device::open(server, serial)?, package, user)?;
    let list = app.recordings()?;
    for name in &list.rejected {
        print_line(&format!("warning: {name:?} is not a file of anrscope and stays on the device"))?;
    }
    let place = list.place.name();
    let mut found = list.recordings;
    if options.newest {
        found.truncate(1);
    }
    if found.is_empty() {
        let serial = app.device().serial();
        print_line(&format!(
            "no recording of {package} (user {user}) on {serial}, asked by {place}: see anrscope device doctor {package}"
        ))?;
    }
    let mut whole = true;
    for remote in &found {
        match fetch(&app, remote, directory, options.max_size << 20, quiet) {
            Ok(pulled) => {
                if !quiet {
                    print_line(&in_words(&pulled, remote))?;
                }
                all.push(json!({
                    "serial": app.device().serial(),
                    "user": user,
                    "path": pulled.path.display().to_string(),
                    "bytes": pulled.bytes,
                    "cksum": pulled.sum,
                    "place": place,
                    "live": pulled.live,
                    "checked": pulled.checked,
                    "already": pulled.already,
                    "lost": pulled.lost,
                }));
            }
            // The other recordings may succeed; a device that is gone fails for all.
            Err(
                error @ (device::Error::WrongSum { .. }
                | device::Error::TooLarge { .. }
                | device::Error::Command { .. }),
            ) => {
                print_line(&format!("error: {error}"))?;
                whole = false;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(whole)
}

fn print_line(text: &str) -> anyhow::Result<()> {
    writeln!(crate::terminal::stderr(), "{text}").context("cannot write to stderr")
}

/// A serial as a directory's name, valid on Windows too.
fn directory_name(serial: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let name: String = serial.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    if name.starts_with('.') { format!("_{name}") } else { name }
}
