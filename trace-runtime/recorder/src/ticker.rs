//! The thread that keeps coarse time, checks the clocks and touches the blocks ahead of main, as long as any
//! thread records. It sleeps while none does.
//!
//! It ticks every millisecond in coarse mode and every [`PRECISE_TICK`] in precise mode. Every [`LEASE_NS`]
//! it closes the [time word](crate::time::time_word) for a tick; if no thread opens it meanwhile, none
//! records, and the ticker sleeps until one does. The end of a message on main ends the lease at once.

use std::sync::atomic::Ordering;
use std::time::Duration;

use trace_format::event::{Clocks, Event, Standstill};
use trace_format::layout::BLOCK_WORDS;
use trace_format::word;

use crate::guard;
use crate::memory::bus_fault;
use crate::recorder::hooks::Tick;
use crate::recorder::{self, Recorder};
use crate::system_log;
use crate::time::coarse::{self, MAIN_GATE, TIME};
use crate::time::cycles::{Calibrator, Finding};
use crate::time::fold::{self, Reach};
use crate::time::time_word::Pace;
use crate::time::{self, clock};
use crate::writing::room::Room;
use crate::writing::{cost, overhead};

/// In precise mode it only compares the clock and touches blocks.
const PRECISE_TICK: Duration = Duration::from_millis(20);
/// How long it ticks on after the last event, ns.
const LEASE_NS: u64 = 100_000_000;
/// How long a heartbeat goes on after the last event, ns: longer than the longest of Android's ANR timeouts
/// (20 s for a foreground service), so that a hang of that length is covered.
const HEARTBEAT_AFTER_NS: u64 = 30_000_000_000;
const FAULTED: &str = "the recording's file was truncated or its storage device failed: nothing more is recorded in this process";
/// Interval between comparisons of the clocks, ns.
const CHECK_NS: u64 = clock::CHECK_MS as u64 * 1_000_000;

/// Starts the thread. With a heartbeat it notes that the process is alive, until half a minute after the last
/// event.
pub(crate) fn start(recorder: &'static Recorder, heartbeat: Option<Duration>) -> std::io::Result<()> {
    let handle = (recorder.hooks.spawn)(
        "anrscope-ticker",
        Box::new(move || {
            guard::disarm_on_panic(|| Ticker::new(recorder, heartbeat).run());
        }),
    )?;
    coarse::set_ticker(handle.thread().clone());
    Ok(())
}

struct Ticker {
    recorder: &'static Recorder,
    heartbeat: Option<Duration>,
    calibrator: Calibrator,
    known: Clocks,
    checked: u64,
    /// The last check of what recording costs.
    overhead_checked: u64,
    /// The last time at which a thread recorded, about.
    active: u64,
    /// The word was closed to find out whether a thread opens it.
    probing: bool,
    /// What an event costs was measured.
    measured: bool,
    /// A notice says that pages of the recording are gone.
    fault_reported: bool,
    /// The next number of evicted lock owners to report.
    evicted_reported: u64,
    standstills: Standstills,
    reach_of_main: Reach,
    reach_of_others: Reach,
    room_of_main: Room,
}

impl Ticker {
    fn new(recorder: &'static Recorder, heartbeat: Option<Duration>) -> Self {
        let now = clock::boottime();
        Self {
            recorder,
            heartbeat,
            calibrator: Calibrator::default(),
            known: clock::all(),
            checked: now,
            overhead_checked: now,
            active: now,
            probing: false,
            measured: false,
            fault_reported: false,
            evicted_reported: 1,
            standstills: Standstills::new(now),
            reach_of_main: Reach::new(&TIME.fold_main, words(recorder.main_blocks.storage.count()), now),
            reach_of_others: Reach::new(&TIME.fold_others, words(recorder.pool_blocks.count()), now),
            room_of_main: Room::new(words(recorder.main_blocks.storage.count()), now),
        }
    }

    /// Updates how far the rings reach back at the recent pace.
    fn keep_reach(&mut self) {
        let main = self.recorder.main_blocks.opened_so_far();
        self.reach_of_main.update(main, BLOCK_WORDS as u64, self.checked);
        let others = self.recorder.pool.taken_so_far();
        self.reach_of_others.update(others, BLOCK_WORDS as u64, self.checked);
    }

