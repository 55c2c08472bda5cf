//! anrscope's rules for one signal.
//!
//! A SIGQUIT is a request for a dump, and the system also dumps bystanders: the parent and neighbours of the app that
//! hangs, and all apps for a watchdog or a bug report. So main's own lateness is weighed first and the sender second, and
//! the error state settles it where it lists a process.
//!
//! * **The error state lists this process**: an ANR, whether main is late or not. A service or broadcast that times out, a slow
//!   provider or no focused window need not be one long message.
//! * **Main is stalled** from 5 s on in the foreground: that is the input timeout, the shortest that AOSP has, and an
//!   event waits no longer than the message before it lasts. From 10 s on in the background or if the foreground state is
//!   not known: the shortest timeout of a broadcast; input cannot time out there, and cached apps are slow by design.
//!   An app that sets `anr_ms` replaces the 5 s, and twice as much the 10 s.
//! * **Main is late** from 2 s on (5 s in the background): Matrix's empirical 2 s, but as a suspicion. A queue of
//!   several slow messages ends in an ANR with a young one in progress. A starved system also makes every app late,
//!   so it counts for less if the error state lists another process.
//! * **A frozen process** is not late: main could not run. Its lateness before the freeze counts, so an ANR stays one if the
//!   system freezes the process before it requests the dump (Android 16's ANR timer).
//! * **The system asked and nothing is known of main**: a suspicion too, since dropping it could hide an ANR.
//! * **A tool that attaches to a JVM** wants no dump, and says nothing about main.
//! * **A shell, a bug report, an app, another SDK** declares no ANRs. Its signal is a dump request, but a main thread that
//!   is stalled at that moment is worth a report.
//! * **Signal 35** moves the confidence by one step and never the verdict.

use super::error_state::ErrorVote;
use super::evidence::{Evidence, Head};
use super::judgement::Judgement;
use super::reason::{asked_by_us, error_state, reason, sent_by};
use super::sender::Identity;
use trace_format::verdict::{Confidence, Outcome, Reason, Sender};

/// The codes of the reasons by which main is late.
pub(super) const MAIN_STUCK: &str = "main-stuck";
pub(super) const MAIN_LATE: &str = "main-late";

/// Main's lateness, judged by the limits.
enum Lateness {
    /// Main has reached the limit of an ANR.
    Stuck,
    /// Main is late, but below the limit.
    Late,
    /// Main is not late.
    InTime,
}

/// The ages from which on main is late and stuck, ms.
struct Limits {
    late: u64,
    stuck: u64,
}

impl Limits {
    fn new(foreground: Option<bool>, anr_ms: u64) -> Self {
        let (late, stuck) = match foreground {
            Some(true) => (2_000, anr_ms),
            Some(false) => (5_000, anr_ms.saturating_mul(2)),
            None => (2_000, anr_ms.saturating_mul(2)),
        };
        Limits { late: late.min(stuck), stuck }
    }
}

pub(super) fn weigh(evidence: &Evidence, own: Identity, anr_ms: u64) -> Judgement {
    let (pid, uid) = (evidence.si_pid, evidence.si_uid);
    let sender = own.sender(pid, uid);
    let mut reasons = vec![sent_by(sender, pid, uid)];
    if sender == Sender::Ourselves && evidence.asked_by_us {
        // Even during an ANR: that has its own signal.
        reasons.push(asked_by_us());
        return Judgement { outcome: Outcome::DumpRequested, confidence: Confidence::High, reasons };
    }
    if evidence.tool_attaches {
        reasons.push(reason("tool-attaches", "a tool attached to the JVM"));
        return Judgement { outcome: Outcome::ToolAttached, confidence: Confidence::High, reasons };
    }

    let (main, why) = main_thread(evidence, anr_ms);
    reasons.push(why);
    if evidence.frozen_ms > 0 && main.is_some() {
        let text = format!("the process was frozen for {} ms more", evidence.frozen_ms);
        reasons.push(reason("frozen", text));
    }
    reasons.push(error_state(evidence.errors));
    let (outcome, mut confidence) = outcome(sender, main, evidence.errors);

    if evidence.signal_35 {
        reasons.push(reason("signal-35", "a native dump was asked for as well (signal 35)"));
        confidence = match outcome {
            Outcome::Anr | Outcome::SuspectedAnr => confidence.more(),
            _ => confidence.less(),
        };
    }
    Judgement { outcome, confidence, reasons }
}

