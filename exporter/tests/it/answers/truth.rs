//! The truth of a case, and how far an answer agrees with it.

use std::fmt;

use answers::answer::CauseId;
use serde_json::Value;

/// Rows in which an answer must never be wrong.
pub(crate) const NEVER_WRONG: [&str; 4] = ["deadlock", "deadlock-elsewhere", "pool-deadlock", "idle"];

const VERDICTS: [&str; 6] = ["anr", "hang", "recovered", "other-process", "no-hang", "unknown"];

fn kind(cause: &str) -> Option<&'static str> {
    // An answer of the same kind is vague, not wrong.
    CauseId::ALL.into_iter().find(|id| id.word() == cause).map(|id| id.kind().word())
}

/// The label of a case. `None` is a value that the facts do not determine.
pub(crate) struct Truth {
    /// Any of these is right; the case counts in the row of the first.
    pub(crate) causes: Vec<String>,
    /// Any of these is right; `-` stands for none.
    roots: Option<Vec<String>>,
    owners: Option<Vec<String>>,
    cycle: Option<Vec<String>>,
    verdict: Option<String>,
}

/// How far an answer agrees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Right,
    /// Less than is known, but nothing false.
    Vague,
    Wrong,
}

/// The compared parts of an answer.
#[derive(PartialEq, Eq)]
pub(crate) struct Compared {
    pub(crate) cause: String,
    root: Option<String>,
    owners: Vec<String>,
    cycle: Vec<String>,
}

impl Truth {
    /// Reads `CAUSE`, and what follows it: `ROOT OWNERS CYCLE [VERDICT]`.
    pub(crate) fn parse(cause: &str, rest: &[String]) -> Self {
        let causes: Vec<String> = cause.split('|').map(str::to_owned).collect();
        assert!(causes.iter().all(|cause| kind(cause).is_some()), "{cause} is no cause");
        let [root, owners, cycle, verdict @ ..] = rest else { panic!("{cause}: {rest:?} is no label") };
        let known = |word: &str| (word != "?").then(|| word.replace('~', " "));
        let threads = |word: &str| {
            known(word).map(|names| names.split('>').filter(|name| *name != "-").map(str::to_owned).collect())
        };
        let verdict = verdict.first().and_then(|word| known(word));
        assert!(verdict.as_deref().is_none_or(|word| VERDICTS.contains(&word)), "{verdict:?}");
        Self {
            causes,
            roots: known(root).map(|roots| roots.split('|').map(str::to_owned).collect()),
            owners: threads(owners),
            cycle: threads(cycle),
            verdict,
        }
    }

    /// The row in which the case counts.
    pub(crate) fn row(&self) -> &str {
        &self.causes[0]
    }

    /// Judges an answer in the form of `Answer::to_json`.
    pub(crate) fn judge(&self, answer: &Value) -> Outcome {
        let found = Compared::of(answer);
        if !self.causes.contains(&found.cause) {
            let of_its_kind = self.causes.iter().any(|cause| kind(cause) == kind(&found.cause));
            return if of_its_kind || found.cause == "unknown" { Outcome::Vague } else { Outcome::Wrong };
        }
        let threads = self.owners.as_ref().is_none_or(|owners| *owners == found.owners)
            && self.cycle.as_ref().is_none_or(|cycle| same_cycle(cycle, &found.cycle));
        let verdict = self.verdict.as_deref().is_none_or(|verdict| answer["verdict"] == verdict);
        let root = found.root.as_deref().unwrap_or("-");
        match &self.roots {
            _ if !threads || !verdict => Outcome::Wrong,
            Some(roots) if roots.iter().any(|label| label == root) => Outcome::Right,
            Some(_) if found.root.is_none() => Outcome::Vague,
            Some(_) => Outcome::Wrong,
            None => Outcome::Right,
        }
    }
}

