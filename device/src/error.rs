//! What can go wrong, and what cures it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What a connection met.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The other side went away in the middle.
    #[error("the connection ended in the middle")]
    Ended,
    /// Nothing came for so long.
    #[error("nothing came for {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The server or the device said no, in these words.
    #[error("the answer was: {0}")]
    Refused(String),
    /// What came is not adb's protocol.
    #[error("{0}: the other side does not speak adb's protocol")]
    Malformed(&'static str),
    /// Somebody pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Why something with a device was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No server listens.
    #[error("no adb server answers at {address} ({source}): start one with `adb start-server`")]
    NoServer {
        /// Where it was looked for.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// There is no program to start one.
    #[error(
        "the program adb was not found: install Android's platform tools and put them on PATH, or set ANDROID_HOME"
    )]
    NoAdb,
    /// It was started and did not answer.
    #[error("{} start-server failed ({what}): run it by hand to see why", program.display())]
    NotStarted {
        /// The adb that was run.
        program: PathBuf,
        /// What happened.
        what: String,
    },
    /// An address of the server that cannot be used.
    #[error("{variable}={value} names no server: {expected}")]
    BadAddress {
        /// The environment's variable.
        variable: &'static str,
        /// What it says.
        value: String,
        /// What it may say.
        expected: &'static str,
    },
    /// A conversation broke.
    #[error("{doing}: {fault}")]
    Link {
        /// What was being done.
        doing: String,
        /// What was met.
        #[source]
        fault: Fault,
    },
    /// Nothing is attached.
    #[error(
        "no device: plug one in and allow USB debugging (Settings, Developer options), or `adb connect HOST:PORT`"
    )]
    NoDevice,
    /// More than one is attached and none was named.
    #[error("several devices: name one with -s ({})", .0.join(", "))]
    SeveralDevices(Vec<String>),
    /// The one that was named is not attached.
    #[error("no device {serial}: attached are {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    NoSuchDevice {
        /// The one that was named.
        serial: String,
        /// Those that are.
        known: Vec<String>,
    },
    /// It is attached and cannot be used.
    #[error("device {serial} is {state}: {cure}")]
    NotReady {
        /// Which one.
        serial: String,
        /// What the server calls its state.
        state: String,
        /// What to do.
        cure: &'static str,
    },
    /// A command on the device failed.
    #[error("on the device, {doing} failed with exit code {code}: {said}")]
    Command {
        /// What it was to do.
        doing: String,
        /// Its exit code.
        code: i32,
        /// What it printed.
        said: String,
    },
    /// A device that answers without end.
    #[error("{doing}: more than {limit} bytes came, which is no answer to that")]
    TooMuch {
        /// What was asked.
        doing: String,
        /// How much was taken, bytes.
        limit: usize,
    },
    /// A recording that is longer than one may be, or than the disk has room for.
    #[error(
        "{name}: the device says that it has {size} bytes, and at most {limit} are taken: make room on the disk, or raise \
         --max-size"
    )]
    TooLarge {
        /// The recording.
        name: String,
        /// What the device says, or sent already, bytes.
        size: u64,
        /// How long it may be, bytes.
        limit: u64,
    },
    /// A file of this machine.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What arrived is not what the device has.
    #[error(
        "{name}: what arrived is not what the device has (sum {actual:08x}, expected {expected:08x}), twice: try \
         another cable or port"
    )]
    WrongSum {
        /// The recording.
        name: String,
        /// Of what arrived.
        actual: u32,
        /// Of what the device has.
        expected: u32,
    },
}

impl Error {
    pub(crate) fn link(doing: impl Into<String>, fault: impl Into<Fault>) -> Self {
        Self::Link { doing: doing.into(), fault: fault.into() }
    }

    /// Whether the connection was lost, so that the same may succeed on a new one.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Link { fault, .. } => match fault {
                Fault::Ended | Fault::TimedOut(_) | Fault::Io(_) => true,
                // The server's words for a device that went away; they are not numbered.
                Fault::Refused(said) => {
                    ["offline", "not found", "closed", "no devices", "unauthorized", "still connecting"]
                        .iter()
                        .any(|word| said.contains(word))
                }
                Fault::Malformed(_) | Fault::Interrupted => false,
            },
            Self::NoServer { .. } | Self::NotReady { .. } | Self::NoSuchDevice { .. } | Self::NoDevice => {
                true
            }
            _ => false,
        }
    }

    /// Whether somebody pressed Ctrl-C.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Link { fault: Fault::Interrupted, .. })
    }
}
