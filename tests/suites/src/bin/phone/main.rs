//! Main hangs for a reason that is not main: other threads of the app, other processes, a limit, the storage, the memory, the collector,
//! a freezer, a debugger, the clock. Does the report name the reason? And does it never blame the phone for a main that is busy itself?
//!
//! Nothing is simulated but Android's classes: the reasons are made with this kernel's schedulers, control groups, signals, loop devices
//! and ptrace. Those that the machine does not allow are named and left out. Without arguments a few; `scripts/prove phone` runs all.

#[cfg(target_os = "linux")]
mod conditions;
#[cfg(target_os = "linux")]
mod groups;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod storage;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
