//! The running program: forwards signals to it, and waits for its end.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::{cleanup, signals};

/// Catches termination signals, from before the program starts until its trace is written.
///
/// While the program runs, the terminal sends its signals to both processes; those are left to the program, and signals that are
/// sent to this process alone are forwarded. Before and after, an interrupt ends this process.
#[derive(Debug)]
pub(crate) struct Supervisor {
    /// The program while it runs.
    running: Arc<Mutex<Option<Pid>>>,
}

impl Supervisor {
    /// Starts to catch signals.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let ours =
            signals::terminating().chain([SIGQUIT].into_iter().filter(|signal| !signals::ignored(*signal)));
        let running = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&running);
        // Locked while sending, so that the pid cannot be another process's by then.
        let follow = move |signal| match *lock(&shared) {
            Some(pid) => forward(signal, pid),
            None => cleanup::end_by(signal),
        };
        signals::on_each(ours, follow).context("cannot catch signals")?;
        Ok(Self { running })
    }

    /// Runs `command` to its end with this process's streams.
    pub(crate) fn run(&self, command: &mut Command) -> anyhow::Result<ExitStatus> {
        let program = command.get_program().to_owned();
        let mut running = lock(&self.running);
        let mut child = command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
        *running = Some(pid_of(&child));
        drop(running);
        // Waits without reaping, so that no signal can go to another process that got the same pid.
        while let Err(e) = waitid(Id::Pid(pid_of(&child)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
            if e != nix::errno::Errno::EINTR {
                return Err(e).context("cannot wait for the program");
            }
        }
        *lock(&self.running) = None;
        child.wait().context("cannot wait for the program")
    }
}

fn lock(running: &Mutex<Option<Pid>>) -> MutexGuard<'_, Option<Pid>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("pids are 31 bits"))
}

fn forward(signal: i32, pid: Pid) {
    if matches!(signal, SIGINT | SIGQUIT) && signals::in_foreground() {
        return;
    }
    if let Ok(signal) = Signal::try_from(signal) {
        // It may have ended at this very moment.
        let _ = kill(pid, signal);
    }
}

/// The exit code as a shell reports it: 128 plus the signal's number for a death by signal.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    // The system keeps eight bits of it.
    (code & 0xff) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(exit_code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
        assert_eq!(exit_code(ExitStatus::from_raw(0)), 0);
    }
}