impl Compared {
    /// Takes it out of an answer in the form of `Answer::to_json`.
    pub(crate) fn of(answer: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = |value: &Value, of: fn(&Value) -> &Value| {
            value.as_array().into_iter().flatten().filter_map(|v| text(of(v))).collect()
        };
        Self {
            cause: text(&answer["cause"]["id"]).unwrap_or_default(),
            root: text(&answer["root"]["name"]),
            owners: texts(&answer["owners"], |owner| &owner["thread"]),
            cycle: texts(&answer["cycle"], |name| name),
        }
    }
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.roots.as_ref().map_or("?".to_owned(), |roots| roots.join("|"));
        let threads = |names: &Option<Vec<String>>| names.as_deref().map_or("?".to_owned(), joined);
        write!(f, "{} {root} {} {}", self.causes.join("|"), threads(&self.owners), threads(&self.cycle))?;
        self.verdict.iter().try_for_each(|verdict| write!(f, " {verdict}"))
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.root.as_deref().unwrap_or("-");
        write!(f, "{} {root} {} {}", self.cause, joined(&self.owners), joined(&self.cycle))
    }
}

/// In the form of a label.
fn joined(names: &[String]) -> String {
    if names.is_empty() { "-".to_owned() } else { names.join(">") }
}

/// A cycle that main is in starts with main; another may start anywhere.
fn same_cycle(label: &[String], found: &[String]) -> bool {
    if label.len() != found.len() || label.first().is_some_and(|first| first == "main") {
        return label == found;
    }
    label.is_empty() || (0..found.len()).any(|by| label.iter().eq(found[by..].iter().chain(&found[..by])))
}

#[test]
fn an_answer_is_right_vague_or_wrong() {
    let label = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Truth::parse(&words[0], &words[1..])
    };
    let answer = |cause: &str, root: Option<&str>, owners: &[&str], cycle: &[&str]| {
        let owners: Vec<Value> = owners.iter().map(|name| serde_json::json!({"thread": name})).collect();
        let root = root.map(|name| serde_json::json!({"name": name, "file": null, "line": null}));
        serde_json::json!({"verdict": "hang", "cause": {"id": cause}, "root": root, "owners": owners, "cycle": cycle})
    };
    let lock = label("lock-wait a.B.c t1>t2 -");
    for (outcome, found) in [
        (Outcome::Right, answer("lock-wait", Some("a.B.c"), &["t1", "t2"], &[])),
        (Outcome::Vague, answer("lock-wait", None, &["t1", "t2"], &[])),
        (Outcome::Wrong, answer("lock-wait", Some("a.B.d"), &["t1", "t2"], &[])),
        (Outcome::Wrong, answer("lock-wait", Some("a.B.c"), &["t1"], &[])),
        (Outcome::Vague, answer("deadlock", None, &[], &["main", "t1"])),
        (Outcome::Vague, answer("unknown", None, &[], &[])),
        (Outcome::Wrong, answer("busy-method", Some("a.B.c"), &[], &[])),
    ] {
        assert_eq!(lock.judge(&found), outcome, "{found}");
    }
    let elsewhere = label("deadlock-elsewhere - - a>b>c hang");
    assert_eq!(elsewhere.judge(&answer("deadlock-elsewhere", None, &[], &["b", "c", "a"])), Outcome::Right);
    assert_eq!(elsewhere.judge(&answer("deadlock-elsewhere", None, &[], &["b", "a", "c"])), Outcome::Wrong);
    let with_main = label("deadlock ? ? main>b");
    assert_eq!(with_main.judge(&answer("deadlock", Some("x.Y.z"), &["b"], &["main", "b"])), Outcome::Right);
    assert_eq!(with_main.judge(&answer("deadlock", None, &["b"], &["b", "main"])), Outcome::Wrong);
    let other = label("other-process - - - other-process");
    assert_eq!(other.judge(&answer("other-process", None, &[], &[])), Outcome::Wrong);
}
