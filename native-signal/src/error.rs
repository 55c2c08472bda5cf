//! Errors of installing the sensor, each with what to do.

use crate::poller;
use nix::errno::Errno;
use std::io;
use thiserror::Error;

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
    #[error("{call}: {}", Errno::from_raw(*errno))]
    Os {
        /// What was asked for.
        call: &'static str,
        /// Its answer.
        errno: i32,
    },
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
