//! The judge's side: starts a simulated app, sends signals, reads the page.

use super::Case;
use super::page::{Page, nap, wait_until};
use native_signal::boottime_ns;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::Ordering;

/// First argument of a simulated app.
pub(crate) const ROLE: &str = "--simulate";

/// A simulated app and what was sent to it.
pub(crate) struct Subject {
    pub(crate) page: &'static Page,
    child: Child,
    path: PathBuf,
    pub(crate) sent: u64,
    last_sent_ns: u64,
}

/// The sums of one case, by the sender's and the receivers' own counts.
#[derive(Debug)]
pub(crate) struct Balance {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Whether no thread received a signal after the last one was sent.
    pub(crate) lost: bool,
}

impl Subject {
    /// Starts the simulated app and waits until it says that it has reached step 1.
    pub(crate) fn start(case: &Case) -> Subject {
        let (path, page) = Page::create(case.name);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([ROLE, case.name]).arg(&path);
        // SAFETY: only calls that are safe in a signal handler, on the child's own state.
        unsafe {
            command.pre_exec(|| {
                // A script's background job is started with SIGQUIT ignored, and masks are inherited too.
                libc::signal(libc::SIGQUIT, libc::SIG_DFL);
                let mut none: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&mut none);
                libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let mut subject = Subject { page, child, path, sent: 0, last_sent_ns: 0 };
        subject.await_step(1);
        subject
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits for the simulated app's step.
    #[track_caller]
    pub(crate) fn await_step(&mut self, step: u64) {
        let give_up = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while self.page.reached.load(Ordering::SeqCst) < step {
            if let Ok(Some(status)) = self.child.try_wait() {
                // It may have reached the step as its last act.
                assert!(
                    self.page.reached.load(Ordering::SeqCst) >= step,
                    "the simulated app ended: {status}"
                );
            }
            assert!(std::time::Instant::now() < give_up, "the simulated app did not reach step {step}");
            nap(200);
        }
    }

    /// Lets the simulated app go on to a step.
    pub(crate) fn allow(&self, step: u64) {
        self.page.allowed.store(step, Ordering::SeqCst);
    }

    /// Sends one SIGQUIT by kill, as `kill -3` does.
    pub(crate) fn send(&mut self) {
        self.last_sent_ns = boottime_ns();
        // SAFETY: two integers.
        assert_eq!(unsafe { libc::kill(self.pid(), libc::SIGQUIT) }, 0);
        self.sent += 1;
    }

    /// Sends signals one at a time, each after the former was received.
    #[track_caller]
    pub(crate) fn send_spaced(&mut self, number: u64, received: impl Fn(&Page) -> u64) {
        for _ in 0..number {
            let before = received(self.page);
            self.send();
            wait_until("a signal", || received(self.page) > before);
        }
    }

    /// Sends signals that the leader must take: each after it left the handler, and the catcher waits again. (One that
    /// comes while the handler runs, with SIGQUIT masked on the leader, goes from the kernel to the catcher; and one
    /// that waits for a leader without a CPU is taken by a catcher that comes back from its dump first. Neither
    /// is lost; they are not sensed.)
    #[track_caller]
    pub(crate) fn send_taken(&mut self, number: u64, received: impl Fn(&Page) -> u64) {
        for _ in 0..number {
            self.leader_opens();
            self.send_spaced(1, &received);
        }
    }

    /// As [`Subject::send_taken`], and waits for the observer too.
    #[track_caller]
    pub(crate) fn send_sensed(&mut self, number: u64, received: impl Fn(&Page) -> u64) {
        for _ in 0..number {
            let sensed = self.page.observer.count();
            self.send_taken(1, &received);
            wait_until("its note", || self.page.observer.count() > sensed);
        }
    }

    /// Waits until the leader has left the handler and the catcher is back in `sigwait`.
    pub(crate) fn leader_opens(&self) {
        wait_until("an open leader", || self.is_open(self.pid().into()) && self.catcher_waits());
    }

    /// Waits until the leader has run on a CPU. One from which a signal was taken before it ran is marked as having
    /// one until then, and the next goes from the kernel to the catcher (`wants_signal` in kernel/signal.c): it is not
    /// sensed.
    pub(crate) fn leader_runs(&self) {
        let ran = || {
            let times = fs::read_to_string(format!("/proc/{0}/task/{0}/schedstat", self.pid())).ok()?;
            times.split(' ').next()?.parse::<u64>().ok()
        };
        // A kernel without these figures: go on without waiting.
        let Some(before) = ran() else { return };
        wait_until("a CPU for the leader", || ran().is_none_or(|now| now > before));
    }

    /// Whether the catcher is in `sigwait`, if it is to come back there.
    pub(crate) fn catcher_waits(&self) -> bool {
        let tid = self.page.catcher_tid.load(Ordering::SeqCst);
        tid == 0 || self.page.catcher_busy.load(Ordering::SeqCst) == 1 || self.is_open(tid)
    }

    /// Whether a thread has SIGQUIT open and none waiting for it, by its status in `/proc`; one in `sigwait` reads as
    /// open, also when it has been woken for one that it has not run to take. True for one that is gone.
    fn is_open(&self, tid: i64) -> bool {
        let status =
            fs::read_to_string(format!("/proc/{}/task/{tid}/status", self.pid())).unwrap_or_default();
        ["SigBlk:\t", "SigPnd:\t"].iter().all(|name| {
            let Some(set) = status.lines().find_map(|line| line.strip_prefix(name)) else { return true };
            u64::from_str_radix(set, 16).unwrap() & 1 << (libc::SIGQUIT - 1) == 0
        })
    }

    /// Sends as fast as the system calls go. The kernel merges a signal with one that is pending.
    pub(crate) fn send_storm(&mut self, number: u64) {
        for _ in 0..number {
            self.send();
        }
    }

    /// What came of the signals. A signal counts as received if any thread received one after it was sent. Waits for the
    /// last one.
    pub(crate) fn balance(
        &self,
        received: impl Fn(&Page) -> u64,
        last_received: impl Fn(&Page) -> u64,
    ) -> Balance {
        let give_up = std::time::Instant::now() + std::time::Duration::from_secs(3);
        while last_received(self.page) < self.last_sent_ns && std::time::Instant::now() < give_up {
            nap(500);
        }
        Balance {
            sent: self.sent,
            received: received(self.page),
            lost: last_received(self.page) < self.last_sent_ns,
        }
    }

    /// Waits until a number stands still at what it is meant to become, and stays so for a while.
    #[track_caller]
    pub(crate) fn settles_at(&self, what: &str, expected: u64, number: impl Fn(&Page) -> u64) {
        wait_until(what, || number(self.page) >= expected);
        nap(30_000);
        assert_eq!(number(self.page), expected, "{what}");
    }

    /// Lets the simulated app end and expects that it ended well.
    pub(crate) fn end(mut self) {
        self.allow(u64::MAX);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "the simulated app ended: {status}");
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.path);
    }
}
