//! What a SIGQUIT was: judged at once by what is known here, and once more when the system was asked.
//!
//! The first verdict is made on the thread that learned of the signal, after its event is in the ring, and appended
//! by the worker. Only when that is done are the system's processes in error asked for, for up to 20 s, on a thread
//! of its own (`anrscope-polls`): a background ANR is killed meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use native_signal::{ErrorPolls, ErrorState, ErrorVote, Evidence, Identity, Judge, Judgement};
use trace_format::event::Sigquit;
use trace_format::section::SectionKind;
use trace_format::verdict::{Counters, Outcome, Policy, Verdict};

use crate::files::worker;
use crate::guard;
use crate::main_thread::watch;
use crate::monitors::options::{self, Number};
use crate::monitors::snapshot;
use crate::recorder::Recorder;
use crate::recorder::notice;
use crate::time::clock;

/// Verdicts that are no ANRs and get a section, in the life of a process: a storm of SIGQUITs must not fill the disk.
/// ANRs need no limit: the judge tells one a message, and that lasts for seconds.
const MAX_NO_ANR: u32 = 1_000;
/// Signals that wait to be reconsidered. Each takes up to 20 s, and those behind are of the same ANR as a rule.
const MAX_WAITING: usize = 4;
/// How long after [`asking`] a signal of our own is the one that was asked for. Main may be unable to run meanwhile.
const ASKED_NS: u64 = Judge::WINDOW_MS * 1_000_000;

/// The system's list is about what happens now: of a signal older than this it says nothing. The time of all polls and as much again
/// as a busy device takes longer; a signal waits meanwhile, and the device may sleep.
const LATEST_NS: u64 = ErrorPolls::POLLS as u64 * ErrorPolls::INTERVAL.as_nanos() as u64 * 3 / 2;

static COURT: OnceLock<Court> = OnceLock::new();
static GROUND: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const BACKGROUND: u8 = 1;
const FOREGROUND: u8 = 2;
/// When we last asked for a dump ourselves; 0 for never.
static ASKED: AtomicU64 = AtomicU64::new(0);
static SOURCE: Mutex<ErrorSource> = Mutex::new(ErrorSource { source: None, asked: false, changes: 0 });
static POLLS: Mutex<Polls> = Mutex::new(Polls { waiting: Vec::new(), running: false });

struct Court {
    /// By which policy it judges, and itself.
    judge: Mutex<(Policy, Judge)>,
    /// As the start has it; the monitors' options may say otherwise.
    policy: Policy,
    own: Identity,
    no_anrs: AtomicU32,
}

#[derive(Default)]
struct ErrorSource {
    source: Option<Box<dyn ErrorState + Send>>,
    /// It is out, being asked.
    asked: bool,
    changes: u32,
}

/// Signals that are to be reconsidered, and whether the thread for that is there.
struct Polls {
    waiting: Vec<Case>,
    running: bool,
}

/// A signal and what is known about it.
#[derive(Clone, Copy, Debug)]
struct Case {
    sigquit: Sigquit,
    evidence: Evidence,
    counters: Counters,
}

/// What main was doing at a moment, by our own record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MainAt {
    /// Begin of its message; 0 if it was in none, or nothing is known.
    pub(crate) stuck_since: u64,
    /// How long it had been in that; `None` if nothing is known.
    pub(crate) running_ms: Option<u64>,
}

impl MainAt {
    /// From what [`Recorder::message_since`] holds.
    pub(crate) fn new(message_since: u64, at: u64) -> Self {
        match message_since {
            Recorder::NO_LOOPER => Self { stuck_since: 0, running_ms: None },
            // Between two messages, or in one that began after the moment.
            since if since == 0 || since > at => Self { stuck_since: 0, running_ms: Some(0) },
            since => Self { stuck_since: since, running_ms: Some((at - since) / 1_000_000) },
        }
    }
}

/// Says whether the app is in the foreground: whether one of its activities is resumed. Until it is said, that is
/// not known, and only a main that is late by the background's 10 s counts as stuck. Any thread; one store.
pub fn set_foreground(foreground: bool) {
    GROUND.store(if foreground { FOREGROUND } else { BACKGROUND }, Ordering::Relaxed);
}

/// Says whom to ask for the system's processes in error; `None`: nobody, as it is from the start. On Android that is
/// `ActivityManager.getProcessesInErrorState()`.
///
/// It is asked on the thread `anrscope-polls`, never on the main thread and never before what is known without it is
/// in the file: after each SIGQUIT up to [`ErrorPolls::POLLS`] times, [`ErrorPolls::INTERVAL`] apart. A source that
/// panics is asked no more. Any thread.
pub fn set_error_state_source(source: Option<Box<dyn ErrorState + Send>>) {
    let mut slot = error_source();
    let old = std::mem::replace(&mut slot.source, source);
    slot.asked = false;
    slot.changes = slot.changes.wrapping_add(1);
    // Its destructor is not ours, and may call us.
    drop(slot);
    drop(old);
}

