//! What is known of a program by how it was generated.

use serde_json::{Value, json};

/// A part of the culprit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// The correct values; `*` stands for any text, `#` for digits. None: nothing is correct.
    pub accepted: Vec<String>,
    /// Whether a complete answer has it.
    pub needed: bool,
}

impl Part {
    pub(crate) fn needed(value: impl Into<String>) -> Self {
        Self { accepted: vec![value.into()], needed: true }
    }

    /// It may be left out.
    pub(crate) fn optional(value: impl Into<String>) -> Self {
        Self { accepted: vec![value.into()], needed: false }
    }

    pub(crate) fn nothing() -> Self {
        Self::default()
    }
}

/// One correct answer to the question who must move.
#[derive(Clone, Debug, Default)]
pub(crate) struct Culprit {
    pub thread: Part,
    pub task: Part,
    /// Where the task was submitted, or the thread started: `File.java:line`.
    pub site: Part,
}

/// A correct explanation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Label {
    /// What main waits for.
    pub waits_for: Vec<&'static str>,
    /// The correct causes; if empty, the cause is not judged.
    pub causes: Vec<&'static str>,
    pub cycle: bool,
    /// The correct answers. With several, each is.
    pub culprits: Vec<Culprit>,
    /// What the recording has does not suffice to know it: no answer is as good as the right one.
    pub may_be_silent: bool,
}

/// Where a thread is at the end of a program.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    /// Its name; `*` stands for any text.
    pub thread: String,
    /// Methods that are on its stack; `*` stands for any text.
    pub frames: Vec<String>,
}

/// A generated program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub family: &'static str,
    pub number: usize,
    /// True if the program uses Android's classes, which are fakes here.
    pub on_android: bool,
    pub package: String,
    pub main: String,
    /// Path below the sources' directory, and text.
    pub files: Vec<(String, String)>,
    pub label: Label,
    /// What shows without a recorder that the label is right.
    pub facts: Vec<Fact>,
    /// No thread but main and these is in a method of the program.
    pub alone: Option<Vec<String>>,
}

impl Program {
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.family, self.number)
    }

    /// One line of `labels.jsonl`.
    pub(crate) fn line(&self) -> Value {
        let part = |part: &Part| match (&part.accepted[..], part.needed) {
            ([], _) => Value::Null,
            ([one], true) => json!(one),
            ([one], false) => json!(format!("{one}?")),
            (all, _) => json!(all),
        };
        let culprits = self.label.culprits.iter().map(
            |one| json!({"thread": part(&one.thread), "task": part(&one.task), "site": part(&one.site)}),
        );
        json!({"program": self.name(), "waits_for": self.label.waits_for, "cause": self.label.causes,
            "cycle": self.label.cycle, "culprits": culprits.collect::<Value>(), "silent": self.label.may_be_silent})
    }
}

/// Whether `text` is `pattern`, in which `*` stands for any text, and `#` for digits.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let Some(at) = pattern.find(['*', '#']) else { return pattern == text };
    let (head, tail) = (&pattern[..at], &pattern[at + 1..]);
    let digits = pattern.as_bytes()[at] == b'#';
    let Some(rest) = text.strip_prefix(head) else { return false };
    let longest = if digits {
        rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()
    } else {
        rest.len()
    };
    let shortest = usize::from(digits);
    (shortest..=longest).any(|at| rest.is_char_boundary(at) && matches(tail, &rest[at..]))
}

/// Whether `name`, which may have packages in front, is `pattern`.
pub(crate) fn names(pattern: &str, name: &str) -> bool {
    matches(pattern, name) || matches(&format!("*.{pattern}"), name)
}
