//! The thread `anrscope-stacks`: when a stack is captured, and whose.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use native_signal::capture::{Capture, Reason, Refusal, Slot};
use trace_format::native_slot::{self, at};

use super::watched::{self, Watch};
use super::{sections, start_thread};
use crate::files::worker;
use crate::monitors::config::options::{self, Setting, number};
use crate::recorder::{Recorder, notice};
use crate::time::clock;

/// The most captures of a recording.
const MAX_CAPTURES: u32 = 4_000;
/// The most owners that are captured after the thread that waits: its lock's owner, the owner of the lock that one waits for, ...
const MAX_OWNERS: usize = native_slot::SLOTS - 1;
/// The most owners of which the names are recorded.
const MAX_NAMED: usize = 64;
/// Owners are captured again after this time, ns.
const OWNERS_AGAIN_NS: u64 = 1_000_000_000;
/// After this many captures in a row that main did not answer, none is tried until its next stall.
const MAX_UNANSWERED: u32 = 3;
/// The longest wait for a capture under way, longer than any takes.
const SETTLED: Duration = Duration::from_millis(400);
const SETTLE_STEP: Duration = Duration::from_millis(2);

static STARTED: AtomicBool = AtomicBool::new(false);
static THREAD: OnceLock<Thread> = OnceLock::new();
/// When the message began in which a stack of main is due; 0 for none.
static STALLED_SINCE: AtomicU64 = AtomicU64::new(0);
/// A SIGQUIT came.
static SIGQUIT: AtomicBool = AtomicBool::new(false);
/// A capture of main was requested, and is not finished.
static UNDER_WAY: AtomicBool = AtomicBool::new(false);

/// Whether native stacks are captured.
pub(crate) fn is_enabled() -> bool {
    options::is_enabled(Setting::NativeStacks)
}

/// Applies the options. A file that is created later has slots for captures; beside an older one they are in memory.
pub(crate) fn options_changed() {
    worker::set_native_slots(if is_enabled() { native_slot::SLOTS as u32 } else { 0 });
    if is_enabled() {
        start();
    }
}

/// Starts the thread, on the worker.
pub(crate) fn start() {
    if Recorder::active().is_none() {
        return;
    }
    if STARTED.swap(true, Ordering::AcqRel) {
        wake();
        return;
    }
    worker::then(Box::new(|| {
        let run = || Capturing::default().run();
        if let Some(thread) = start_thread("anrscope-stacks", "no native stacks", run) {
            let _ = THREAD.set(thread);
            wake();
        }
    }));
}

fn wake() {
    if let Some(thread) = THREAD.get() {
        thread.unpark();
    }
}

/// Requests a capture of main, which has been in its message since `since_ns`. On the timer thread.
pub(crate) fn stalled(since_ns: u64) {
    STALLED_SINCE.store(since_ns, Ordering::Release);
    request();
}

/// Requests a capture of main because of a SIGQUIT. Not in a signal handler.
pub(crate) fn sigquit() {
    if is_enabled() {
        SIGQUIT.store(true, Ordering::Release);
        request();
    }
}

fn request() {
    if THREAD.get().is_some() {
        UNDER_WAY.store(true, Ordering::Release);
        wake();
    }
}

/// Waits for the captures of main that were requested before, for [`SETTLED`] at most.
pub(crate) fn settle() {
    let mut waited = Duration::ZERO;
    while UNDER_WAY.load(Ordering::Acquire) && waited < SETTLED {
        thread::sleep(SETTLE_STEP);
        waited += SETTLE_STEP;
    }
}

/// State of the thread.
#[derive(Default)]
struct Capturing {
    /// `None` before the first try to install the handler, then its result.
    capture: Option<Option<&'static Capture>>,
    watch: Watch,
    taken: u32,
    /// Captures of main in a row that it did not answer, and the message that it was in.
    unanswered: (u32, u64),
    /// The message in which owners were captured, and when.
    owners: (u64, u64),
    reported: Vec<Refusal>,
    /// Owners of which the names are recorded.
    named: Vec<u32>,
}

impl Capturing {
    fn run(mut self) {
        while let Some(recorder) = Recorder::active() {
            self.main(recorder);
            let interval_ns = number(Setting::NativeStackIntervalMs) * 1_000_000;
            let mut late = Vec::new();
            self.watch.poll(clock::boottime(), interval_ns, |tid| late.push(tid));
            for tid in late {
                let owner = self.take(recorder, tid, Reason::MissedBeat);
                self.owners(recorder, tid, owner.flatten());
            }
            match self.watch.pause() {
                Some(pause) => thread::park_timeout(pause),
                None => thread::park(),
            }
        }
    }