fn error_source() -> MutexGuard<'static, ErrorSource> {
    SOURCE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn polls() -> MutexGuard<'static, Polls> {
    POLLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on signals are judged.
pub(crate) fn start(policy: Policy) {
    let own = Identity { pid: std::process::id() as i32, uid: nix::unistd::getuid().as_raw() };
    let judge = Mutex::new((policy, Judge::new(policy, own)));
    let _ = COURT.set(Court { judge, policy, own, no_anrs: AtomicU32::new(0) });
}

/// Notes that a dump is about to be asked for.
pub(crate) fn asking() {
    ASKED.store(clock::boottime(), Ordering::Relaxed);
}

/// Whether a dump that was asked for by us may be what came at `at`.
pub(crate) fn asked_before(at: u64) -> bool {
    let asked = ASKED.load(Ordering::Relaxed);
    asked > 0 && asked <= at && at - asked < ASKED_NS
}

/// Judges a signal and has the verdict appended. `evidence` is what the signal alone tells.
pub(crate) fn judge(sigquit: Sigquit, evidence: Evidence, main: MainAt, counters: Counters) {
    let Some(court) = COURT.get() else { return };
    let evidence = Evidence {
        asked_by_us: evidence.si_pid == court.own.pid && asked_before(evidence.at_ns),
        foreground: match GROUND.load(Ordering::Relaxed) {
            FOREGROUND => Some(true),
            BACKGROUND => Some(false),
            _ => None,
        },
        message: (main.stuck_since > 0).then_some(main.stuck_since),
        running_ms: main.running_ms,
        frozen_ms: if main.stuck_since > 0 { watch::frozen_ms(main.stuck_since, evidence.at_ns) } else { 0 },
        ..evidence
    };
    let case = Case { sigquit, evidence, counters };
    let judgement = court.judge().1.judge(&evidence);
    if matches!(judgement.outcome, Outcome::Anr | Outcome::SuspectedAnr) {
        snapshot::sigquit(evidence.at_ns, main.stuck_since, judgement.outcome == Outcome::Anr);
    }
    let settled = judgement.outcome == Outcome::Duplicate || evidence.asked_by_us;
    if !court.append(&case, &judgement, false) || settled {
        return;
    }
    let source = error_source();
    if source.source.is_some() || source.asked {
        drop(source);
        // Behind the verdict in the worker's queue.
        worker::then(Box::new(move || reconsider_later(case)));
    }
}

fn reconsider_later(case: Case) {
    let mut polls = polls();
    if polls.waiting.len() >= MAX_WAITING {
        // The ones that wait are asked about soon enough to speak for this one.
        return;
    }
    polls.waiting.push(case);
    if polls.running {
        return;
    }
    let thread = native_signal::spawn_quiet("anrscope-polls", || {
        guard::disarm_on_panic(run_polls);
    });
    match thread {
        Ok(_) => polls.running = true,
        Err(error) => {
            polls.waiting.clear();
            notice(&format!("the system is not asked for its error state: {error}"));
        }
    }
}

/// The next case, or the end of the thread.
fn next_case() -> Option<Case> {
    let mut polls = polls();
    if polls.waiting.is_empty() || Recorder::active().is_none() {
        polls.running = false;
        return None;
    }
    Some(polls.waiting.remove(0))
}

fn run_polls() {
    while let Some(mut case) = next_case() {
        if is_late(case.evidence.at_ns, clock::boottime()) {
            continue;
        }
        let Some(court) = COURT.get() else { return };
        let (source, changes) = {
            let mut slot = error_source();
            slot.asked = true;
            (slot.source.take(), slot.changes)
        };
        let Some(mut source) = source else { continue };
        let pause = |interval| {
            pause(interval);
            Recorder::active().is_some() && !is_late(case.evidence.at_ns, clock::boottime())
        };
        let polls = ErrorPolls::new(court.policy(), court.own);
        // What the embedder gave us may fail without taking the recording along.
        let vote = catch_unwind(AssertUnwindSafe(|| polls.run(source.as_mut(), pause)));
        {
            let mut slot = error_source();
            if slot.changes == changes {
                slot.asked = false;
                slot.source = vote.is_ok().then_some(source);
            }
        }
        match vote {
            Ok(ErrorVote::NotAsked) => {}
            Ok(vote) => {
                case.evidence.errors = vote;
                let judgement = court.judge().1.reconsider(&case.evidence);
                court.append(&case, &judgement, true);
                if judgement.outcome == Outcome::Anr {
                    snapshot::confirmed(case.evidence.at_ns, case.sigquit.stuck_since);
                }
            }
            Err(_) => notice("the source of the error state panicked and is asked no more"),
        }
    }
}

