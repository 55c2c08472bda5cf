//! Generated programs with their labels, judged by what `anrscope` says of them: `suites NAME [OPTION]...`.
//!
//! Each suite is a module with its data: it generates its cases, runs them, and returns how many are answered right. `harness`
//! is the frame of all. They need Linux, because the program records and attaches only there.

#[cfg(target_os = "linux")]
mod android_host;
#[cfg(target_os = "linux")]
mod busy_hangs;
#[cfg(target_os = "linux")]
mod chains;
#[cfg(target_os = "linux")]
mod harness;
#[cfg(target_os = "linux")]
mod late;
#[cfg(target_os = "linux")]
mod native_stacks;
#[cfg(target_os = "linux")]
mod phone;
#[cfg(target_os = "linux")]
mod steps;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    harness::main(&[
        android_host::SUITE,
        busy_hangs::SUITE,
        chains::SUITE,
        late::SUITE,
        native_stacks::SUITE,
        phone::SUITE,
    ])
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("suites: the suites need Linux: run them there");
    std::process::ExitCode::FAILURE
}
