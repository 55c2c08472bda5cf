//! Compares a report with the label of its program.

use serde_json::{Value, json};

use crate::chains::label::{Culprit, Label, Part, matches, names};

/// How a report compares with a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// All that is known is said, and right.
    Named,
    /// What is said is right; something is missing.
    Short,
    /// Something contradicts the label.
    Wrong,
}

/// The outcome, and what is missing or wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Judged {
    pub outcome: Outcome,
    pub difference: String,
}

/// One part of a report against what is correct.
enum Compared {
    Right,
    Missing,
    Wrong(String),
}

impl Compared {
    fn of(what: &str, said: Option<&str>, right: impl Fn(&str) -> bool, needed: bool) -> Self {
        match said {
            None if needed => Self::Missing,
            None => Self::Right,
            Some(said) if right(said) => Self::Right,
            Some(said) => Self::Wrong(format!("{what} {said:?}")),
        }
    }
}

/// Judges one report of `anrscope report --json`.
pub(crate) fn judge(label: &Label, report: &Value) -> Judged {
    if report["hang"].is_null() {
        return short("no hang");
    }
    let why = &report["hang"]["why"];
    if why.is_null() {
        return short("no explanation");
    }
    let (mut missing, mut wrong) = (Vec::new(), Vec::new());
    let mut note = |what: &str, compared: Compared| match compared {
        Compared::Right => {}
        Compared::Missing => missing.push(format!("no {what}")),
        Compared::Wrong(said) => wrong.push(said),
    };
    let waits_for = why["links"][0]["waits_for"].as_str();
    note("wait", Compared::of("waits for", waits_for, |said| label.waits_for.contains(&said), true));
    let cause = why["cause"].as_str().filter(|cause| *cause != "unknown");
    let needs_cause = !label.causes.is_empty();
    let is_cause = |said: &str| !needs_cause || label.causes.contains(&said);
    note("cause", Compared::of("cause", cause, is_cause, needs_cause));
    let may_cycle = label.cycle || label.causes.contains(&"self-made-deadlock");
    note(
        "cycle",
        match why["cycle"].as_bool().unwrap_or(false) {
            true if !may_cycle => Compared::Wrong("cycle".to_owned()),
            false if label.cycle => Compared::Missing,
            _ => Compared::Right,
        },
    );
    let culprits = label.culprits.iter().map(|culprit| culprit_of(culprit, &why["culprit"]));
    // Each of the label's is correct: the one that fits best counts.
    if let Some((said_wrong, left_out)) = culprits.min_by_key(|(wrong, missing)| (wrong.len(), missing.len()))
    {
        wrong.extend(said_wrong);
        missing.extend(left_out);
    }
    let outcome = match (wrong.is_empty(), missing.is_empty()) {
        (true, true) => Outcome::Named,
        (true, false) => Outcome::Short,
        _ => Outcome::Wrong,
    };
    wrong.extend(missing);
    Judged { outcome, difference: wrong.join(", ") }
}

fn short(why: &str) -> Judged {
    Judged { outcome: Outcome::Short, difference: why.to_owned() }
}

/// What is wrong, and what is missing.
fn culprit_of(culprit: &Culprit, said: &Value) -> (Vec<String>, Vec<String>) {
    let (mut wrong, mut missing) = (Vec::new(), Vec::new());
    let mut part = |what: &str, part: &Part, fits: fn(&str, &str) -> bool| {
        let right = |said: &str| part.accepted.iter().any(|pattern| fits(pattern, said));
        match Compared::of(what, said[what].as_str(), right, part.needed) {
            Compared::Right => {}
            Compared::Missing => missing.push(format!("no {what}")),
            Compared::Wrong(said) => wrong.push(said),
        }
    };
    part("thread", &culprit.thread, matches);
    part("task", &culprit.task, names);
    part("site", &culprit.site, matches);
    (wrong, missing)
}

