//! `anrscope` without arguments: what most people do, a command each.

use std::io::Write;
use std::process::ExitCode;

/// The commands, each with what it is for. A test runs them.
const COMMANDS: [(&str, &str); 5] = [
    ("anrscope demo", "watch an app hang, and read why"),
    ("anrscope dump anr.txt", "read a thread dump or a bugreport.zip"),
    ("anrscope report app.anrscope", "read a recording"),
    ("anrscope jvm -jar app.jar", "trace a program on this machine's JVM"),
    ("anrscope device watch com.example.app", "wait for ANRs of an app on a phone"),
];

/// Prints the commands to stderr and returns the status of a wrong command line: a script that gives no command has a fault.
pub(crate) fn run() -> ExitCode {
    let mut text = String::from("What was the main thread doing before it froze?\n\n");
    for (command, purpose) in COMMANDS {
        text.push_str(&format!("    {command:<39}{purpose}\n"));
    }
    text.push_str("\nanrscope --help for all commands\n");
    // If stderr is closed, nothing can be shown.
    let _ = crate::terminal::stderr().write_all(text.as_bytes());
    ExitCode::from(2)
}
