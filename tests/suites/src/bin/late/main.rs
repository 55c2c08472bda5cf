//! Programs and apps that work for long and hang once, at a random moment: does the report say when, and for how long?
//!
//! Each prints when its hang began and ended. Without arguments two of each for half a minute. `scripts/prove late` runs ten
//! for 30 minutes, all at once, since they mostly rest.

#[cfg(target_os = "linux")]
mod run;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