    /// Checks whether a recursion fills main's ring.
    fn keep_room(&mut self, now: u64) {
        let ring = &self.recorder.main_blocks;
        let filling = self.room_of_main.update(ring, ring.opened_so_far(), now);
        // Where all calls are wanted, none is switched off.
        if !filling.is_empty() && fold::leaves_out() {
            overhead::make_room(&filling, now);
        }
    }

    fn run(mut self) {
        prefer();
        // The counter's first reading; the second one, a check later, brings it into use.
        let finding = self.calibrator.check();
        self.report(finding);
        while Recorder::active().is_some() {
            let now = time::now();
            TIME.tick(now);
            if TIME.pace() != Pace::Coarse {
                self.standstills.restart(now);
            } else if let Some(standstill) = self.standstills.tick(now, TIME.is_open()) {
                self.recorder.service(&Event::Standstill(standstill));
            }
            MAIN_GATE.tick(TIME.high.load(Ordering::SeqCst), word::MAX_GAP);
            self.recorder.touch_ahead();
            self.keep_room(now);
            if now.saturating_sub(self.overhead_checked) >= overhead::WINDOW_NS {
                self.overhead_checked = now;
                overhead::check(now);
            }
            if now.saturating_sub(self.checked) >= CHECK_NS {
                self.check();
                self.recorder.poll_silent();
            } else if self.recorder.pool.is_starved() {
                self.recorder.poll_silent();
            }
            if !self.probing {
                if coarse::has_message_ended() || now.saturating_sub(self.active) >= LEASE_NS {
                    TIME.close();
                    MAIN_GATE.close();
                    self.probing = true;
                }
            } else if TIME.is_open() {
                self.probing = false;
                self.active = now;
            } else {
                self.rest();
                continue;
            }
            let coarse = TIME.pace() == Pace::Coarse;
            std::thread::park_timeout(if coarse { fold::tick() } else { PRECISE_TICK });
        }
    }

    /// Sleeps until a thread records, and wakes for the heartbeat as long as there is one.
    fn rest(&mut self) {
        // Before it sleeps: what was written since the last check is there by now.
        self.call(Tick::Idle);
        // The first thread after a long rest may need a block, and the ticker does not poll then.
        self.recorder.poll_silent();
        while TIME.try_sleep() {
            let heartbeat = self.heartbeat.filter(|_| clock::boottime() - self.active < HEARTBEAT_AFTER_NS);
            match heartbeat {
                Some(interval) => std::thread::park_timeout(interval),
                None => std::thread::park(),
            }
            TIME.wake_up();
            if Recorder::active().is_none() {
                return;
            }
            self.check();
        }
        self.probing = false;
        self.active = clock::boottime();
        // Nothing was recorded until the word was opened, at this time; from then on time has stood still
        // until now.
        self.standstills.restart(TIME.high.load(Ordering::SeqCst));
    }

    fn check(&mut self) {
        let finding = self.calibrator.check();
        self.report(finding);
        if !self.measured {
            self.measured = true;
            cost::measure_and_record();
        }
        self.checked = clock::boottime();
        self.call(Tick::Check);
        if self.heartbeat.is_some() {
            self.call(Tick::Heartbeat(self.checked));
            self.recorder.alive(self.checked);
        }
        self.note_clock_step();
        if !self.fault_reported && bus_fault::has_faulted() {
            self.fault_reported = true;
            recorder::notice(FAULTED);
            system_log::warn(FAULTED);
        }
        self.keep_reach();
        let evicted = self.recorder.owners.evicted();
        // At 1, 2, 4, ...: a table under pressure causes a few notices, not thousands.
        if evicted >= self.evicted_reported {
            self.evicted_reported = (evicted + 1).next_power_of_two();
            recorder::notice(&format!(
                "more locks are held than the table of holders has room for: {evicted} holders are unknown so far"
            ));
        }
    }

    fn call(&self, tick: Tick) {
        (self.recorder.hooks.on_tick)(self.recorder, tick);
    }

    fn report(&self, finding: Finding) {
        match finding {
            Finding::Fine => {}
            Finding::Unusable(reason) => {
                recorder::notice(&format!(
                    "times are read from the kernel and not from the cycle counter: {reason}"
                ));
            }
            Finding::Jumped(by) => recorder::notice(&format!(
                "the cycle counter has jumped by {by} ns: times are read from the kernel from here on"
            )),
        }
    }

