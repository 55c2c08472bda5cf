//! Errors of installing the sensor, each with what to do.

use crate::poller;
use nix::errno::Errno;
use std::fmt;
use std::io;

/// Why [`crate::install`] did nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum InstallError {
    /// The sensor is installed in this process already, or is being installed or uninstalled at this moment.
    AlreadyInstalled,
    /// This process is a child, made by `fork`, of one in which the sensor was installed. Its handler passes on only.
    ForkedChild,
    /// The kernel refused.
    Os {
        /// What was asked for.
        call: &'static str,
        /// Its answer.
        errno: i32,
    },
    /// The thread could not be started.
    Thread(io::Error),
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::AlreadyInstalled => f.write_str("the SIGQUIT sensor is installed already; uninstall it first"),
            InstallError::ForkedChild => {
                f.write_str("forked from a process with a SIGQUIT sensor; install in a process started by exec or before the fork")
            }
            InstallError::Os { call, errno } => write!(f, "{call}: {}", Errno::from_raw(*errno)),
            InstallError::Thread(error) => write!(f, "cannot start the thread {}: {error}", poller::NAME),
        }
    }
}

impl std::error::Error for InstallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            InstallError::Thread(error) => Some(error),
            _ => None,
        }
    }
}

/// Why [`crate::open_in_this_thread`] did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// Our handler does not forward to a catcher: an unblocked SIGQUIT would kill the process, or reach the wrong handler.
    NotBesideCatcher,
    /// The caller is not the group leader, and a younger thread than the catcher would hardly ever get the signal.
    NotTheLeader,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OpenError::NotBesideCatcher => {
                "no SIGQUIT sensor is installed beside a Signal Catcher; call install first"
            }
            OpenError::NotTheLeader => {
                "call open_in_this_thread on the process's first thread (on Android, the main thread)"
            }
        })
    }
}

impl std::error::Error for OpenError {}
