//! A fake Android device: an adb daemon over a directory.
//!
//! It implements the protocol between a device and the adb server (CNXN, AUTH, OPEN, OKAY, WRTE, CLSE; services
//! `shell,v2`, `shell`, `exec`, `abb_exec`, `sync`), so that the real `adb` connects to it:
//!
//! ```sh
//! cargo run -p anrscope-test-device -- DIRECTORY      # prints the port
//! adb connect 127.0.0.1:PORT
//! ```
//!
//! Commands run in the host's `/bin/sh`. Android's programs (`run-as`, `pm`, `am`, `dumpsys`, ...) are scripts over files
//! in the directory ([`DeviceDirectory`]). It shares no code with the client that it tests. Tests can inject [`Faults`]: closed
//! connections, slow links, a device that waits for its owner's consent.
#![cfg(unix)]
#![forbid(unsafe_code)]

mod apk;
mod bench;
mod connection;
mod daemon;
mod directory;
mod faults;
mod link;
mod observed;
mod packet;
mod running;
mod services;
mod stream;
mod sync;

pub use apk::Apk;
pub use bench::AdbServer;
pub use daemon::Daemon;
pub use directory::{App, DeviceDirectory};
pub use faults::{Auth, Faults};
pub use packet::Packet;
pub use running::RunningProcess;