    /// Records a step of the clocks. Deep sleep moves BOOTTIME against MONOTONIC: a reader that has only the
    /// first pair would place MONOTONIC times wrongly from here on. A step of REALTIME means that the clock
    /// was set.
    fn note_clock_step(&mut self) {
        let now = clock::all();
        let ahead = |c: &Clocks| c.boottime.wrapping_sub(c.monotonic) as i64;
        let wall = |c: &Clocks| c.realtime.wrapping_sub(c.boottime) as i64;
        if ahead(&now).abs_diff(ahead(&self.known)) > clock::NOISE
            || wall(&now).abs_diff(wall(&self.known)) > WALL_STEP_NS
        {
            self.recorder.service(&Event::Clock(now));
            self.known = now;
        }
    }
}

/// Words that this many blocks hold.
fn words(blocks: usize) -> u64 {
    blocks as u64 * BLOCK_WORDS as u64
}

/// Finds stretches in which coarse time stood still although a thread recorded: the ticker was not scheduled.
/// In them calls look shorter than they were, and calls within one are not recorded.
#[derive(Debug)]
struct Standstills {
    last: u64,
    /// Shorter ones are not recorded, ns. It rises while there are so many that other events of the service
    /// ring would be lost.
    least: u64,
    /// Events that may be recorded just now.
    allowed: u64,
    refilled: u64,
}

/// The initial limit for a standstill, ns: longer than a frame at 60 Hz.
const MIN_STANDSTILL_NS: u64 = 20_000_000;
/// Standstills that may be recorded at once, and one more each [`REFILL_NS`] ns: 20 minutes of them fit into
/// the service ring.
const MAX_STANDSTILLS_AT_ONCE: u64 = 64;
const REFILL_NS: u64 = 1_000_000_000;

impl Standstills {
    fn new(now: u64) -> Self {
        Self { last: now, least: MIN_STANDSTILL_NS, allowed: MAX_STANDSTILLS_AT_ONCE, refilled: now }
    }

    fn restart(&mut self, now: u64) {
        self.last = now;
    }

    /// Handles a tick; returns the event to record if time stood still before it. `recording` says whether a
    /// thread has written since the last tick.
    fn tick(&mut self, now: u64, recording: bool) -> Option<Standstill> {
        let since = std::mem::replace(&mut self.last, now);
        let refill = now.saturating_sub(self.refilled) / REFILL_NS;
        if refill > 0 {
            self.refilled += refill * REFILL_NS;
            self.allowed = (self.allowed + refill).min(MAX_STANDSTILLS_AT_ONCE);
            if self.allowed == MAX_STANDSTILLS_AT_ONCE {
                self.least = MIN_STANDSTILL_NS;
            }
        }
        if !recording || now.saturating_sub(since) < self.least {
            return None;
        }
        if self.allowed == 0 {
            self.least *= 2;
            return None;
        }
        self.allowed -= 1;
        Some(Standstill { since, until: now })
    }
}

/// A change of REALTIME against BOOTTIME from this on is a step, ns: slewing is not.
const WALL_STEP_NS: u64 = 100_000_000;

/// Raises the calling thread's priority, because a late tick means wrong times; where that is not allowed it
/// stays as it is.
fn prefer() {
    // SAFETY: changes the calling thread's priority only (man 2 setpriority: on Linux `who` is a thread).
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -8) };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use trace_format::time::MS;

    #[test]
    fn a_late_tick_is_recorded_unless_there_are_so_many_that_other_events_would_be_lost() {
        let mut standstills = Standstills::new(0);
        assert_eq!(standstills.tick(MS, true), None);
        assert_eq!(standstills.tick(51 * MS, true), Some(Standstill { since: MS, until: 51 * MS }));
        assert_eq!(standstills.tick(151 * MS, false), None);
        standstills.restart(10_000 * MS);
        assert_eq!(standstills.tick(10_001 * MS, true), None);
        let mut now = 10_001 * MS;
        let mut recorded = 0;
        for _ in 0..10_000 {
            now += 30 * MS;
            recorded += usize::from(standstills.tick(now, true).is_some());
        }
        // 300 s of it.
        assert!((64..64 + 310).contains(&recorded), "{recorded}");
        now += 10_000 * MS;
        assert!(standstills.tick(now, true).is_some());
    }
}
