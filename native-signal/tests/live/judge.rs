//! The table of truth: every line of `data/verdicts.tsv`, by both policies.

#![cfg(any(target_os = "linux", target_os = "android"))]

use native_signal::{
    Confidence, ErrorPolls, ErrorVote, Evidence, Head, Identity, Judge, Outcome, Policy, ProcessInError,
    Reason, Trigger,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const OWN: Identity = Identity { pid: 4321, uid: 10_123 };
const COLUMNS: &str = "case series t_ms trigger si_code si_pid si_uid asked app_state message running_ms frozen_ms head_when \
                       errors signal_35 matrix anrscope confidence why";

/// One line: cells by the column's name.
struct Case(BTreeMap<&'static str, &'static str>);

impl Case {
    fn cell(&self, column: &str) -> &'static str {
        self.0[column]
    }

    fn number<T: std::str::FromStr>(&self, column: &str) -> Option<T> {
        let cell = self.cell(column);
        (cell != "-")
            .then(|| cell.parse().unwrap_or_else(|_| panic!("{}: {column} is {cell:?}", self.cell("case"))))
    }

    fn flag(&self, column: &str) -> bool {
        match self.cell(column) {
            "yes" => true,
            "no" => false,
            other => panic!("{}: {column} is {other:?}", self.cell("case")),
        }
    }

    fn evidence(&self, policy: Policy) -> Evidence {
        Evidence {
            at_ns: 77_000_000_000 + self.number::<u64>("t_ms").unwrap() * 1_000_000,
            trigger: match self.cell("trigger") {
                "quit" => Trigger::Quit,
                "native" => Trigger::NativeDump,
                other => panic!("trigger {other:?}"),
            },
            si_code: self.number("si_code").unwrap(),
            si_pid: self.number("si_pid").unwrap(),
            si_uid: self.number("si_uid").unwrap(),
            asked_by_us: self.flag("asked"),
            tool_attaches: false,
            foreground: match self.cell("app_state") {
                "fg" => Some(true),
                "bg" => Some(false),
                "-" => None,
                other => panic!("app_state {other:?}"),
            },
            message: self.number("message"),
            running_ms: self.number("running_ms"),
            frozen_ms: self.number("frozen_ms").unwrap_or(0),
            head: match self.cell("head_when") {
                "-" => Head::Unknown,
                "empty" => Head::Empty,
                "front" => Head::AtFront,
                _ => Head::When(self.number("head_when").unwrap()),
            },
            errors: vote(self.cell("errors"), policy),
            signal_35: self.flag("signal_35"),
        }
    }
}

/// Simulates the system through all polls.
fn vote(script: &str, policy: Policy) -> ErrorVote {
    if script == "-" {
        return ErrorVote::NotAsked;
    }
    let process = |word: &str| match word {
        "ours" => ProcessInError { pid: OWN.pid, uid: OWN.uid, not_responding: true },
        "crashed" => ProcessInError { pid: OWN.pid, uid: OWN.uid, not_responding: false },
        "sibling" => ProcessInError { pid: 4400, uid: OWN.uid, not_responding: true },
        "other" => ProcessInError { pid: 6000, uid: 10_200, not_responding: true },
        "other-crashed" => ProcessInError { pid: 6000, uid: 10_200, not_responding: false },
        other => panic!("unknown process {other:?}"),
    };
    let answer = |poll: u32| -> Vec<ProcessInError> {
        let (script, from) = match script.split_once('@') {
            Some((script, from)) => (script, from.parse().unwrap()),
            None => (script, 1),
        };
        let script = match script.split_once('>') {
            Some((first, later)) => {
                if poll == 1 {
                    first
                } else {
                    later
                }
            }
            None => script,
        };
        if script == "empty" || poll < from { Vec::new() } else { script.split('+').map(process).collect() }
    };
    let mut poll = 0;
    let mut system = || {
        poll += 1;
        answer(poll)
    };
    ErrorPolls::new(policy, OWN).run(&mut system, |pause| {
        assert_eq!(pause, Duration::from_millis(500));
        true
    })
}

