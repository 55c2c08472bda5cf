//! A rig that simulates ART: each case runs in a process of its own, whose first thread, Signal Catcher, previous handlers and
//! masks are as on a device, and which is sent real signals from another process.
//!
//! Who counts: the sender counts what it sent, the Signal Catcher and the previous handler count what they got, both into
//! a page that the code under test does not know. `rig` runs all cases, `rig WORD...` those whose names contain one of
//! the words, `rig --list` names them; `rig random` runs situations drawn by seed (see `random`), `rig latency` measures,
//! `rig race` is a fault that ThreadSanitizer must find.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod alloc;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod art;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod captures;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod cases;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod control;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod driver;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod latency;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod page;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod random;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod run;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod second;

#[cfg(any(target_os = "linux", target_os = "android"))]
use run::Case;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn main() {
    run::run();
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn main() {
    println!("the rig simulates ART on Linux and Android only");
}
