//! What a SIGQUIT was: judged at once by what is known here, and once more when the system was asked.
//!
//! The first verdict is made on the thread that learned of the signal, after its event is in the ring, and appended
//! by the worker. Only when that is done are the system's processes in error asked for, for up to 20 s, on a thread
//! of its own (`anrscope-polls`): a background ANR is killed meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use native_signal::{
    Confidence, Counters, ErrorPolls, ErrorState, ErrorVote, Evidence, Identity, Judge, Judgement, Policy,
    Reason, Sender, Verdict,
};
use trace_format::event::Sigquit;
use trace_format::section::SectionKind;
use trace_format::verdict as format;

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
        foreground: app_state::foreground_if_known(),
        message: (main.stuck_since > 0).then_some(main.stuck_since),
        running_ms: main.running_ms,
        frozen_ms: if main.stuck_since > 0 {
            message_watch::frozen_ms(main.stuck_since, evidence.at_ns)
        } else {
            0
        },
        ..evidence
    };
    let case = Case { sigquit, evidence, counters };
    let judgement = court.judge().1.judge(&evidence);
    if matches!(judgement.verdict, Verdict::Anr | Verdict::SuspectedAnr) {
        snapshot::sigquit(evidence.at_ns, main.stuck_since, judgement.verdict == Verdict::Anr);
    }
    let settled = judgement.verdict == Verdict::Duplicate || evidence.asked_by_us;
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
            thread::sleep(interval);
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
                if judgement.verdict == Verdict::Anr {
                    snapshot::confirmed(case.evidence.at_ns, case.sigquit.stuck_since);
                }
            }
            Err(_) => notice("the source of the error state panicked and is asked no more"),
        }
    }
}

/// Whether the system's list may speak of another ANR by now than that of a signal at `at`.
fn is_late(at: u64, now: u64) -> bool {
    now.saturating_sub(at) > LATEST_NS
}

impl Court {
    fn policy(&self) -> Policy {
        match options::number(Setting::Policy) {
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
        judge
    }

    /// Has the worker append a verdict; false if there were too many.
    fn append(&self, case: &Case, judgement: &Judgement, reconsidered: bool) -> bool {
        if !matches!(judgement.verdict, Verdict::Anr | Verdict::SuspectedAnr) {
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
        let verdict = format::Verdict {
            sigquit,
            reconsidered,
            policy: match self.policy() {
                Policy::Anrscope => format::Policy::Anrscope,
                Policy::Matrix => format::Policy::Matrix,
            },
            outcome: match judgement.verdict {
                Verdict::Anr => format::Outcome::Anr,
                Verdict::SuspectedAnr => format::Outcome::SuspectedAnr,
                Verdict::SomebodyElses => format::Outcome::SomebodyElses,
                Verdict::DumpRequested => format::Outcome::DumpRequested,
                Verdict::Duplicate => format::Outcome::Duplicate,
                Verdict::Unknown => format::Outcome::Unknown,
            },
            confidence: match judgement.confidence {
                Confidence::Low => format::Confidence::Low,
                Confidence::Medium => format::Confidence::Medium,
                Confidence::High => format::Confidence::High,
            },
            sender: match Sender::of(evidence.si_pid, evidence.si_uid, self.own) {
                Sender::Ourselves => format::Sender::Ourselves,
                Sender::System => format::Sender::System,
                Sender::Root => format::Sender::Root,
                Sender::Shell => format::Sender::Shell,
                Sender::OwnApp { .. } => format::Sender::OwnApp,
                Sender::OtherApp { .. } => format::Sender::OtherApp,
                Sender::Unknown { .. } => format::Sender::Unknown,
            },
            foreground: evidence.foreground,
            counters: format::Counters {
                sensed: counters.sensed,
                forwarded: counters.forwarded,
                failed: counters.failed,
                merged: counters.merged,
                rescued: counters.rescued,
            },
            reasons: judgement.reasons.iter().map(reason).collect(),
        };
        worker::append(SectionKind::Verdict, verdict.encode());
        true
    }
}

fn reason(reason: &Reason) -> format::Reason {
    let code = match reason {
        Reason::SentBy(_) => "sent-by",
        Reason::AskedByUs => "asked-by-us",
        Reason::MainStuck { .. } => "main-stuck",
        Reason::MainLate { .. } => "main-late",
        Reason::MainInTime { .. } => "main-in-time",
        Reason::Frozen { .. } => "frozen",
        Reason::MainUnknown => "main-unknown",
        Reason::ErrorStateOurs { .. } => "error-state-ours",
        Reason::ErrorStateSomebodyElses { .. } => "error-state-somebody-elses",
        Reason::ErrorStateEmpty => "error-state-empty",
        Reason::ErrorStateNotAsked => "error-state-not-asked",
        Reason::Signal35 => "signal-35",
        Reason::HeadBlocked { .. } => "head-blocked",
        Reason::HeadNotBlocked(_) => "head-not-blocked",
        Reason::SameAs { .. } => "same-as",
    };
    format::Reason { code: code.to_owned(), text: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_list_speaks_of_no_signal_of_half_a_minute_ago() {
        let at = 7_000_000_000;
        assert!(!is_late(at, at + 20_500_000_000) && !is_late(at, at - 1));
        assert!(is_late(at, at + 30_000_000_001));
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
