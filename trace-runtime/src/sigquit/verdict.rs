//! Whether a SIGQUIT was an ANR: judged at once by what is known here, and again once the system has
//! answered.
//!
//! The first verdict is made on the thread that learned of the signal, after its event is in the ring, and
//! the worker appends it. Only then is the system asked for its processes in error, for up to 20 s, on a
//! separate thread (`anrscope-polls`): a background ANR is killed meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use native_signal::{ErrorPolls, ErrorState, ErrorVote, Evidence, Identity, Judge, Judgement};
use trace_format::event::Sigquit;
use trace_format::section::SectionKind;
use trace_format::verdict::{Counters, Outcome, Policy, Verdict};

use crate::files::worker;
use crate::guard;
use crate::main_thread::main_at::MainAt;
use crate::main_thread::message_watch;
use crate::monitors::anr::snapshot;
use crate::monitors::app_state;
use crate::monitors::config::options::{self, Setting};
use crate::recorder::Recorder;
use crate::recorder::notice;
use crate::time::clock;
use crate::unpoisoned::lock;

/// The most sections for verdicts other than ANR in one process: a storm of SIGQUITs must not fill the
/// disk. ANRs need no limit, since the judge reports one per message, which lasts for seconds.
const MAX_OTHER_VERDICTS: u32 = 1_000;
/// The most signals that wait to be reconsidered. Each takes up to 20 s, and later ones are normally of the
/// same ANR.
const MAX_WAITING: usize = 4;
/// How long after [`note_self_requested_dump`] a signal from this process counts as the requested one. Main
/// may be unable to run meanwhile.
const SELF_REQUEST_NS: u64 = Judge::WINDOW_MS * 1_000_000;

/// The age from which the system's list says nothing about a signal, since it lists current errors only:
/// the duration of all polls and half as much again, because a busy device is slow, signals wait for each
/// other, and the device may sleep.
const MAX_AGE_NS: u64 = ErrorPolls::POLLS as u64 * ErrorPolls::INTERVAL.as_nanos() as u64 * 3 / 2;

static JUDGE_STATE: OnceLock<JudgeState> = OnceLock::new();
/// When this process last requested a dump; 0 for never.
static SELF_REQUESTED_AT: AtomicU64 = AtomicU64::new(0);
static SOURCE: Mutex<ErrorSource> = Mutex::new(ErrorSource { source: None, in_use: false, changes: 0 });
static POLLS: Mutex<Polls> = Mutex::new(Polls { waiting: Vec::new(), running: false });

struct JudgeState {
    /// The judge and its policy.
    judge: Mutex<(Policy, Judge)>,
    /// The policy at the start; the monitors' options may override it.
    policy: Policy,
    own: Identity,
    other_verdicts: AtomicU32,
}

/// A source of the system's processes in error, if there is one.
type Source = Option<Box<ErrorState>>;

#[derive(Default)]
struct ErrorSource {
    source: Source,
    /// The source is in use by the polling thread.
    in_use: bool,
    changes: u32,
}

impl ErrorSource {
    /// Sets another source, and returns the one before unless it is in use.
    fn set(&mut self, source: Source) -> Source {
        self.in_use = false;
        self.changes = self.changes.wrapping_add(1);
        std::mem::replace(&mut self.source, source)
    }

    /// Takes the source to use it, with the number that [`ErrorSource::put_back`] needs.
    fn take(&mut self) -> (Source, u32) {
        self.in_use = self.source.is_some();
        (self.source.take(), self.changes)
    }

    /// Puts a used source back, `None` if it panicked. Returns the source if another one was set meanwhile.
    fn put_back(&mut self, source: Source, changes: u32) -> Source {
        if self.changes != changes {
            return source;
        }
        self.in_use = false;
        std::mem::replace(&mut self.source, source)
    }
}

/// Signals that are to be reconsidered, and whether the polling thread is running.
struct Polls {
    waiting: Vec<PendingSignal>,
    running: bool,
}

/// A signal and what is known about it.
#[derive(Clone, Copy, Debug)]
struct PendingSignal {
    sigquit: Sigquit,
    evidence: Evidence,
    counters: Counters,
}

/// Sets the source of the system's processes in error; `None`, the default, for no source. On Android it is
/// `ActivityManager.getProcessesInErrorState()`.
///
/// It is called on the thread `anrscope-polls`, never on the main thread, and never before the first
/// verdict is in the file: after each SIGQUIT up to [`ErrorPolls::POLLS`] times, [`ErrorPolls::INTERVAL`]
/// apart. A source that panics is not called again. Any thread.
pub fn set_error_state_source(source: Option<Box<ErrorState>>) {
    let old = lock(&SOURCE).set(source);
    // Its destructor is foreign code, which may call this function.
    drop(old);
}

