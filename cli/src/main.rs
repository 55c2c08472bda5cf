//! `anrscope`: what was the main thread doing before it froze?
//!
//! One file per subcommand, with its options, examples and exit status.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

mod apk;
mod cleanup;
mod completions;
mod demo;
mod device;
mod diff;
mod dump;
#[cfg(target_os = "linux")]
mod embedded;
mod export;
mod fault;
mod file_kind;
mod given_file;
mod instrument;
mod jvm;
mod man;
mod merge;
mod open;
mod output;
mod plan;
mod progress;
mod recordings;
mod report;
mod requests;
mod retrace;
mod scratch;
#[cfg(unix)]
mod signals;
mod start;
mod symbols;
mod terminal;
mod walk;

/// Record what an app's main thread was doing before it froze, and show it on a timeline
#[derive(Parser)]
#[command(
    name = "anrscope",
    version,
    after_help = "\
Examples:
    # Run the command that takes the file: the report of a recording or of a directory's newest one, the analysis of a thread dump, a
    # trace in ui.perfetto.dev.
    anrscope app.anrscope

    # A hang of eight seconds, recorded and exported: the quickest tour.
    anrscope demo

    # A program on this machine's JVM, with all of its methods on a timeline.
    anrscope jvm -- -jar app.jar

    # Export a device's recording for https://ui.perfetto.dev.
    anrscope export app.anrscope -o app.pftrace

    # From a phone: check the set-up, and pull all recordings of an app.
    anrscope device doctor com.example.app
    anrscope device pull com.example.app

Exit status:
    0  done
    1  the input is bad, or a check failed
    2  the command line is wrong, or has no command
"
)]
struct Command {
    #[command(subcommand)]
    subcommand: Sub,
}

#[derive(Subcommand)]
enum Sub {
    Demo(demo::Options),
    /// The demo's app, which hangs.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    DemoChild(demo::child::Options),
    Jvm(jvm::Options),
    Attach(jvm::attach::Options),
    Apk(apk::Options),
    Instrument(instrument::Options),
    Plan(plan::Options),
    Export(export::Options),
    Report(report::Options),
    Requests(requests::Options),
    Diff(diff::Options),
    Dump(dump::Options),
    Open(open::Options),
    Device(device::Options),
    Merge(merge::Options),
    Retrace(retrace::Options),
    Completions(completions::Options),
    Man(man::Options),
}

/// The command line without hidden subcommands.
fn public_command() -> clap::Command {
    let whole = Command::command();
    let shown: Vec<_> = whole.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned().collect();
    // clap cannot remove a subcommand: build a command without the hidden ones.
    let bare = clap::Command::new("anrscope").version(env!("CARGO_PKG_VERSION")).subcommand_required(true);
    let about = whole.get_about().cloned().unwrap_or_default();
    let after = whole.get_after_help().cloned().unwrap_or_default();
    bare.about(about).after_help(after).subcommands(shown)
}

fn main() -> ExitCode {
    fault::report_panics();
    #[cfg(unix)]
    signals::report_file_limit();
    if std::env::args_os().len() <= 1 {
        return start::run();
    }
    let result = given_file::with_command(std::env::args_os().collect(), is_subcommand).and_then(run);
    result.unwrap_or_else(|error| {
        if let Some(error) = error.downcast_ref::<fault::UsageError>() {
            Command::command().error(clap::error::ErrorKind::ValueValidation, error).exit();
        }
        // The reader closed the pipe: not an error.
        if error.chain().any(is_broken_pipe) {
            return ExitCode::SUCCESS;
        }
        // If stderr is closed, the error cannot be reported.
        let _ = print_error(&error);
        ExitCode::from(1)
    })
}

fn is_subcommand(name: &str) -> bool {
    Command::command().find_subcommand(name).is_some() || name == "help"
}

fn run(arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    match Command::parse_from(arguments).subcommand {
        // These have a status of their own.
        Sub::Jvm(options) => return jvm::run(options),
        Sub::Diff(options) => return diff::run(options),
        Sub::Device(options) => return device::run(options),
        Sub::Demo(options) => demo::run(options),
        #[cfg(target_os = "linux")]
        Sub::DemoChild(options) => demo::child::run(&options),
        Sub::Attach(options) => jvm::attach::run(&options),
        Sub::Apk(options) => apk::run(options),
        Sub::Instrument(options) => instrument::run(options),
        Sub::Plan(options) => plan::run(options),
        Sub::Export(options) => export::run(options),
        Sub::Report(options) => report::run(options),
        Sub::Requests(options) => requests::run(options),
        Sub::Dump(options) => dump::run(options),
        Sub::Open(options) => open::run(&options),
        Sub::Merge(options) => merge::run(options),
        Sub::Retrace(options) => retrace::run(options),
        Sub::Completions(options) => completions::run(&options, public_command()),
        Sub::Man(options) => man::run(&options, public_command()),
    }
    .map(|()| ExitCode::SUCCESS)
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

fn print_error(error: &anyhow::Error) -> io::Result<()> {
    let mut stderr = crate::terminal::stderr();
    let mut before = terminal::plain(error);
    writeln!(stderr, "error: {before}")?;
    for cause in error.chain().skip(1) {
        let cause = terminal::plain(cause);
        // Errors of libraries often repeat their source's text.
        if !before.contains(&cause) {
            writeln!(stderr, "caused by: {cause}")?;
        }
        before = cause;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Command::command().debug_assert();
    }

    #[test]
    fn out_is_o_and_json_has_no_letter_in_every_subcommand() {
        let whole = Command::command();
        let device = whole.find_subcommand("device").unwrap();
        for subcommand in whole.get_subcommands().chain(device.get_subcommands()).filter(|c| !c.is_hide_set())
        {
            for argument in subcommand.get_arguments() {
                let name = format!("{} {}", subcommand.get_name(), argument.get_id());
                match argument.get_long() {
                    Some("out") => assert_eq!(argument.get_short(), Some('o'), "{name}"),
                    Some("json") => assert!(argument.get_short().is_none(), "{name}"),
                    _ => assert_ne!(argument.get_short(), Some('o'), "{name}"),
                }
            }
        }
    }

    #[test]
    fn every_subcommand_shows_an_example_and_its_exit_status() {
        for subcommand in Command::command().get_subcommands().filter(|c| !c.is_hide_set()) {
            let help = subcommand.clone().render_long_help().to_string();
            assert!(help.contains("Examples:\n"), "{}", subcommand.get_name());
            assert!(
                help.contains(&format!("anrscope {}", subcommand.get_name())),
                "{}",
                subcommand.get_name()
            );
            assert!(help.contains("Exit status:"), "{}", subcommand.get_name());
        }
    }
}
