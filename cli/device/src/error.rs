//! The errors of this crate, each with its cure where one is known.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::install_answer::InstallFailure;

/// How a connection failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The other side closed the connection before the answer was complete.
    #[error("the connection closed before the answer was complete")]
    Ended,
    /// No byte arrived for this long.
    #[error("no data for {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The server or the device refused, with this message.
    #[error("refused with \"{0}\"")]
    Refused(String),
    /// The bytes do not follow adb's protocol.
    #[error("{0}: the other side does not speak adb's protocol")]
    Malformed(&'static str),
    /// The user pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The operating system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Fault {
    /// What the user can do about it; `None` if the user caused it.
    fn cure(&self) -> Option<&'static str> {
        Some(match self {
            Self::Ended | Self::TimedOut(_) | Self::Io(_) => {
                "run `adb kill-server`, reconnect the device, and try again"
            }
            Self::Refused(_) => "check the device's state with `adb devices`, reconnect it, and try again",
            Self::Malformed(_) => {
                "another program may be using the adb server's port: stop it, or choose another port with \
                 ANDROID_ADB_SERVER_PORT"
            }
            Self::Interrupted => return None,
        })
    }
}

/// Why an operation on a device failed.
///
/// [`found`](Error::found) says what is wrong and [`cure`](Error::cure) what to do about it. The `Display` text is
/// both, except for errors of the link and of commands on the device: those are often retried, and so show what was
/// found only.
///
/// ```
/// let error = device::Error::no_device();
/// assert_eq!(error.found(), "no device is connected");
/// assert!(error.cure().unwrap().contains("USB debugging"));
/// assert_eq!(error.to_string(), format!("{}: {}", error.found(), error.cure().unwrap()));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No adb server listens.
    NoServer {
        /// The address that was tried.
        address: String,
        /// The error of the connection.
        source: io::Error,
    },
    /// The connection to the server or the device failed.
    Link {
        /// What the client was doing.
        doing: String,
        /// How the connection failed.
        #[source]
        fault: Fault,
    },
    /// The device cannot be used now: none is connected, or it is not ready, or it went away.
    Unreachable {
        /// What is wrong.
        found: String,
        /// What the user can do about it.
        cure: Cow<'static, str>,
    },
    /// A command on the device failed.
    Command {
        /// What the command was for.
        doing: String,
        /// Its exit code.
        code: i32,
        /// What it printed.
        message: String,
    },
    /// A recording is longer than allowed, or than the free space on the disk.
    TooLarge {
        /// The recording.
        name: String,
        /// Its size by the device, or the bytes received so far.
        size: u64,
        /// The limit, bytes.
        limit: u64,
    },
    /// A file on this machine cannot be read or written.
    File {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The device's package manager refused.
    PackageManager {
        /// What it was asked to do: `install` or `uninstall`.
        doing: &'static str,
        /// Its answer.
        failure: InstallFailure,
    },
    /// The bytes that arrived differ from those on the device.
    WrongSum {
        /// The recording.
        name: String,
        /// The checksum of the bytes that arrived.
        actual: u32,
        /// The checksum of the file on the device.
        expected: u32,
    },
    /// Any other failure, which no caller tells apart: a name or an address that is invalid, a file that is no APK, an
    /// adb that does not start, an answer that is not valid.
    Other {
        /// What is wrong.
        found: String,
        /// What the user can do about it, if that is known.
        cure: Option<Cow<'static, str>>,
    },
}

impl Error {
    pub(crate) fn link(doing: impl Into<String>, fault: impl Into<Fault>) -> Self {
        Self::Link { doing: doing.into(), fault: fault.into() }
    }

    /// The error if no device is connected.
    #[must_use]
    pub fn no_device() -> Self {
        let cure =
            "plug one in and allow USB debugging (Settings, Developer options), or `adb connect HOST:PORT`";
        Self::unreachable("no device is connected", cure)
    }