/// Starts judging signals.
pub(crate) fn start(policy: Policy) {
    let own = Identity { pid: std::process::id() as i32, uid: nix::unistd::getuid().as_raw() };
    let judge = Mutex::new((policy, Judge::new(policy, own)));
    let _ = JUDGE_STATE.set(JudgeState { judge, policy, own, other_verdicts: AtomicU32::new(0) });
}

/// Notes that this process is about to request a dump.
pub(crate) fn note_self_requested_dump() {
    SELF_REQUESTED_AT.store(clock::boottime(), Ordering::Relaxed);
}

/// Whether the signal that came at `at` may be a dump that this process requested.
pub(crate) fn may_be_self_requested(at: u64) -> bool {
    let asked = SELF_REQUESTED_AT.load(Ordering::Relaxed);
    asked > 0 && asked <= at && at - asked < SELF_REQUEST_NS
}

/// Judges a signal and has the verdict appended. `evidence` is what the signal alone shows.
pub(crate) fn judge(sigquit: Sigquit, evidence: Evidence, main: MainAt, counters: Counters) {
    let Some(state) = JUDGE_STATE.get() else { return };
    let message = Some(main.stuck_since).filter(|since| *since > 0);
    let evidence = Evidence {
        asked_by_us: evidence.si_pid == state.own.pid && may_be_self_requested(evidence.at_ns),
        foreground: app_state::foreground_if_known(),
        message,
        running_ms: main.running_ms,
        frozen_ms: message.map_or(0, |since| message_watch::frozen_ms(since, evidence.at_ns)),
        ..evidence
    };
    let signal = PendingSignal { sigquit, evidence, counters };
    let judgement = state.judge().1.judge(&evidence);
    if matches!(judgement.outcome, Outcome::Anr | Outcome::SuspectedAnr) {
        snapshot::sigquit(evidence.at_ns, main.stuck_since, judgement.outcome == Outcome::Anr);
    }
    let settled = judgement.outcome == Outcome::Duplicate || evidence.asked_by_us;
    if !state.append(&signal, &judgement, false) || settled {
        return;
    }
    let source = lock(&SOURCE);
    if source.source.is_some() || source.in_use {
        drop(source);
        // After the verdict in the worker's queue.
        worker::then(Box::new(move || reconsider_later(signal)));
    }
}

fn reconsider_later(signal: PendingSignal) {
    let mut polls = lock(&POLLS);
    if polls.waiting.len() >= MAX_WAITING {
        // The waiting ones are polled soon enough to cover this one.
        return;
    }
    polls.waiting.push(signal);
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
            notice(&format!("cannot ask the system for its error state: {error}"));
        }
    }
}

/// The next signal to reconsider; `None` ends the thread.
fn next_signal() -> Option<PendingSignal> {
    let mut polls = lock(&POLLS);
    if polls.waiting.is_empty() || Recorder::active().is_none() {
        polls.running = false;
        return None;
    }
    Some(polls.waiting.remove(0))
}

fn run_polls() {
    while let Some(mut signal) = next_signal() {
        if is_late(signal.evidence.at_ns, clock::boottime()) {
            continue;
        }
        let Some(state) = JUDGE_STATE.get() else { return };
        let (Some(mut source), changes) = lock(&SOURCE).take() else { continue };
        let pause = |interval| {
            pause(interval);
            Recorder::active().is_some() && !is_late(signal.evidence.at_ns, clock::boottime())
        };
        let polls = ErrorPolls::new(state.policy(), state.own);
        // The embedder's code may panic without ending the recording.
        let vote = catch_unwind(AssertUnwindSafe(|| polls.run(&mut source, pause)));
        // Destructors of sources are foreign code: none runs while the lock is held.
        let source = vote.is_ok().then_some(source);
        let replaced = lock(&SOURCE).put_back(source, changes);
        drop(replaced);
        match vote {
            Ok(ErrorVote::NotAsked) => {}
            Ok(vote) => {
                signal.evidence.errors = vote;
                let judgement = state.judge().1.reconsider(&signal.evidence);
                state.append(&signal, &judgement, true);
                if judgement.outcome == Outcome::Anr {
                    snapshot::confirmed(signal.evidence.at_ns, signal.sigquit.stuck_since);
                }
            }
            Err(_) => notice("the source of the error state panicked and is not called again"),
        }
    }
}

