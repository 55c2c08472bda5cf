//! Android devices, through the adb server.
//!
//! The server of adb is spoken to on its socket ([`Server`]); the program `adb` is needed only to start it. A [`Device`]
//! runs commands and carries files, an [`App`] is a package of one user on it. On these stand [`doctor`], which says what
//! is wrong with a set-up and what cures it, and [`pull`], which fetches recordings whatever the connection does.
//!
//! Whatever a server or a device sends is not trusted: lengths are bounded before anything is allocated, names of files
//! are taken only if they are plain, and every wait ends and says what was waited for.
#![forbid(unsafe_code)]

mod app;
mod cksum;
mod connection;
pub mod control;
mod device;
pub mod doctor;
mod error;
pub mod launch;
pub mod pull;
mod quote;
mod server;
mod shell;
mod sync;
mod system_trace;
mod wire;

pub use app::{App, Place, Remote, Shelf};
pub use connection::{Patience, Stop};
pub use device::{Device, Output};
pub use error::{Error, Fault};
pub use quote::quote;
pub use server::{Listed, Server, Source, find_adb};
pub use shell::{LONGEST_TEXT, ShellPacket, ShellReader};
pub use sync::{Entry, Stat, Sync};
pub use system_trace::SystemTrace;