    pub(crate) fn unreachable(found: impl Into<String>, cure: impl Into<Cow<'static, str>>) -> Self {
        Self::Unreachable { found: found.into(), cure: cure.into() }
    }

    pub(crate) fn other(found: impl Into<String>, cure: impl Into<Cow<'static, str>>) -> Self {
        Self::Other { found: found.into(), cure: Some(cure.into()) }
    }

    /// The error of a name that was given and is not `kind`'s; `expected` is the form of a valid one.
    pub(crate) fn bad_name(kind: &str, name: &str, expected: &'static str) -> Self {
        Self::other(format!("{name:?} is not the name of {kind}"), expected)
    }

    /// The error of an answer that is longer than any valid one, of at most `limit` bytes.
    pub(crate) fn too_much(doing: &str, limit: usize) -> Self {
        let found = format!("{doing}: the answer is longer than {limit} bytes, which is not a valid answer");
        Self::Other { found, cure: None }
    }

    /// The error of a command that the device ran and that failed.
    pub(crate) fn command(doing: impl Into<String>, code: i32, message: impl Into<String>) -> Self {
        Self::Command { doing: doing.into(), code, message: message.into() }
    }

    /// The error of an answer other than `expected`.
    pub(crate) fn unexpected(doing: &str, answer: &str, expected: &str) -> Self {
        let found = format!("{doing}: the device answered {answer:?}, expected {expected}");
        Self::Other { found, cure: None }
    }

    /// Returns what is wrong, without the cure.
    #[must_use]
    pub fn found(&self) -> String {
        match self {
            Self::NoServer { address, source } => format!("no adb server answers at {address} ({source})"),
            Self::Link { doing, fault } => format!("{doing}: {fault}"),
            Self::Command { doing, code, message } => {
                format!("on the device, {doing} failed with exit code {code}: {message}")
            }
            Self::TooLarge { name, size, limit } => {
                format!("{name}: the device reports {size} bytes, more than the limit of {limit}")
            }
            Self::File { path, source } => format!("{}: {source}", path.display()),
            Self::PackageManager { doing, failure } => failure.found(doing),
            Self::WrongSum { name, actual, expected } => format!(
                "{name}: the bytes that arrived twice differ from those on the device (checksum {actual:08x}, expected \
                 {expected:08x})"
            ),
            Self::Unreachable { found, .. } | Self::Other { found, .. } => found.clone(),
        }
    }

    /// Returns what the user can do about it; `None` where no cure is known.
    #[must_use]
    pub fn cure(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(match self {
            Self::NoServer { .. } => "start one with `adb start-server`",
            Self::Link { fault, .. } => fault.cure()?,
            Self::TooLarge { .. } => "make room on the disk, or raise --max-size",
            Self::WrongSum { .. } => "try another cable or port",
            Self::PackageManager { failure, .. } => return failure.cure(),
            Self::Unreachable { cure, .. } => return Some(cure.clone()),
            Self::Other { cure, .. } => return cure.clone(),
            Self::Command { .. } | Self::File { .. } => return None,
        }))
    }

    /// Returns whether the connection was lost, so that the same operation may succeed on a new one.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Link { fault, .. } => match fault {
                Fault::Ended | Fault::TimedOut(_) | Fault::Io(_) => true,
                // The server's messages for a device that disconnected; they have no numbers.
                Fault::Refused(message) => {
                    ["offline", "not found", "closed", "no devices", "unauthorized", "still connecting"]
                        .iter()
                        .any(|word| message.contains(word))
                }
                Fault::Malformed(_) | Fault::Interrupted => false,
            },
            Self::NoServer { .. } | Self::Unreachable { .. } => true,
            _ => false,
        }
    }

    /// Returns whether the user pressed Ctrl-C.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Link { fault: Fault::Interrupted, .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.found())?;
        match self.cure() {
            Some(cure) if !matches!(self, Self::Link { .. }) => write!(f, ": {cure}"),
            _ => Ok(()),
        }
    }
}
