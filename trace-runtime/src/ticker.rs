//! The thread that keeps the time word fresh, the clocks right and the blocks ahead of main touched, as long as anybody
//! records, and sleeps when nobody does.
//!
//! It ticks every millisecond in coarse mode and every [`PRECISE_TICK`] in precise mode. Every [`LEASE`] it closes the
//! [time word](crate::time::time_word) for a tick; if nobody opens it meanwhile, nobody records, and it sleeps until
//! somebody does. An end of a main-thread message ends the lease at once.

use std::sync::atomic::Ordering;
use std::time::Duration;

use trace_format::event::{Clocks, Event};
use trace_format::word;

use crate::guard;
use crate::monitors::outermost;
use crate::recorder::{self, Recorder};
use crate::sigquit::sensing;
use crate::time::coarse::{self, MAIN_DOOR, TIME};
use crate::time::cycles::{Calibrator, Finding};
use crate::time::time_word::Pace;
use crate::time::{self, clock};
use crate::writing::{budget, cost};

/// How fresh coarse time is.
const COARSE_TICK: Duration = Duration::from_millis(1);
/// In precise mode the clock is compared and blocks are touched ahead, no more.
const PRECISE_TICK: Duration = Duration::from_millis(20);
/// How long it ticks on after somebody has recorded.
const LEASE: u64 = 100_000_000;
/// How long a heartbeat goes on after the last event, ns: longer than the longest of Android's ANR timeouts
/// (20 s for a foreground service), so that a hang of that length is known in full.
const HEARTBEAT_AFTER: u64 = 30_000_000_000;
/// Clock comparisons lie this far apart, ns.
const CHECK: u64 = clock::CHECK_MS as u64 * 1_000_000;

/// Starts the thread. With a heartbeat it notes that the process is alive, for half a minute after the last event.
pub(crate) fn start(recorder: &'static Recorder, heartbeat: Option<Duration>) -> std::io::Result<()> {
    let handle = native_signal::spawn_quiet("anrscope-ticker", move || {
        guard::disarm_on_panic(|| Ticker::new(recorder, heartbeat).run());
    })?;
    coarse::keep_awake(handle.thread().clone());
    Ok(())
}

struct Ticker {
    recorder: &'static Recorder,
    heartbeat: Option<Duration>,
    calibrator: Calibrator,
    known: Clocks,
    checked: u64,
    /// Somebody recorded at about this time.
    active: u64,
    /// The word was closed to see whether somebody opens it.
    probing: bool,
    /// What recording costs was measured.
    measured: bool,
    /// The next number of forgotten lock holders that is told.
    pushed_out_told: u64,
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
            active: now,
            probing: false,
            measured: false,
            pushed_out_told: 1,
        }
    }

    fn run(mut self) {
        prefer();
        // The counter's first reading; the second one, a check later, brings it into use.
        let finding = self.calibrator.check();
        self.tell(finding);
        while Recorder::active().is_some() {
            let now = time::now();
            TIME.tick(now);
            MAIN_DOOR.tick(TIME.high.load(Ordering::SeqCst), word::MAX_GAP);
            self.recorder.touch_ahead();
            if now.saturating_sub(self.checked) >= CHECK {
                self.check();
            }
            if !self.probing {
                if coarse::has_message_ended() || now.saturating_sub(self.active) >= LEASE {
                    TIME.close();
                    MAIN_DOOR.close();
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
            std::thread::park_timeout(if coarse { COARSE_TICK } else { PRECISE_TICK });
        }
    }

    /// Nobody records: sleeps until somebody does, waking for the heartbeat as long as there is one.
    fn rest(&mut self) {
        // What was written since the last check is there by now, and nobody may write for long.
        outermost::look_soon();
        while TIME.fall_asleep() {
            let heartbeat = self.heartbeat.filter(|_| clock::boottime() - self.active < HEARTBEAT_AFTER);
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
    }

    fn check(&mut self) {
        let finding = self.calibrator.check();
        self.tell(finding);
        if !self.measured {
            self.measured = true;
            cost::measure_and_tell();
        }
        self.checked = clock::boottime();
        outermost::look_soon();
        if self.heartbeat.is_some() {
            self.recorder.alive(self.checked);
            // Where there is no Looper, nobody else looks.
            sensing::check_displaced(self.checked);
        }
        self.note_clock_step();
        budget::check(self.recorder);
        let pushed_out = self.recorder.owners.pushed_out();
        // At 1, 2, 4...: a table under pressure is told in a few words, not in thousands.
        if pushed_out >= self.pushed_out_told {
            self.pushed_out_told = (pushed_out + 1).next_power_of_two();
            recorder::notice(&format!(
                "more locks are held than the table of holders has room for: {pushed_out} holders are unknown so far"
            ));
        }
    }

    fn tell(&self, finding: Finding) {
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

    /// Deep sleep moves BOOTTIME against MONOTONIC: a reader that has only the first pair would place MONOTONIC
    /// times wrongly from here on. A step of REALTIME is somebody setting the clock.
    fn note_clock_step(&mut self) {
        let now = clock::all();
        let ahead = |c: &Clocks| c.boottime.wrapping_sub(c.monotonic) as i64;
        let wall = |c: &Clocks| c.realtime.wrapping_sub(c.boottime) as i64;
        if ahead(&now).abs_diff(ahead(&self.known)) > clock::NOISE
            || wall(&now).abs_diff(wall(&self.known)) > WALL_STEP
        {
            self.recorder.service(&Event::Clock(now));
            self.known = now;
        }
    }
}

/// REALTIME may move by this much against BOOTTIME until it is told: slewing is no step.
const WALL_STEP: u64 = 100_000_000;

/// A late tick is wrong time for everybody. Where a thread may not have a better priority it stays where it is.
fn prefer() {
    // SAFETY: changes the calling thread's priority only (man 2 setpriority: on Linux `who` is a thread).
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -8) };
}
