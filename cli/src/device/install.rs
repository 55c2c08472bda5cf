//! `anrscope device install`: installs an app.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use device::install::{Installed, Options as How, Step, install};
use device::{Device, Error, InstallFailure, Stop};
use serde_json::{Value, json};

use super::target::{Link, seconds};
use crate::progress::{Progress, left_after};
use crate::terminal::counted;

/// Install an APK, or a base APK and its splits, and explain a refusal
///
/// Replaces an installed version and keeps its data, as `adb install -r -t` does. If the device refuses, the error says why and what
/// to do.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    anrscope device install app.apk

    # A base APK and its splits.
    anrscope device install base.apk split_config.arm64_v8a.apk split_config.xxhdpi.apk

    # The app was signed with another key before: remove it and its data.
    anrscope device install app.apk --uninstall-first

Exit status:
    0  the app is installed
    1  the device refuses or could not be reached, or a file is not an APK
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// The APKs of one app
    #[arg(value_name = "APK", required = true)]
    apks: Vec<PathBuf>,
    #[command(flatten)]
    link: Link,
    /// Install for this user of the device [default: all users]
    #[arg(long, value_name = "N")]
    user: Option<u32>,
    /// Grant all permissions that the app requests
    #[arg(long, short)]
    grant: bool,
    /// Replace a later version; the system allows it for debuggable apps
    #[arg(long, short)]
    downgrade: bool,
    /// Uninstall an installed version that is signed with another key, for all users and with its data
    #[arg(long)]
    uninstall_first: bool,
    /// How many seconds the device may take to verify and install
    #[arg(long, value_name = "SECONDS", default_value_t = 300.0, value_parser = seconds)]
    wait: f64,
    /// Print the outcome as JSON to stdout
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, stop: &Stop) -> anyhow::Result<()> {
    let device = Device::open(&options.link.server(stop)?, options.link.serial.as_deref())?;
    let how = How {
        user: options.user,
        grant: options.grant,
        downgrade: options.downgrade,
        uninstall_first: options.uninstall_first,
        wait: Duration::from_secs_f64(options.wait),
    };
    let mut uninstalled = None;
    let result = {
        let progress = Progress::new(!options.json);
        let began = Instant::now();
        install(&device, &options.apks, &how, &mut |step| match step {
            Step::Sending { name, sent, total } => progress.show(|| {
                let left = left_after(began.elapsed(), sent, total);
                format!("{name}: {} of {} KiB{left}", sent >> 10, total >> 10)
            }),
            Step::Installing => {
                progress.show_now(|| format!("{} verifies and installs the app", device.serial()))
            }
            Step::Uninstalled { package } => uninstalled = Some(package.to_owned()),
            Step::LeftBehind(what) => {
                // If stderr is closed, the warning cannot be printed.
                let _ = crate::terminal::warn(what);
            }
            _ => {}
        })
    };
    if let Some(package) = &uninstalled {
        writeln!(crate::terminal::stderr(), "{package}: uninstalled with its data")?;
    }
    if options.json {
        let outcome = match &result {
            Ok(installed) => success(&device, installed, options),
            Err(Error::PackageManager { failure, .. }) => refusal(&device, failure, uninstalled),
            // The device said nothing about the app.
            Err(_) => Value::Null,
        };
        if !outcome.is_null() {
            crate::terminal::print_json(&outcome)?;
        }
    }
    let installed = result?;
    if !options.json {
        writeln!(crate::terminal::stderr(), "{}", in_words(&device, &installed, options))?;
    }
    Ok(())
}

fn in_words(device: &Device, installed: &Installed, options: &Options) -> String {
    let user = options.user.map_or(String::new(), |user| format!(" for user {user}"));
    format!(
        "installed {} ({} bytes) on {}{user}",
        counted(options.apks.len(), "APK"),
        installed.bytes,
        device.serial()
    )
}

fn success(device: &Device, installed: &Installed, options: &Options) -> Value {
    json!({
        "installed": true,
        "serial": device.serial(),
        "user": options.user,
        "apks": options.apks.iter().map(|apk| apk.display().to_string()).collect::<Vec<_>>(),
        "bytes": installed.bytes,
        "way": installed.way.name(),
        "uninstalled": installed.uninstalled,
    })
}

fn refusal(device: &Device, failure: &InstallFailure, uninstalled: Option<String>) -> Value {
    json!({
        "installed": false,
        "serial": device.serial(),
        "code": failure.code(),
        "answer": failure.text(),
        "package": failure.package(),
        "cure": failure.cure(),
        "uninstalled": uninstalled,
    })
}
