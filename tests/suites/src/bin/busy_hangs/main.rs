//! Generated apps whose main thread is busy for too long, on the fakes of Android's classes: does the report name the message, the calls that led to the
//! loop, and the method whose loop it is?
//!
//! Each case is generated together with its label: `labels.jsonl` is made from how a case was built, never from a report.
//! Without arguments a dozen cases of 1.5 s; `scripts/prove busy-hangs` runs all.

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod chain;
#[cfg(target_os = "linux")]
mod judge;
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
