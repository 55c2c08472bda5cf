//! A thread dump on demand.

use crate::older::Action;
use crate::{catcher, mask, task};
use nix::errno::Errno;
use std::fmt;

/// Asks for a thread dump of this process, as the system would: by a SIGQUIT to the process.
///
/// It takes the way of every other one. The Signal Catcher (or the older handler) answers it, and a sensor tells its
/// observer of it with [`crate::Sensed::si_pid`] being this process's id, which is how it is known as our own. Callable
/// on any thread, not in a signal handler; it returns when the signal is sent, which is before it is answered.
///
/// # Errors
///
/// [`AskError`]; nothing was sent then.
pub fn ask_for_dump() -> Result<(), AskError> {
    let action = Action::current().map_err(|errno| AskError::Os { errno: errno as i32 })?;
    if action.is_one_shot() || !(action.is_handler() || waits_for_it()) {
        return Err(AskError::NobodyAnswers);
    }
    // SAFETY: two integers.
    let sent = unsafe { libc::kill(task::process_id(), libc::SIGQUIT) };
    Errno::result(sent).map(drop).map_err(|errno| AskError::Os { errno: errno as i32 })
}

/// Without a handler the signal is safe only while the leader blocks it and a catcher waits: else it kills the process,
/// or stays pending until it does.
fn waits_for_it() -> bool {
    !mask::is_open_on_the_leader() && matches!(catcher::find(0), Ok(Some(_)))
}

/// Why [`ask_for_dump`] sent nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskError {
    /// There is neither a Signal Catcher nor a handler that stays: the signal would end the process, or do nothing.
    NobodyAnswers,
    /// The kernel refused.
    Os {
        /// Its answer.
        errno: i32,
    },
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::NobodyAnswers => {
                f.write_str("no Signal Catcher and no lasting handler of SIGQUIT in this process: nothing would write a dump")
            }
            AskError::Os { errno } => write!(f, "SIGQUIT to this process: {}", Errno::from_raw(*errno)),
        }
    }
}

impl std::error::Error for AskError {}
