//! Six questions about a hang, answered by the text of a report alone: what hung, how long, why, under which message, who
//! owned the lock, what to do. `data/five-questions.txt` holds the answers that are expected.

use std::collections::BTreeMap;

use test_support::program;
use test_support::temp_dir::TempDir;

/// The questions, and the label in front of the answer on the page.
const QUESTIONS: [(&str, &str); 6] = [
    ("what hung", "Main thread"),
    ("how long", ""),
    ("why", "Cause:"),
    ("under which message", "Message"),
    ("who owned the lock", "Lock owner"),
    ("what to do", "What to do"),
];

/// Of each recording the expected answers by question.
fn expected() -> BTreeMap<String, Vec<(String, String)>> {
    let mut all: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut name = String::new();
    let text = include_str!("data/five-questions.txt");
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(begun) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            name = begun.to_owned();
            continue;
        }
        let (question, answer) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        all.entry(name.clone()).or_default().push((question.to_owned(), answer.to_owned()));
    }
    all
}

/// What a reader who knows nothing but the labels takes from the page.
fn answers(page: &str) -> Vec<String> {
    let labelled = |label: &str| {
        let mut lines = page.lines().skip_while(|line| !line.starts_with(&format!("  {label}  ")));
        let first = lines.next()?.strip_prefix("  ")?.strip_prefix(label)?.trim().to_owned();
        // What is wrapped goes on below it.
        let more = lines.map_while(|line| line.strip_prefix(&" ".repeat(16)));
        Some(more.fold(first, |text, line| format!("{text} {line}")))
    };
    let mut lines = page.lines();
    let (how_long, why) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    QUESTIONS
        .iter()
        .map(|(question, label)| match *question {
            "how long" => how_long.to_owned(),
            "why" => why.strip_prefix(label).unwrap_or("none").trim().to_owned(),
            _ => labelled(label).unwrap_or_else(|| "none".to_owned()),
        })
        .collect()
}

/// Numbers that no two runs share.
fn masked(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

/// Asserts that a page answers the questions as expected of `name`; numbers count where `exact`.
#[track_caller]
pub(crate) fn answered(name: &str, page: &str, exact: bool) {
    let all = expected();
    let expected = all.get(name).unwrap_or_else(|| panic!("no answers are expected of {name}"));
    let questions: Vec<&str> = expected.iter().map(|(question, _)| &**question).collect();
    assert_eq!(questions, QUESTIONS.map(|(question, _)| question), "{name}");
    for ((question, expected), found) in expected.iter().zip(answers(page)) {
        let found = if exact { found } else { masked(&found) };
        assert_eq!(&found, expected, "{name}: {question}\n{page}");
    }
    assert!(page.lines().count() < 70, "{name}: one page\n{page}");
}

/// The cases of this file that are made up; the others are asked where they are recorded.
const MADE: [&str; 6] = [
    "busy-json-parse",
    "binder-call-to-a-slow-service",
    "heap-nearly-full",
    "frozen-in-the-cache",
    "storm-of-one-handler",
    "somebody-else-while-main-is-in-a-message",
];

#[test]
fn the_text_of_recordings_of_six_causes_answers_six_questions() {
    let (cases, _) = test_support::scenario::cases(include_str!("../../../exporter/tests/data/causes.txt"));
    let directory = TempDir::new();
    for name in MADE {
        let case = cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"));
        let (bytes, map) = test_support::scenario::built(case);
        let recording = directory.file(&format!("{name}.anrscope"), bytes);
        let map = directory.file(&format!("{name}.map"), map);
        let shown = program::run(["report", &recording, "--method-map", &map]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        answered(name, &shown.stdout, true);
    }
}

/// The check can fail.
#[test]
fn a_page_without_answers_fails_the_check() {
    let page = "Hang in x (pid 1): main thread blocked for 7.0 s\n\n  Message       H\n";
    assert_eq!(
        answers(page),
        ["none", "Hang in x (pid 1): main thread blocked for 7.0 s", "none", "H", "none", "none"]
    );
    assert_eq!(masked("+12.345 s (0x9a1ce5)"), "+#.# s (#x#a#ce#)");
}
