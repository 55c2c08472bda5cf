//! A client for Android devices through the adb server.
//!
//! A [`Server`] is a client of the adb server, over its socket; the program `adb` is needed only to start it. A
//! [`Device`] runs commands and transfers files, and an [`App`] is a package of one user on it. [`doctor`] checks a setup
//! and says how to fix it, [`pull`] copies recordings over unreliable connections, and [`install`] installs APKs.
//!
//! The client does not trust the server or the device: it bounds lengths before it allocates, rejects file names that
//! could escape a directory, and every wait has a timeout and an error that says what it waited for.
//!
//! ```no_run
//! use device::pull::{MAX_RECORDING, pull};
//! use device::{App, Device, Server, Timeouts};
//!
//! let environment = |name: &str| std::env::var(name).ok();
//! let server = Server::from_environment(&environment, Timeouts::default())?;
//! server.ensure(&environment)?;
//! let app = App::new(Device::open(&server, None)?, "com.example.app", 0)?;
//! for recording in app.recordings()?.recordings {
//!     let pulled = pull(&app, &recording, "recordings".as_ref(), MAX_RECORDING, &mut |_| {})?;
//!     println!("{} ({} bytes)", pulled.path.display(), pulled.bytes);
//! }
//! # Ok::<(), device::Error>(())
//! ```
#![forbid(unsafe_code)]

mod app;
mod cksum;
mod connection;
pub mod control;
mod device;
pub mod doctor;
mod error;
pub mod install;
mod install_answer;
pub mod launch;
pub mod pull;
mod quote;
mod server;
mod shell;
mod sync;
mod system_trace;
mod wire;

pub use app::{App, Place, RecordingList, Remote};
pub use connection::{Stop, Timeouts};
pub use device::{Device, Output};
pub use error::{Error, Fault};
pub use install_answer::{InstallAnswer, InstallFailure};
pub use quote::quote;
pub use server::{Environment, ListedDevice, Server, find_adb};
pub use shell::{MAX_TEXT, ShellPacket, ShellReader};
pub use sync::{Sink, Sync};
pub use system_trace::SystemTrace;
