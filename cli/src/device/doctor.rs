//! `anrscope device doctor`: checks the set-up.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use device::Stop;
use device::doctor::{Check, Outcome, Scope, examine};
use exporter::MethodMap;
use serde_json::json;

use super::target::{Link, environment};
use crate::terminal;

/// Check the set-up and show how to fix each problem
///
/// Checks server, device, Android version, CPU, user and free space; with a package also whether the app is installed, debuggable
/// and running, has the library, and which recordings it has.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    anrscope device doctor com.example.app

    # Check that the map is of the build on the device.
    anrscope device doctor com.example.app --method-map build/methodMapping.txt

Exit status:
    0  no check failed
    1  a check failed; its cure is printed
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// The app's package
    #[arg(value_name = "PACKAGE")]
    package: Option<String>,
    #[command(flatten)]
    link: Link,
    /// The device's user who runs the app
    #[arg(long, value_name = "N", default_value_t = 0)]
    user: u32,
    /// A method map to check against the recordings' build
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// Print the checks as JSON to stdout
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, stop: &Stop) -> anyhow::Result<ExitCode> {
    let map = options.method_map.as_deref().map(MethodMap::load).transpose()?;
    let scope = Scope {
        serial: options.link.serial.as_deref(),
        package: options.package.as_deref(),
        user: options.user,
        map: map.as_ref().map(MethodMap::map_id),
    };
    let checks = examine(scope, &environment, &options.link.timeouts(stop));
    let good = checks.iter().all(|check| check.outcome != Outcome::Bad);
    if options.json {
        terminal::print_json(&json!({"ok": good, "checks": checks}))?;
    } else {
        let mut stdout = terminal::stdout();
        for check in &checks {
            writeln!(stdout, "{}", line(check))?;
        }
        stdout.flush()?;
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Formats a check. A device's answers may hold anything: control characters do not reach the terminal.
fn line(check: &Check) -> String {
    let mark = match check.outcome {
        Outcome::Good => "ok",
        Outcome::Warning => "warn",
        Outcome::Bad => "BAD",
        Outcome::Unknown => "?",
    };
    let found: String = check.found.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut line = format!("{mark:<5}{:<13}{found}", check.name);
    if let Some(cure) = &check.cure {
        line.push_str(&format!("\n     {:<13}-> {cure}", ""));
    }
    line
}
