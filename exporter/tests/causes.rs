//! The rules of the causes on cases whose labels were written before them, and the tables in `docs/causes.md`.

mod scenario;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use exporter::answer::RULES;
use exporter::dump::Dump;
use exporter::report::CauseKind;
use exporter::{Answer, Report};

const CASES: &str = include_str!("data/causes.txt");

/// Label, what the rules found, and what it was of.
type Judged = (String, CauseKind, String);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn made() -> Vec<Judged> {
    let (cases, others) = scenario::cases(CASES);
    let mut judged: Vec<Judged> = cases
        .iter()
        .map(|case| {
            let (recording, map) = scenario::recording(case);
            let report = Report::build(Path::new(&case.name), &recording, &map).unwrap();
            let found = report.cause.as_ref().map_or(CauseKind::Unknown, |cause| cause.kind);
            (case.label.clone(), found, case.name.clone())
        })
        .collect();
    for words in others.iter().filter(|words| words[0] == "repo") {
        judged.push((words[2].clone(), of_dump(&folder().join(&words[1])), words[1].clone()));
    }
    judged
}

fn of_dump(file: &Path) -> CauseKind {
    let dump = Dump::open(file).unwrap();
    Answer::of_dump(&dump).cause.kind
}

/// The dumps of devices, where they can be had.
fn real() -> Option<Vec<Judged>> {
    let corpus = PathBuf::from(std::env::var_os("ANRSCOPE_CORPUS")?);
    let (_, others) = scenario::cases(CASES);
    let real = others.iter().filter(|words| words[0] == "real");
    let file =
        |name: &str| [corpus.join("anr").join(name), corpus.join(name)].into_iter().find(|f| f.is_file());
    let judged =
        real.map(|words| (words[2].clone(), of_dump(&file(&words[1]).expect(&words[1])), words[1].clone()));
    Some(judged.collect())
}

fn rules() -> String {
    let mut out = String::from("| | cause | confidence | when |\n| --- | --- | --- | --- |\n");
    for (n, rule) in RULES.iter().enumerate() {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            n + 1,
            rule.cause.word(),
            rule.confidence.word(),
            rule.when
        );
    }
    out
}

/// How often each label got each cause.
fn confusion(judged: &[Judged]) -> String {
    let mut counts: BTreeMap<(&str, CauseKind), usize> = BTreeMap::new();
    for (label, found, _) in judged {
        *counts.entry((label, *found)).or_default() += 1;
    }
    let used: Vec<CauseKind> = CauseKind::ALL
        .into_iter()
        .filter(|k| judged.iter().any(|(l, f, _)| f == k || l == k.word()))
        .collect();
    let head: Vec<&str> = used.iter().map(|kind| kind.word()).collect();
    let mut out =
        format!("| label \\ found | {} |\n| --- |{}\n", head.join(" | "), " ---: |".repeat(used.len()));
    for label in &used {
        let row = used
            .iter()
            .map(|found| counts.get(&(label.word(), *found)).map_or(String::new(), usize::to_string));
        let _ = writeln!(out, "| {} | {} |", label.word(), row.collect::<Vec<_>>().join(" | "));
    }
    let right = judged.iter().filter(|(label, found, _)| label == found.word()).count();
    let _ = writeln!(out, "\n{right} of {} have the cause of their label.", judged.len());
    for (label, found, name) in judged.iter().filter(|(label, found, _)| label != found.word()) {
        let _ = writeln!(out, "* `{name}`: labelled {label}, found {}", found.word());
    }
    out
}

const REAL: &str = "## Dumps of devices";

fn page(real: Option<&[Judged]>) -> String {
    let mut page = format!(
        "# Why main did not come back\n\nMade by `ANRSCOPE_WRITE_DOCS=1 cargo test -p exporter --test causes`, and compared \
         by the same test.\n\nThe rules are rows of a table (`exporter/src/report/cause/table.rs`), asked in this order. The \
         first that holds is the cause, and\nfurther ones are told as *also possible*. No row concludes from what is missing: \
         where none holds, the cause is `unknown` and the\nreport says what would have to be recorded.\n\n## The table\n\n{}\n\
         ## Made-up cases\n\n`exporter/tests/data/causes.txt`; the labels were committed before the rules.\n\n{}",
        rules(),
        confusion(&made())
    );
    if let Some(real) = real {
        let _ = write!(
            page,
            "\n{REAL}\n\nThird parties' dumps, named in the same file. They are no part of the repository: with \
             `ANRSCOPE_CORPUS=FOLDER` the test reads\nthem. A dump says what main does at one moment, after the fact.\n\n{}",
            confusion(real)
        );
    }
    page
}

#[test]
fn the_page_of_the_causes_is_what_the_rules_do() {
    let real = real();
    let page = page(real.as_deref());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/causes.md");
    if std::env::var_os("ANRSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let mut there = std::fs::read_to_string(&file).unwrap();
    if real.is_none() {
        // That part can only be made where the dumps are.
        there.truncate(there.find(&format!("\n{REAL}")).unwrap_or(there.len()));
    }
    assert_eq!(there, page, "docs/causes.md is not what the rules do");
}

#[test]
fn every_label_is_a_cause_and_every_cause_has_a_case() {
    let (cases, others) = scenario::cases(CASES);
    let labels: Vec<&str> =
        cases.iter().map(|c| &*c.label).chain(others.iter().map(|words| &*words[2])).collect();
    assert!(cases.len() >= 30);
    for label in &labels {
        assert!(CauseKind::ALL.iter().any(|kind| kind.word() == *label), "{label}");
    }
    for kind in CauseKind::ALL {
        assert!(labels.contains(&kind.word()), "{}", kind.word());
    }
}

#[test]
fn every_cause_has_evidence_and_nothing_is_claimed_without() {
    let (cases, _) = scenario::cases(CASES);
    for case in &cases {
        let (recording, map) = scenario::recording(case);
        let report = Report::build(Path::new(&case.name), &recording, &map).unwrap();
        let Some(cause) = report.cause else {
            assert_eq!(case.name, "nothing-hung");
            continue;
        };
        assert!(!cause.evidence.is_empty(), "{}: {cause:?}", case.name);
        assert!(cause.evidence.iter().all(|e| !e.text.is_empty()));
    }
}

/// At most one made-up case in ten may get another cause than its label, and none the cause of another by more than a guess.
#[test]
fn nine_made_up_cases_in_ten_have_the_cause_of_their_label() {
    let judged = made();
    let wrong: Vec<_> = judged.iter().filter(|(label, found, _)| label != found.word()).collect();
    assert!(wrong.len() * 10 <= judged.len(), "{wrong:#?}");
}