/// Tests the judge with reports that are right, incomplete and wrong.
pub(crate) fn check() {
    let right = Culprit {
        thread: Part::needed("pool-1-thread-1"),
        task: Part::needed("Feed.lambda$show$#"),
        site: Part::optional("Feed.java:12"),
    };
    let label = |culprits: &[Culprit]| Label {
        waits_for: vec!["future"],
        causes: vec!["slow-task"],
        culprits: culprits.to_vec(),
        ..Label::default()
    };
    let report = |cause: Value, culprit: Value| {
        json!({"hang": {"why": {"cause": cause, "cycle": false, "culprit": culprit,
            "links": [{"thread": "main", "waits_for": "future"}]}}})
    };
    let one = label(std::slice::from_ref(&right));
    let says = |label: &Label, cause: &str, thread: Value, task: Value, site: Value| {
        judge(label, &report(json!(cause), json!({"thread": thread, "task": task, "site": site}))).outcome
    };
    let (thread, task) = (json!("pool-1-thread-1"), json!("com.example.Feed.lambda$show$0"));
    let is = |outcome: Outcome, said: Outcome| assert_eq!(said, outcome);
    is(Outcome::Named, says(&one, "slow-task", thread.clone(), task.clone(), json!("Feed.java:12")));
    is(Outcome::Named, says(&one, "slow-task", thread.clone(), task.clone(), json!(null)));
    is(Outcome::Short, says(&one, "slow-task", thread.clone(), json!(null), json!(null)));
    is(Outcome::Short, says(&one, "unknown", thread.clone(), task.clone(), json!(null)));
    is(Outcome::Wrong, says(&one, "lock-held", thread.clone(), task.clone(), json!(null)));
    is(Outcome::Wrong, says(&one, "slow-task", json!("main"), task.clone(), json!(null)));
    is(Outcome::Wrong, says(&one, "slow-task", thread.clone(), json!("Feed.lambda$load$0"), json!(null)));
    is(Outcome::Wrong, says(&one, "slow-task", thread.clone(), json!("Feed.lambda$show$x"), json!(null)));
    is(Outcome::Wrong, says(&one, "slow-task", thread.clone(), task.clone(), json!("Feed.java:13")));
    // No thread: any name is wrong.
    let nothing = label(&[Culprit::default()]);
    is(Outcome::Named, says(&nothing, "slow-task", json!(null), json!(null), json!(null)));
    is(Outcome::Wrong, says(&nothing, "slow-task", thread.clone(), json!(null), json!(null)));
    assert_eq!(judge(&nothing, &report(json!("slow-task"), json!(null))).outcome, Outcome::Named);
    // Parts of two correct answers make none.
    let other = Culprit {
        thread: Part::needed("pool-1-thread-2"),
        task: Part::needed("Feed.prepareTiles"),
        ..Culprit::default()
    };
    let either = label(&[right, other]);
    is(
        Outcome::Named,
        says(&either, "slow-task", json!("pool-1-thread-2"), json!("Feed.prepareTiles"), json!(null)),
    );
    is(Outcome::Wrong, says(&either, "slow-task", thread, json!("Feed.prepareTiles"), json!(null)));
    // A cycle.
    let mut cycle = one.clone();
    cycle.cycle = true;
    let mut said = report(json!("slow-task"), json!({"thread": "pool-1-thread-1", "task": task}));
    assert_eq!(judge(&cycle, &said).outcome, Outcome::Short);
    said["hang"]["why"]["cycle"] = json!(true);
    assert_eq!(judge(&cycle, &said).outcome, Outcome::Named);
    assert_eq!(judge(&one, &said).outcome, Outcome::Wrong);
    said["hang"]["why"]["links"][0]["waits_for"] = json!("lock");
    assert_eq!(judge(&cycle, &said).outcome, Outcome::Wrong);
    assert_eq!(judge(&one, &json!({"hang": null})).difference, "no hang");
    assert_eq!(judge(&one, &json!({"hang": {"why": null}})).outcome, Outcome::Short);
}
