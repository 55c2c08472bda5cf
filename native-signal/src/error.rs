//! Errors of installing the sensor, each with what to do, and what the kernel refuses.

use crate::poller;
use nix::errno::Errno;
use std::io;
use thiserror::Error;

/// A call that the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{call}: {}", Errno::from_raw(*errno))]
pub struct OsError {
    /// The request.
    pub call: &'static str,
    /// The kernel's answer.
    pub errno: i32,
}

impl OsError {
    /// Makes an error of the answer to `call`.
    pub(crate) fn of(call: &'static str) -> impl Fn(Errno) -> Self + Copy {
        move |errno| Self { call, errno: errno as i32 }
    }

    /// Makes an error of what the standard library says of `call`.
    pub(crate) fn of_io(call: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self { call, errno: error.raw_os_error().unwrap_or(0) }
    }
}

/// Why [`crate::install`] did nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The sensor is installed in this process already, or is being installed or uninstalled at this moment.
    #[error("the SIGQUIT sensor is installed already; uninstall it first")]
    AlreadyInstalled,
    /// This process is a child, made by `fork`, of one in which the sensor was installed. Its handler passes on only.
    #[error(
        "forked from a process with a SIGQUIT sensor; install in a process started by exec or before the fork"
    )]
    ForkedChild,
    /// The kernel refused.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The thread could not be started.
    #[error("cannot start the thread {}: {}", poller::NAME, .0)]
    Thread(#[source] io::Error),
}

/// Why [`crate::open_in_this_thread`] did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Our handler does not forward to a catcher: an unblocked SIGQUIT would kill the process, or reach the wrong handler.
    #[error("no SIGQUIT sensor is installed beside a Signal Catcher; call install first")]
    NotBesideCatcher,
    /// The caller is not the group leader, and a younger thread than the catcher would hardly ever get the signal.
    #[error("call open_in_this_thread on the process's first thread (on Android, the main thread)")]
    NotTheLeader,
}
