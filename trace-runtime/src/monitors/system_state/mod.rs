//! What the process and the system do while main is stalled, so that a report can say whether the app or the device was the
//! reason: all threads, CPU, memory, I/O and limits of the control group. A section each ([`trace_format::sections::system_state`]).
//!
//! The timer thread polls, never main. It polls every half second of a stall, and less often where a poll is so expensive
//! that it would take more than 1 % of a CPU. Between stalls it polls every ten seconds at most, and only when it is awake
//! for another reason: an idle process is never woken. Of these polls the last one is recorded when a stall begins, so
//! that a process that lives for days fills no disk. What the system denies, such as `/proc/pressure` on Android, is left out.

mod collections;
mod files;
mod groups;
mod platform;
mod threads;

pub(crate) use collections::poll_if_worth as poll_collections;
pub use collections::{pause_began, pause_ended, paused_until, record_pauses};
pub(crate) use platform::record as record_platform;

use trace_format::section::SectionKind;
use trace_format::sections::system_state::{Quantity, SystemState};

use crate::files::worker;
use crate::main_thread::message_watch;
use crate::monitors::config::options::{self, Setting};
use crate::recorder::Recorder;
use crate::time::clock;

/// Interval of polls during a stall, ns.
const STALLED_INTERVAL: u64 = 500_000_000;
/// Interval of polls while main is not stalled, ns.
const QUIET_INTERVAL: u64 = 10_000_000_000;
/// A poll takes one part in this many of the time of a CPU, or less.
const COST_SHARE: u64 = 100;
/// Polls of one stall at the full rate, two minutes of it; then they come as without a stall.
const FULL_RATE: u32 = 240;

/// The state of the polls; owned by the timer thread.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    last: u64,
    /// When the stalled message began, 0 without one, and how many polls it had.
    stalled: (u64, u32),
    /// CPU time that the last poll took, ns.
    cost: u64,
    /// The last poll before a stall, which is not recorded yet.
    before: Option<Vec<u8>>,
    files: files::Files,
    groups: groups::Groups,
    threads: threads::Threads,
}

impl Watch {
    /// Polls if it is time to: often while main's message is suspect, which began at `suspect`, once more when it is
    /// over, so that its last part is known, and now and then otherwise.
    pub(crate) fn poll_if_due(&mut self, recorder: &Recorder, suspect: Option<u64>, now: u64) {
        let before = self.stalled.0;
        match suspect {
            Some(since) => {
                let first = before != since;
                if first {
                    self.stalled = (since, 0);
                }
                let full = self.stalled.1 < FULL_RATE;
                if first || self.is_due(now, if full { STALLED_INTERVAL } else { QUIET_INTERVAL }) {
                    self.stalled.1 += 1;
                    self.record(recorder, since, now, first);
                }
            }
            None if before != 0 => {
                self.stalled = (0, 0);
                if self.is_due(now, 0) {
                    self.record(recorder, before, now, false);
                }
            }
            None if self.is_due(now, QUIET_INTERVAL) => self.before = self.poll(recorder, 0, now, false),
            None => {}
        }
    }

    /// Polls, and records it after the last poll before the stall.
    fn record(&mut self, recorder: &Recorder, since: u64, now: u64, all: bool) {
        if let Some(poll) = self.poll(recorder, since, now, all) {
            let polls = self.before.take().into_iter().chain([poll]);
            polls.for_each(|poll| worker::append(SectionKind::SystemState, poll));
        }
    }

    fn is_due(&self, now: u64, interval: u64) -> bool {
        now.saturating_sub(self.last) >= interval.max(self.cost.saturating_mul(COST_SHARE))
    }

    /// The payload of a poll; `None` if the option is off.
    fn poll(&mut self, recorder: &Recorder, since: u64, now: u64, all: bool) -> Option<Vec<u8>> {
        if !options::is_enabled(Setting::SystemState) {
            return None;
        }
        self.last = now;
        let began = clock::thread_cpu();
        let mut state = SystemState::new(now);
        state.set(Quantity::Cost, Some(self.cost));
        state.set(
            Quantity::Frozen,
            Some(message_watch::frozen_ms(since, now) * 1_000_000).filter(|_| since != 0),
        );
        state.set_realtime(clock::realtime_ahead());
        state.set(Quantity::Process, clock::process_cpu());
        self.files.read(&mut state);
        self.groups.read(&mut state, all);
        self.threads.read(&mut state, recorder.main_tid, all);
        let payload = state.encode();
        self.cost = clock::thread_cpu().saturating_sub(began);
        Some(payload)
    }
}