    /// Installs the signal's handler, once: at the first capture, when all options are known.
    fn install(&mut self) -> Option<&'static Capture> {
        *self.capture.get_or_insert_with(|| {
            let signal = i32::try_from(number(Setting::NativeStackSignal)).ok().filter(|signal| *signal > 0);
            match Capture::install(signal) {
                Ok(capture) => Some(capture),
                Err(error) => {
                    notice(&["no native stacks: ", &error.to_string()].concat());
                    None
                }
            }
        })
    }

    /// Captures main, and who owns what it waits for, if that was requested.
    fn main(&mut self, recorder: &Recorder) {
        let signalled = SIGQUIT.swap(false, Ordering::AcqRel);
        let since = STALLED_SINCE.swap(0, Ordering::AcqRel);
        let message = recorder.message_since.load(Ordering::Relaxed);
        // A main that goes on is left alone.
        let stalled = since != 0 && since == message;
        let reason = if signalled { Reason::Sigquit } else { Reason::Stall };
        if signalled || stalled {
            if self.unanswered.1 != message {
                self.unanswered = (0, message);
            }
            if self.unanswered.0 < MAX_UNANSWERED {
                let owner = self.take(recorder, recorder.main_tid, reason).flatten();
                let owner = owner.or_else(|| recorder.owner_for_main());
                let now = clock::boottime();
                let (before, at) = self.owners;
                if signalled || before != message || now.saturating_sub(at) >= OWNERS_AGAIN_NS {
                    self.owners = (message, now);
                    self.owners(recorder, recorder.main_tid, owner);
                }
            }
        }
        // A request that came meanwhile is served at once: its wake-up is kept.
        if STALLED_SINCE.load(Ordering::Acquire) == 0 && !SIGQUIT.load(Ordering::Acquire) {
            UNDER_WAY.store(false, Ordering::Release);
        }
    }

    /// Captures the owner of the lock that `waiter` waits for, the owner of the lock which that one waits for, and so on.
    fn owners(&mut self, recorder: &Recorder, waiter: u32, owner: Option<u32>) {
        let mut captured = vec![waiter];
        let mut next = owner;
        while let Some(owner) = next.filter(|owner| !captured.contains(owner)) {
            if captured.len() > MAX_OWNERS {
                return;
            }
            captured.push(owner);
            let taken = self.take(recorder, owner, Reason::LockOwner);
            let is_new = owner != recorder.main_tid && !self.named.contains(&owner);
            if taken.is_some() && is_new && self.named.len() < MAX_NAMED {
                // A thread that records nothing has no name in the recording otherwise.
                self.named.push(owner);
                notice(&[&watched::named(owner), " owns a lock that a stalled thread waits for"].concat());
            }
            next = taken.flatten();
        }
    }

    /// Captures a thread. Returns the owner of the mutex that it waits for, as far as that is known; `None` without a capture.
    fn take(&mut self, recorder: &Recorder, tid: u32, reason: Reason) -> Option<Option<u32>> {
        if !is_enabled() || self.taken > MAX_CAPTURES {
            return None;
        }
        let capture = self.install()?;
        if self.taken == MAX_CAPTURES {
            self.taken += 1;
            notice("no more native stacks are captured: the recording has the most it may have");
            return None;
        }
        let slot = free_slot(recorder)?;
        let main = tid == recorder.main_tid;
        match capture.take(tid, reason, &slot) {
            Ok(_) => {
                self.taken += 1;
                if main {
                    self.unanswered.0 = 0;
                }
                // SAFETY: inside of the slot, aligned to 8 bytes, and mapped for the process's life; while the slot is full no code changes it.
                let owner = unsafe { slot.memory().add(at::OWNER).cast::<u64>().read() };
                sections::move_from(slot);
                Some(u32::try_from(owner).ok().filter(|owner| *owner != 0))
            }
            Err(refusal) => {
                self.refused(refusal, main);
                None
            }
        }
    }

    fn refused(&mut self, refusal: Refusal, main: bool) {
        match refusal {
            // They end, and are captured elsewhere.
            Refusal::NoThread | Refusal::Busy | Refusal::OwnThread => return,
            Refusal::TimedOut if main => self.unanswered.0 += 1,
            Refusal::HandlerReplaced | Refusal::ForkedChild => self.capture = Some(None),
            _ => {}
        }
        if !self.reported.contains(&refusal) && self.reported.len() < 8 {
            self.reported.push(refusal);
            notice(&["no native stack: ", &refusal.to_string()].concat());
        }
    }
}

/// A slot that holds no capture, in the file if it has slots.
fn free_slot(recorder: &Recorder) -> Option<Slot> {
    /// Slots for a recording without a file, or with one that has no room for them. A kill loses what is only here.
    static IN_MEMORY: OnceLock<Vec<Slot>> = OnceLock::new();
    let mut in_file = recorder.native_slots().peekable();
    if in_file.peek().is_some() {
        // SAFETY: the recorder gives slots of the file, which is never unmapped and starts on a page; only slots access them.
        return in_file.map(|memory| unsafe { Slot::new(memory) }).find(Slot::is_free);
    }
    let in_memory = IN_MEMORY.get_or_init(|| {
        let words = vec![0_u64; native_slot::LEN / size_of::<u64>() * native_slot::SLOTS].leak();
        let slots = words.chunks_exact_mut(native_slot::LEN / size_of::<u64>());
        // SAFETY: each is that long, aligned to 8 bytes, never freed, and used for nothing else.
        slots.map(|slot| unsafe { Slot::new(std::ptr::NonNull::from(slot).cast()) }).collect()
    });
    in_memory.iter().copied().find(Slot::is_free)
}
