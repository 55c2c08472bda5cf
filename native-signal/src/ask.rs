//! Requests a thread dump of this process.

use crate::previous::Action;
use crate::{catcher, mask, task};
use nix::errno::Errno;
use thiserror::Error;

/// Requests a thread dump of this process, as the system would: by a SIGQUIT to the process.
///
/// The signal is handled as any other: the Signal Catcher (or the previous handler) answers it, and a sensor reports it to its
/// observer with this process's id in [`crate::Sensed::si_pid`]. Call it on
/// any thread, not in a signal handler; it returns when the signal is sent, which is before it is answered.
///
/// # Errors
///
/// [`AskError`]; nothing was sent then.
pub fn ask_for_dump() -> Result<(), AskError> {
    let action = Action::current().map_err(|errno| AskError::Os { errno: errno as i32 })?;
    if action.is_one_shot() || !(action.is_handler() || is_caught()) {
        return Err(AskError::NoReceiver);
    }
    // SAFETY: two integers.
    let sent = unsafe { libc::kill(task::process_id(), libc::SIGQUIT) };
    Errno::result(sent).map(drop).map_err(|errno| AskError::Os { errno: errno as i32 })
}

/// Whether a catcher takes the signal where there is no handler: the leader must block it and a catcher must wait, else it
/// kills the process, or stays pending until it does.
fn is_caught() -> bool {
    !mask::is_open_on_the_leader() && matches!(catcher::find(0), Ok(Some(_)))
}

/// Why [`ask_for_dump`] sent nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is neither a Signal Catcher nor a handler that stays installed: the signal would end the process, or do nothing.
    #[error("this process has no Signal Catcher and no lasting SIGQUIT handler: nothing would write a dump")]
    NoReceiver,
    /// The kernel refused.
    #[error("cannot send SIGQUIT to this process: {}", Errno::from_raw(*errno))]
    Os {
        /// Its answer.
        errno: i32,
    },
}
