//! The report as JSON fits its written schema, and answers five questions of five recordings as expected.

use std::path::Path;
use test_support::recordings;
use test_support::scenario;
use test_support::schema;

use exporter::Report;
use serde_json::{Value, json};
use test_support::recordings::{stalled, verdict};
use trace_format::Recording;
use trace_format::section::SectionKind;
use trace_format::verdict::Outcome;

fn of_case(name: &str) -> Report {
    let (cases, _) = scenario::cases(include_str!("../data/causes.txt"));
    let case = cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"));
    let (recording, map) = scenario::recording(case);
    Report::build(Path::new(name), &recording, &map).unwrap()
}

#[test]
fn every_report_fits_the_written_schema() {
    let (cases, _) = scenario::cases(include_str!("../data/causes.txt"));
    let mut reports: Vec<Value> = cases.iter().map(|case| of_case(&case.name).to_json(&case.name)).collect();
    let start = "kind=cold\nactivity=a.Main\nbegin=100000000000\napplication_end=100400000000\nend=101000000000\ngrade=good\n";
    let full = stalled()
        .section(SectionKind::Verdict, &verdict(Outcome::Anr, true).encode())
        .section(SectionKind::Startup, start.as_bytes())
        .section(SectionKind::PlatformProfile, b"path=/x\nbytes=1\n")
        .section(SectionKind::PlatformProfile, b"outcome=requested\nasked_ns=7\n")
        .section(SectionKind::PlatformProfile, b"trigger=anomaly\ntag=x\noutcome=failed\n");
    let recording = Recording::open(full.build()).unwrap();
    let report = Report::build(Path::new("a"), &recording, &recordings::map()).unwrap();
    assert!(
        report
            .verbose()
            .to_string()
            .contains("STARTS\n     1.000 s  at +0.000 s  cold  a.Main (application 400.0 ms, good)\n"),
        "{report}"
    );
    reports.push(report.to_json("a"));
    let document = json!({"schema": exporter::report::SCHEMA_VERSION, "reports": reports});
    // The check can fail.
    let mut documents = vec![document.clone()];
    for (path, value) in [
        ("/reports/0/pid", json!("x")),
        ("/reports/0/hang/stack/0/kind", json!("x")),
        ("/reports", json!({})),
    ] {
        let mut bad = document.clone();
        *bad.pointer_mut(path).unwrap() = value;
        documents.push(bad);
    }
    let mut less = document;
    less["reports"][0].as_object_mut().unwrap().remove("answer");
    documents.push(less);
    let faults = schema::faults(&schema::written(), &documents);
    assert!(faults[0].is_empty(), "{:#?}", faults[0]);
    for (i, faults) in faults.iter().enumerate().skip(1) {
        assert!(!faults.is_empty(), "spoiled document {i}");
    }
}

/// Every key that a report has is one that the schema explains.
#[test]
fn the_schema_knows_every_key() {
    let mut closed = schema::written();
    close(&mut closed);
    let mut unknown = json!({"schema": "1.0", "reports": [of_case("lock-in-a-circle").to_json("x")]});
    let document = unknown.clone();
    unknown["reports"][0]["hang"]["colour"] = json!("red");
    let faults = schema::faults(&closed, &[document, unknown]);
    assert!(faults[0].is_empty() && faults[1].len() == 1, "{faults:#?}");
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(additional) = map.get_mut("additionalProperties") {
                *additional = json!(false);
            }
            map.values_mut().for_each(close);
        }
        Value::Array(values) => values.iter_mut().for_each(close),
        _ => {}
    }
}

/// Puts an owner of `answer.owners` in one line.
fn owner(owner: &Value) -> String {
    let [thread, lock, root, doing] =
        [&owner["thread"], &owner["lock"], &owner["root"]["name"], &owner["doing"]]
            .map(|of| of.as_str().unwrap());
    format!("thread \"{thread}\" (tid {}) owns the lock of {lock}: {root} ({doing})", owner["tid"])
}

#[test]
fn five_recordings_answer_five_questions() {
    let expected = include_str!("../data/answers.txt");
    let lines: Vec<&str> = expected.lines().filter(|line| !line.starts_with('#')).collect();
    let mut asked = 0;
    for block in lines.split(|line| line.is_empty()).filter(|block| !block.is_empty()) {
        let report = of_case(block[0]);
        let json = report.to_json("a");
        let answer = &json["answer"];
        let words = |value: &Value| value.as_str().map(str::to_owned);
        let what = words(&answer["root"]["name"]).or_else(|| words(&answer["finding"])).unwrap();
        let message = words(&json["hang"]["unit"]["name"]).unwrap_or_else(|| "none".to_owned());
        let owner = answer["owners"].get(0).map_or_else(|| "none".to_owned(), owner);
        let [headline, next] = ["headline", "next"].map(|key| words(&answer[key]).unwrap());
        let rows = [what, headline, message, owner, next];
        assert_eq!(rows[..], block[1..], "{}", block[0]);
        // And the page has it for readers of only that.
        let page = report.to_string();
        assert!(page.starts_with(&format!("{}\nCause: ", rows[1])), "{page}");
        assert!(page.lines().count() < 60, "one page:\n{page}");
        asked += 1;
    }
    assert_eq!(asked, 5);
}