/// The judge uses the app's own limit for an ANR.
fn apply_options(judge: &mut Judge) {
    judge.set_anr_ms(options::number(Setting::AnrMs));
}

/// Waits for this long. It parks: ART's dump interrupts the sleeps of the threads it visits (EINTR), and on
/// Android 5.1.1 `thread::sleep` panicked then.
fn pause(interval: Duration) {
    let until = Instant::now() + interval;
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        thread::park_timeout(left);
    }
}

/// Whether by now the system's list may be about another ANR than that of a signal at `at`.
fn is_late(at: u64, now: u64) -> bool {
    now.saturating_sub(at) > MAX_AGE_NS
}

impl JudgeState {
    fn policy(&self) -> Policy {
        match options::number(Setting::Policy) {
            0 => self.policy,
            _ => Policy::Matrix,
        }
    }

    /// The judge for the current policy. A new judge knows nothing of earlier signals.
    fn judge(&self) -> MutexGuard<'_, (Policy, Judge)> {
        let mut judge = lock(&self.judge);
        let policy = self.policy();
        if judge.0 != policy {
            *judge = (policy, Judge::new(policy, self.own));
        }
        apply_options(&mut judge.1);
        judge
    }

    /// Has the worker append a verdict; false if there were too many.
    fn append(&self, signal: &PendingSignal, judgement: &Judgement, reconsidered: bool) -> bool {
        if !matches!(judgement.outcome, Outcome::Anr | Outcome::SuspectedAnr) {
            let before = self.other_verdicts.fetch_add(1, Ordering::Relaxed);
            if before == MAX_OTHER_VERDICTS {
                notice("no verdicts other than ANR are recorded from here on: there were 1000");
            }
            if before >= MAX_OTHER_VERDICTS {
                self.other_verdicts.store(MAX_OTHER_VERDICTS + 1, Ordering::Relaxed);
                return false;
            }
        }
        let PendingSignal { sigquit, evidence, counters } = *signal;
        let verdict = Verdict {
            sigquit,
            reconsidered,
            policy: self.policy(),
            outcome: judgement.outcome,
            confidence: judgement.confidence,
            sender: self.own.sender(evidence.si_pid, evidence.si_uid),
            foreground: evidence.foreground,
            counters,
            reasons: judgement.reasons.clone(),
        };
        worker::append(SectionKind::Verdict, verdict.encode());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_list_says_nothing_about_a_signal_of_half_a_minute_ago() {
        let at = 7_000_000_000;
        assert!(!is_late(at, at + 20_500_000_000) && !is_late(at, at - 1));
        assert!(is_late(at, at + 30_000_000_001));
    }

    fn source(pid: i32) -> Source {
        Some(Box::new(move || vec![native_signal::ProcessInError { pid, uid: 10_123, not_responding: true }]))
    }

    /// Which source it is, by the process that it lists.
    fn listed(source: &mut Source) -> Option<i32> {
        source.as_mut().map(|source| source()[0].pid)
    }

    #[test]
    fn a_source_that_is_replaced_while_it_is_in_use_does_not_return() {
        let mut slot = ErrorSource::default();
        assert!(slot.take().0.is_none() && !slot.in_use, "nothing is in use without a source");
        slot.set(source(1));
        let (first, changes) = slot.take();
        assert!(slot.in_use && first.is_some() && slot.set(source(2)).is_none());
        assert_eq!(listed(&mut slot.put_back(first, changes)), Some(1), "dropped by the caller");
        assert_eq!((listed(&mut slot.source), slot.in_use), (Some(2), false));
        let (second, changes) = slot.take();
        assert!(slot.put_back(second, changes).is_none());
        assert_eq!((listed(&mut slot.source), slot.in_use), (Some(2), false));
    }

    #[test]
    fn a_source_that_panicked_is_not_put_back() {
        let mut slot = ErrorSource::default();
        slot.set(source(1));
        let (_panicked, changes) = slot.take();
        assert!(slot.put_back(None, changes).is_none());
        assert!(slot.source.is_none() && !slot.in_use && slot.take().0.is_none());
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
    fn a_signal_counts_as_self_requested_while_main_may_be_unable_to_run() {
        let before = clock::boottime();
        assert!(!may_be_self_requested(before));
        note_self_requested_dump();
        let now = clock::boottime();
        assert!(may_be_self_requested(now) && !may_be_self_requested(before - 1));
        assert!(!may_be_self_requested(now + SELF_REQUEST_NS + 1));
    }
}
