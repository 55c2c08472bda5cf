//! An adb daemon that plays an Android device in a folder.
//!
//! It speaks the wire that a device speaks to the adb server (CNXN, AUTH, OPEN, OKAY, WRTE, CLSE; services `shell,v2`,
//! `shell`, `exec`, `sync`), so that the real `adb` connects to it:
//!
//! ```sh
//! cargo run -p test-device -- FOLDER      # prints the port
//! adb connect 127.0.0.1:PORT
//! ```
//!
//! Commands run in the machine's own `/bin/sh`, with Android's programs (`run-as`, `pm`, `am`, `dumpsys`, ...) played by
//! scripts over files in the folder ([`Folder`]). It shares no code with the client that it tests, and breaks on request
//! ([`Faults`]): connections that are cut, slow links, a device that waits for its owner's consent.
#![cfg(unix)]
#![forbid(unsafe_code)]

mod bench;
mod connection;
mod daemon;
mod faults;
mod folder;
mod link;
mod packet;
mod services;
mod stream;
mod sync;

pub use bench::AdbServer;
pub use daemon::Daemon;
pub use faults::{Auth, Faults};
pub use folder::{App, Folder};