fn cases() -> Vec<Case> {
    let mut lines = include_str!("../data/verdicts.tsv").lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    assert_eq!(names, COLUMNS.split_whitespace().collect::<Vec<_>>());
    lines
        .map(|line| {
            let mut cells: Vec<&str> = line.split('\t').collect();
            if cells.len() == names.len() - 1 {
                cells.push("");
            }
            assert_eq!(cells.len(), names.len(), "{line:?}");
            Case(names.iter().copied().zip(cells).collect())
        })
        .collect()
}

/// Runs the table by one policy and lists what differs from its column.
fn differences(policy: Policy, column: &str, with_confidence: bool) -> Vec<String> {
    let mut judges: BTreeMap<&str, Judge> = BTreeMap::new();
    let mut differences = Vec::new();
    for case in cases() {
        let judge = judges.entry(case.cell("series")).or_insert_with(|| Judge::new(policy, OWN));
        let judgement = judge.judge(&case.evidence(policy));
        assert!(!judgement.reasons.is_empty(), "{}: a verdict without a reason", case.cell("case"));
        let mut is = format!("{:?}", judgement.outcome);
        let mut should = case.cell(column).to_owned();
        if with_confidence {
            is += &format!(" {:?}", judgement.confidence);
            should += &format!(" {}", case.cell("confidence"));
        }
        if is != should {
            differences.push(format!("{}: {is}, not {should}; {judgement}", case.cell("case")));
        }
    }
    differences
}

