//! Matrix's own data as input: its raw ring in both byte orders, and its reports.

use std::path::Path;

use exporter::matrix::{IssueOptions, issues, recording_of};
use exporter::{ExportInput, ExportOptions, Format, Report, export};
use proptest::prelude::*;
use serde_json::{Value, json};
use test_support::recordings::{MS, S, map};
use trace_format::{Event, Item, Recording, ids};

fn word(entered: bool, id: u32, ms: u64) -> u64 {
    (u64::from(entered) << 63) | (u64::from(id) << 43) | ms
}

fn big(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}

fn little(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn open(bytes: &[u8]) -> Recording<Vec<u8>> {
    Recording::open(recording_of(Path::new("m"), bytes).unwrap().unwrap()).unwrap()
}

/// Main's calls, ms since the first.
fn calls(recording: &Recording<Vec<u8>>) -> Vec<(bool, u32, u64)> {
    let main = recording.threads().iter().find(|t| t.main).unwrap();
    let mut found = Vec::new();
    for item in recording.events(main) {
        match item.unwrap() {
            Item::Event { time, event: Event::Enter(id) } => found.push((true, id, (time - S) / MS)),
            Item::Event { time, event: Event::Exit(id) } => found.push((false, id, (time - S) / MS)),
            _ => {}
        }
    }
    found
}

fn exported(recording: &Recording<Vec<u8>>) -> Value {
    let map = map();
    let input = ExportInput { file: Path::new("m"), recording, map: &map };
    let options = ExportOptions { format: Format::ChromeJson, ..ExportOptions::default() };
    let mut out = Vec::new();
    export(&[input], &options, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn a_raw_ring_is_read_in_either_byte_order_with_a_notice() {
    let words = [
        word(true, ids::DISPATCH, 5_000),
        word(true, 1, 5_010),
        word(true, 2, 5_020),
        word(false, 2, 5_900),
        word(false, 1, 5_950),
        word(false, ids::DISPATCH, 6_006),
    ];
    for (bytes, order) in [(big(&words), "big-endian"), (little(&words), "little-endian")] {
        let recording = open(&bytes);
        assert_eq!(
            calls(&recording),
            [
                (true, ids::DISPATCH, 0),
                (true, 1, 10),
                (true, 2, 20),
                (false, 2, 900),
                (false, 1, 950),
                (false, ids::DISPATCH, 1_006)
            ]
        );
        let report = Report::build(Path::new("m"), &recording, &map()).unwrap();
        assert!(report.notices[0].1.contains(order), "{:?}", report.notices);
        let issue_lines = issues(Path::new("m"), &recording, &map(), &IssueOptions::default()).unwrap().lines;
        let issue: Value = serde_json::from_str(&issue_lines[0]).unwrap();
        assert_eq!(issue["stack"], "0,1048574,1,1006\n1,1,1,940\n2,2,1,880\n");
        assert!(exported(&recording).to_string().contains("com.example.Sync.save"));
    }
}

#[test]
fn a_wrapped_ring_starts_with_its_oldest_word_and_empty_slots_are_skipped() {
    let words = [
        word(true, 3, 9_000),
        word(false, 3, 9_005),
        word(true, 1, 1_000),
        word(false, 1, 1_005),
        word(true, 2, 2_000),
        word(false, 2, 2_005),
        word(true, 4, 3_000),
        word(false, 4, 3_005),
    ];
    // The drop in the middle must not be most of it.
    let mut many: Vec<u64> = words.to_vec();
    for i in 0..40 {
        many.push(word(i % 2 == 0, 5, 4_000 + i));
    }
    let recording = open(&big(&many));
    assert_eq!(calls(&recording)[..2], [(true, 1, 0), (false, 1, 5)]);
    assert_eq!(calls(&recording).last(), Some(&(false, 3, 8_005)));
    let zeros = [vec![0; 800], big(&words[2..]), vec![0; 80]].concat();
    assert_eq!(calls(&open(&zeros)).len(), 6);
}

#[test]
fn what_is_no_ring_is_left_to_others() {
    for bytes in
        [&b""[..], b"1234567", b"hello world of 16", b"some plain text that is 40 bytes long...", &[0; 64]]
    {
        assert!(recording_of(Path::new("m"), bytes).is_none(), "{bytes:?}");
    }
}

const ANR: &str = "0,1048574,1,5006\n1,1,1,5000\n2,5,3,30\n2,2,1,4900\n";

#[test]
fn a_report_becomes_slices_and_a_hang_that_was_not_over() {
    let issue = json!({"tag": "Trace_EvilMethod", "detail": "ANR", "cost": 5006, "scene": "com.example.Main",
        "stack": ANR, "stackKey": "2|", "process": "com.example.app", "time": 1_700_000_005_006_u64});
    let recording = open(issue.to_string().as_bytes());
    assert_eq!(recording.header().process_name, "com.example.app");
    let seen = calls(&recording);
    assert_eq!(seen.iter().filter(|(_, id, _)| *id == 5).count(), 6, "three calls");
    assert!(!seen.contains(&(false, 2, 4_930)), "it was open: {seen:?}");
    let report = Report::build(Path::new("m"), &recording, &map()).unwrap();
    let hang = report.hang.as_ref().unwrap();
    assert_eq!((hang.duration(), hang.ended), (5_006 * MS, false));
    assert_eq!(hang.method().unwrap().name, "com.example.Sync.save");
    // Returned unchanged.
    let issue_lines = issues(Path::new("m"), &recording, &map(), &IssueOptions::default()).unwrap().lines;
    assert_eq!(serde_json::from_str::<Value>(&issue_lines[0]).unwrap(), issue);
    assert!(exported(&recording).to_string().contains("Trace_EvilMethod ANR com.example.Main"));
}

#[test]
fn arrays_lines_and_reports_without_a_stack_are_read() {
    let slow = |time: u64| json!({"tag": "Trace_EvilMethod", "detail": "NORMAL", "cost": 800, "stack": "0,1048574,1,800\n", "time": time});
    let fps = json!({"tag": "Trace_FPS", "scene": "com.example.Main", "fps": 59.5, "time": 20_000});
    let array = json!([slow(10_000), fps, slow(30_000)]).to_string();
    let lines = format!("{}\n{}\n{}\n", slow(30_000), fps, slow(10_000));
    let (a, b) = (open(array.as_bytes()), open(lines.as_bytes()));
    assert_eq!(calls(&a), calls(&b));
    let d = ids::DISPATCH;
    assert_eq!(calls(&a), [(true, d, 0), (false, d, 800), (true, d, 20_000), (false, d, 20_800)]);
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    let error =
        |text: &str| recording_of(Path::new("m.json"), text.as_bytes()).unwrap().unwrap_err().to_string();
    assert!(
        error("{").starts_with("cannot read m.json: line 1, column 1: this is no JSON"),
        "{}",
        error("{")
    );
    assert!(error("{}").starts_with("cannot read m.json: report 1: it has neither"), "{}", error("{}"));
    assert!(error("[]").contains("there is no report"));
    let bad = r#"[{"tag":"Trace_FPS"},{"tag":"Trace_EvilMethod","stack":"0,5,1,1\n0,x,1,1"}]"#;
    assert!(error(bad).starts_with("cannot read m.json: report 2, line 2 of its stack: "), "{}", error(bad));
}

proptest! {
    #[test]
    fn any_bytes_are_a_recording_an_error_or_none(bytes: Vec<u8>) {
        if let Some(Ok(made)) = recording_of(Path::new("m"), &bytes) {
            Recording::open(made).unwrap();
        }
    }

    #[test]
    fn any_words_and_any_lines_make_a_recording_that_exports(
        words in proptest::collection::vec((any::<bool>(), 1..9_u32, 0..90_u64), 1..60),
        lines in "([0-3],[1-9],[0-9]{1,3},-?[0-9]{1,21}\n){0,12}",
        cost: u64,
        time: u64,
    ) {
        let mut ms = 0;
        let words: Vec<u64> = words.into_iter().map(|(e, id, gap)| { ms += gap; word(e, id, ms) }).collect();
        let issue = json!([{"tag": "Trace_EvilMethod", "detail": "ANR", "stack": lines, "cost": cost, "time": time}]);
        for bytes in [big(&words), issue.to_string().into_bytes()] {
            if let Some(Ok(made)) = recording_of(Path::new("m"), &bytes) {
                let recording = Recording::open(made).unwrap();
                exported(&recording);
                Report::build(Path::new("m"), &recording, &map()).unwrap();
            }
        }
    }
}