/// The app's own limit for an ANR is the judge's, too.
fn apply_options(judge: &mut Judge) {
    judge.set_anr_ms(options::number(Number::AnrMs));
}

/// Sleeps. Not with `thread::sleep`: ART's dump interrupts the sleeps of the threads it visits (EINTR), and on Android 5.1.1 that panicked.
fn pause(interval: Duration) {
    let until = Instant::now() + interval;
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        thread::park_timeout(left);
    }
}

/// Whether the system's list may speak of another ANR by now than that of a signal at `at`.
fn is_late(at: u64, now: u64) -> bool {
    now.saturating_sub(at) > LATEST_NS
}

impl Court {
    fn policy(&self) -> Policy {
        match options::number(Number::Policy) {
            0 => self.policy,
            _ => Policy::Matrix,
        }
    }

    /// A judge of another policy knows nothing of earlier signals.
    fn judge(&self) -> MutexGuard<'_, (Policy, Judge)> {
        let mut judge = self.judge.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = self.policy();
        if judge.0 != policy {
            *judge = (policy, Judge::new(policy, self.own));
        }
        apply_options(&mut judge.1);
        judge
    }

    /// Has the worker append a verdict; false if there were too many.
    fn append(&self, case: &Case, judgement: &Judgement, reconsidered: bool) -> bool {
        if !matches!(judgement.outcome, Outcome::Anr | Outcome::SuspectedAnr) {
            let before = self.no_anrs.fetch_add(1, Ordering::Relaxed);
            if before == MAX_NO_ANR {
                notice("SIGQUITs that are no ANRs get no verdict from here on: there were 1000");
            }
            if before >= MAX_NO_ANR {
                self.no_anrs.store(MAX_NO_ANR + 1, Ordering::Relaxed);
                return false;
            }
        }
        let Case { sigquit, evidence, counters } = *case;
        let verdict = Verdict {
            sigquit,
            reconsidered,
            policy: self.policy(),
            outcome: judgement.outcome,
            confidence: judgement.confidence,
            sender: self.own.sender(evidence.si_pid, evidence.si_uid),
            foreground: evidence.foreground,
            counters,
            reasons: judgement.reasons.iter().map(Into::into).collect(),
        };
        worker::append(SectionKind::Verdict, verdict.encode());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_is_known_only_where_there_is_a_looper() {
        let at = 5_000_000_000;
        let main = |since| MainAt::new(since, at);
        assert_eq!(main(Recorder::NO_LOOPER), MainAt { stuck_since: 0, running_ms: None });
        assert_eq!(main(0), MainAt { stuck_since: 0, running_ms: Some(0) });
        let since = 2_000_000_000;
        assert_eq!(main(since), MainAt { stuck_since: since, running_ms: Some(3_000) });
        assert_eq!(main(at + 1), MainAt { stuck_since: 0, running_ms: Some(0) }, "it began after the signal");
    }

    #[test]
    fn the_systems_list_speaks_of_no_signal_of_half_a_minute_ago() {
        let at = 7_000_000_000;
        assert!(!is_late(at, at + 20_500_000_000) && !is_late(at, at - 1));
        assert!(is_late(at, at + 30_000_000_001));
    }

    #[test]
    fn an_app_that_sets_anr_ms_gets_that_limit_for_signals() {
        let outcome = |running_ms| {
            let mut judge = Judge::new(Policy::Anrscope, Identity { pid: 4321, uid: 10_123 });
            apply_options(&mut judge);
            let evidence = Evidence {
                si_pid: 1234,
                si_uid: 1000,
                foreground: Some(true),
                running_ms: Some(running_ms),
                ..Evidence::default()
            };
            judge.judge(&evidence).outcome
        };
        assert_eq!((outcome(4_999), outcome(5_000)), (Outcome::SuspectedAnr, Outcome::Anr));
        options::set("anr_ms", "8000").unwrap();
        let found = (outcome(7_999), outcome(8_000));
        options::set("anr_ms", "5000").unwrap();
        assert_eq!(found, (Outcome::SuspectedAnr, Outcome::Anr));
    }

    #[test]
    fn a_signal_is_ours_for_as_long_as_main_may_have_been_unable_to_run() {
        let before = clock::boottime();
        assert!(!asked_before(before));
        asking();
        let now = clock::boottime();
        assert!(asked_before(now) && !asked_before(before - 1));
        assert!(!asked_before(now + ASKED_NS + 1));
    }
}