/// Returns main's lateness, if it is known: the greater of its message's age and the lateness of its queue's head.
fn main_thread(evidence: &Evidence, anr_ms: u64) -> (Option<Lateness>, Reason) {
    let running = evidence.running_ms.map(|ms| (ms, false));
    let head = match evidence.head {
        Head::When(when) => Some((when.min(0).unsigned_abs(), true)),
        Head::Unknown | Head::Empty | Head::AtFront => None,
    };
    // On a tie our own record is named.
    let later = match (running, head) {
        (Some(running), Some(head)) if head.0 > running.0 => Some(head),
        (running, head) => running.or(head),
    };
    let Some((late_ms, by_head)) = later else {
        return (None, reason("main-unknown", "nothing is known about main"));
    };
    let late_ms = late_ms.saturating_sub(evidence.frozen_ms);
    let limits = Limits::new(evidence.foreground, anr_ms);
    let what = match by_head {
        true => format!("the head of main's queue is {late_ms} ms late"),
        false => format!("main has been in one message for {late_ms} ms"),
    };
    let (lateness, code, judged) = match late_ms {
        ms if ms >= limits.stuck => {
            (Lateness::Stuck, MAIN_STUCK, format!("stuck ({} ms or more)", limits.stuck))
        }
        ms if ms >= limits.late => {
            (Lateness::Late, MAIN_LATE, format!("late, but not yet stuck ({} ms)", limits.stuck))
        }
        _ => (Lateness::InTime, "main-in-time", format!("not late ({} ms)", limits.late)),
    };
    (Some(lateness), reason(code, format!("{what}: {judged}")))
}

fn outcome(sender: Sender, main: Option<Lateness>, errors: ErrorVote) -> (Outcome, Confidence) {
    use Confidence::{High, Low, Medium};
    use Lateness::{InTime, Late, Stuck};
    use Outcome::{Anr, DumpRequested, OtherProcess, SuspectedAnr, Unknown};

    if matches!(errors, ErrorVote::Ours { .. }) {
        return (Anr, High);
    }
    let others = matches!(errors, ErrorVote::OtherProcess { .. });
    match sender {
        Sender::System => match main {
            Some(Stuck) if others => (SuspectedAnr, Medium),
            Some(Stuck) => (Anr, Medium),
            Some(Late) if others => (SuspectedAnr, Low),
            Some(Late) => (SuspectedAnr, Medium),
            Some(InTime) if others => (OtherProcess, High),
            Some(InTime) => (DumpRequested, Medium),
            None if others => (OtherProcess, Medium),
            None => (SuspectedAnr, Low),
        },
        // As the system, with one step less of confidence: a vendor's own way, or a sender that cannot declare an ANR.
        Sender::Unknown => match main {
            Some(Stuck) => (SuspectedAnr, Medium),
            Some(Late) => (SuspectedAnr, Low),
            Some(InTime) if others => (OtherProcess, Medium),
            Some(InTime) => (DumpRequested, Low),
            None if others => (OtherProcess, Low),
            None => (Unknown, Low),
        },
        Sender::Ourselves | Sender::Root | Sender::Shell | Sender::OwnApp | Sender::OtherApp => match main {
            Some(Stuck) => (SuspectedAnr, Medium),
            Some(Late) | None => (DumpRequested, Medium),
            Some(InTime) => (DumpRequested, High),
        },
    }
}
