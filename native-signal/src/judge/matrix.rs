//! Matrix's rules for one signal, as they are (`SignalAnrTracer`, `anrCallback` and what it calls).
//!
//! For any sender but this process: if the head of the queue is late by *more* than 2 s in
//! the foreground or 10 s in the background, it is an ANR at once; else the error state decides. Our own record and
//! signal 35 beside a SIGQUIT are ignored. An unknown foreground state reads as background there (no activity was found
//! that is not paused).
//!
//! Not reproduced: on 32-bit its test for "sent by this process" also compares our pid with the *uid* of the sender.

use super::error_state::ErrorVote;
use super::evidence::{Evidence, Head};
use super::judgement::Judgement;
use super::reason::{asked_by_us, error_state, reason, sent_by};
use super::sender::Identity;
use trace_format::verdict::{Confidence, Outcome};

const FOREGROUND_MS: u64 = 2_000;
const BACKGROUND_MS: u64 = 10_000;

pub(super) fn weigh(evidence: &Evidence, own: Identity) -> Judgement {
    let (pid, uid) = (evidence.si_pid, evidence.si_uid);
    let mut reasons = vec![sent_by(own.sender(pid, uid), pid, uid)];
    if evidence.si_pid == own.pid {
        if evidence.asked_by_us {
            reasons.push(asked_by_us());
        }
        return Judgement { outcome: Outcome::DumpRequested, confidence: Confidence::High, reasons };
    }

    let limit_ms = if evidence.foreground == Some(true) { FOREGROUND_MS } else { BACKGROUND_MS };
    if let Head::When(when) = evidence.head
        && when < 0
        && when.unsigned_abs() > limit_ms
    {
        let late_ms = when.unsigned_abs();
        let text = format!("the head of main's queue is {late_ms} ms late (more than {limit_ms} ms)");
        reasons.push(reason("head-blocked", text));
        return Judgement { outcome: Outcome::Anr, confidence: Confidence::Medium, reasons };
    }
    let head = match evidence.head {
        Head::Unknown => "the head of main's queue could not be read".to_owned(),
        Head::Empty => "main's queue showed no message".to_owned(),
        Head::AtFront => "the head of main's queue was posted at the front".to_owned(),
        Head::When(when) => format!("the head of main's queue is due in {when} ms"),
    };
    reasons.push(reason("head-not-blocked", head));
    let (outcome, confidence) = match evidence.errors {
        ErrorVote::Ours { .. } => (Outcome::Anr, Confidence::High),
        ErrorVote::OtherProcess { .. } => (Outcome::OtherProcess, Confidence::Medium),
        ErrorVote::Nothing | ErrorVote::NotAsked => (Outcome::Unknown, Confidence::Low),
    };
    reasons.push(error_state(evidence.errors));
    Judgement { outcome, confidence, reasons }
}
