//! Generated programs in Java and Kotlin whose main thread waits for something that does not come: does the report name who must move, and why?
//!
//! Each program is generated together with its label: `labels.jsonl` is made from how a program was built, never from a report.
//! That a label is right is checked without a recorder first, by the stacks that the program prints at its end.
//! Without arguments some programs; `scripts/prove chains` runs all.

#[cfg(target_os = "linux")]
mod code;
#[cfg(target_os = "linux")]
mod facts;
#[cfg(target_os = "linux")]
mod families;
#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
mod kotlin;
#[cfg(target_os = "linux")]
mod label;
#[cfg(target_os = "linux")]
mod libraries;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod table;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