#[test]
fn the_table_holds_by_our_policy() {
    let differences = differences(Policy::Anrscope, "anrscope", true);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_table_holds_by_matrix() {
    let differences = differences(Policy::Matrix, "matrix", false);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_table_is_what_it_claims_to_be() {
    let cases = cases();
    assert!(cases.len() >= 40, "{} cases", cases.len());
    let names: BTreeSet<&str> = cases.iter().map(|case| case.cell("case")).collect();
    assert_eq!(names.len(), cases.len(), "a name appears twice");
    for column in ["matrix", "anrscope"] {
        let seen: BTreeSet<&str> = cases.iter().map(|case| case.cell(column)).collect();
        assert_eq!(seen.len(), if column == "matrix" { 5 } else { 6 }, "{column}: {seen:?}");
    }
    assert!(cases.iter().any(|case| case.cell("matrix") != case.cell("anrscope")));
}

#[test]
fn a_reconsidered_signal_is_no_duplicate_of_itself_and_later_ones_compare_with_its_new_outcome() {
    let mut judge = Judge::new(Policy::Anrscope, OWN);
    let mut evidence = Evidence {
        at_ns: 1,
        si_pid: 1234,
        si_uid: 1000,
        foreground: Some(true),
        message: Some(7),
        running_ms: Some(3_000),
        ..Evidence::default()
    };
    assert_eq!(judge.judge(&evidence).outcome, Outcome::SuspectedAnr);
    evidence.errors = ErrorVote::Ours { poll: 3 };
    let judgement = judge.reconsider(&evidence);
    assert_eq!((judgement.outcome, judgement.confidence), (Outcome::Anr, Confidence::High));

    // Before it was an ANR, a second suspicion would have been as strong; and an ANR would have been stronger.
    let second = Evidence { at_ns: 2_000_000_001, ..evidence };
    let judgement = judge.judge(&second);
    assert_eq!(judgement.outcome, Outcome::Duplicate);
    let same_as = Reason { code: "same-as".to_owned(), text: "reported 2000 ms before as: ANR".to_owned() };
    assert_eq!(judgement.reasons.last(), Some(&same_as));
}

#[test]
fn a_suspicion_that_came_to_nothing_hides_nothing() {
    let mut judge = Judge::new(Policy::Anrscope, OWN);
    let mut evidence = Evidence { at_ns: 1, si_pid: 1234, si_uid: 1000, ..Evidence::default() };
    assert_eq!(judge.judge(&evidence).outcome, Outcome::SuspectedAnr);
    evidence.errors = ErrorVote::OtherProcess { pid: 6000, uid: 10_200 };
    assert_eq!(judge.reconsider(&evidence).outcome, Outcome::OtherProcess);
    let next = Evidence { at_ns: 2, errors: ErrorVote::Nothing, ..evidence };
    assert_eq!(judge.judge(&next).outcome, Outcome::SuspectedAnr);
}

#[test]
fn words_for_people() {
    let mut judge = Judge::new(Policy::Anrscope, OWN);
    let judgement = judge.judge(&Evidence {
        si_pid: 1234,
        si_uid: 1000,
        foreground: Some(true),
        running_ms: Some(6_012),
        errors: ErrorVote::Nothing,
        signal_35: true,
        ..Evidence::default()
    });
    assert_eq!(judgement.reasons[0].code, "sent-by");
    assert_eq!(
        judgement.to_string(),
        "ANR (high confidence): sent by the system (uid 1000); main has been in one message for 6012 ms: stuck \
         (5000 ms or more); the system lists no process as not responding; a native dump was asked for as well \
         (signal 35)"
    );
}

#[test]
fn an_app_that_sets_its_anr_limit_is_judged_by_it() {
    let outcome = |anr_ms: Option<u64>, foreground, running_ms| {
        let mut judge = Judge::new(Policy::Anrscope, OWN);
        anr_ms.into_iter().for_each(|ms| judge.set_anr_ms(ms));
        let evidence = Evidence {
            si_pid: 1234,
            si_uid: 1000,
            foreground: Some(foreground),
            message: Some(7),
            running_ms: Some(running_ms),
            ..Evidence::default()
        };
        judge.judge(&evidence).outcome
    };
    for (anr_ms, foreground, in_time, stuck) in [
        (None, true, 4_999, 5_000),
        (Some(0), true, 4_999, 5_000),
        (Some(5_000), true, 4_999, 5_000),
        (Some(8_000), true, 7_999, 8_000),
        (Some(3_000), true, 2_999, 3_000),
        // In the background as much more as by default.
        (None, false, 9_999, 10_000),
        (Some(8_000), false, 15_999, 16_000),
    ] {
        let found = (outcome(anr_ms, foreground, in_time), outcome(anr_ms, foreground, stuck));
        assert_eq!(found, (Outcome::SuspectedAnr, Outcome::Anr), "{anr_ms:?} {foreground}");
    }
    // A limit below the one for late leaves no suspicions.
    assert_eq!(outcome(Some(1_000), true, 999), Outcome::DumpRequested);
    assert_eq!(outcome(Some(1_000), true, 1_000), Outcome::Anr);
}

/// Matrix's limits of the queue's head, which Matrix compares with "less than" in the foreground and in the background.
#[test]
fn the_head_of_the_queue_by_matrix() {
    let anr = |foreground, when| {
        let evidence = Evidence {
            si_pid: 1_234,
            si_uid: 1_000,
            foreground: Some(foreground),
            head: Head::When(when),
            ..Evidence::default()
        };
        Judge::new(Policy::Matrix, OWN).judge(&evidence).outcome == Outcome::Anr
    };
    assert_eq!((anr(true, -1_999), anr(true, -2_000), anr(true, -2_001)), (false, false, true));
    assert_eq!((anr(false, -9_999), anr(false, -10_000), anr(false, -10_001)), (false, false, true));
}

#[test]
fn a_tool_that_attaches_wants_no_dump_and_is_no_anr() {
    let own = Identity { pid: 4321, uid: 10_123 };
    let mut evidence =
        Evidence { si_pid: 99, si_uid: 10_123, running_ms: Some(60_000), ..Evidence::default() };
    let mut judge = Judge::new(Policy::Anrscope, own);
    assert_eq!(judge.judge(&evidence).outcome, Outcome::SuspectedAnr);
    evidence.tool_attaches = true;
    let judgement = judge.judge(&evidence);
    assert_eq!((judgement.outcome, judgement.confidence), (Outcome::ToolAttached, Confidence::High));
    assert_eq!(judgement.reasons.last().unwrap().text, "a tool attached to the JVM");
}
