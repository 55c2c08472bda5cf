//! The library on fakes of Android's classes at several API levels: main hangs in each place from which Android calls an
//! app, and each surprise of those classes (`findings`), judged by the recording and by the program's report of it.
//!
//! Without arguments the quick form: short limits, few levels. `scripts/prove android-host` runs the whole.

#[cfg(target_os = "linux")]
mod findings;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod units;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
