//! A fleet of recordings in groups, and its rows read back from both forms of the table.

use std::path::Path;
use test_support::scenario;

use exporter::fleet::{Row, groups, unactionable, write_csv, write_json_lines};
use exporter::{MethodMap, Report};
use proptest::prelude::*;
use serde_json::Value;
use trace_format::Recording;
use trace_format::event::Clocks;
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;

/// The synthetic cases, each repeated as often as its position in the file.
fn rows() -> Vec<Row> {
    let (cases, _) = scenario::cases(include_str!("../data/causes.txt"));
    let mut rows = Vec::new();
    for (n, case) in cases.iter().enumerate() {
        let (recording, map) = scenario::recording(case);
        let report = Report::build(Path::new(&case.name), &recording, &map).unwrap();
        rows.extend((0..=n).map(|i| Row::of(&format!("{}-{i:03}", case.name), &recording, &report)));
    }
    rows
}

#[test]
fn groups_hold_every_recording_once_and_the_largest_come_first() {
    let rows = rows();
    let groups = groups(&rows);
    assert_eq!(groups.iter().map(|g| g.count).sum::<u64>(), rows.len() as u64);
    assert!(groups.is_sorted_by(|a, b| a.count >= b.count));
    let binder = groups.iter().find(|g| g.root.as_deref() == Some("com.acme.Accounts.list")).unwrap();
    assert_eq!((binder.cause, binder.median_ns), ("binder-call", 6_000_000_000));
    let none = groups.iter().find(|g| g.cause == "none").unwrap();
    assert_eq!((none.root.as_deref(), none.longest_ns), (None, 0));
}

#[test]
fn hangs_that_the_device_caused_are_unactionable_and_those_of_the_app_are_not() {
    let rows = rows();
    let causes = unactionable(&rows);
    assert_eq!(
        causes.iter().map(|(_, count)| count).sum::<u64>(),
        rows.iter().filter(|row| row.unactionable).count() as u64
    );
    assert!(causes.is_sorted_by(|a, b| a.1 >= b.1));
    let known: Vec<_> = causes.iter().map(|(cause, _)| *cause).collect();
    for cause in
        ["frozen", "cpu-other-processes", "cpu-background", "thermal", "debugger", "io-other-processes"]
    {
        assert!(known.contains(&cause), "{known:?}");
    }
    for cause in ["cpu-own-threads", "io-own-threads", "gc", "busy-method", "lock-wait", "unknown"] {
        assert!(!known.contains(&cause), "{known:?}");
    }
}

fn row_of(recording: RecordingBuilder) -> Row {
    let recording = Recording::open(recording.build()).unwrap();
    let report = Report::build(Path::new("a"), &recording, &MethodMap::empty()).unwrap();
    Row::of("a", &recording, &report)
}

#[test]
fn the_apps_version_comes_from_a_section_of_its_own() {
    let row = row_of(
        RecordingBuilder::new(42, "com.example")
            .section(SectionKind::Process, b"sdk=34\n")
            .section(SectionKind::Process, b"sdk=7\napp_version=1.2\napp_version_code=12\n"),
    );
    assert_eq!(
        (row.sdk, row.app_version.as_deref(), row.app_version_code),
        (Some(34), Some("1.2"), Some(12))
    );
}

/// Reads the JSON Lines with serde_json.
fn read_lines(rows: &[Row]) -> Vec<Value> {
    let mut lines = Vec::new();
    write_json_lines(rows, &mut lines).unwrap();
    String::from_utf8(lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Reads the CSV with the crate csv: the names of the columns, and the records.
fn read_csv(rows: &[Row]) -> (csv::StringRecord, Vec<csv::StringRecord>) {
    let mut text = Vec::new();
    write_csv(rows, &mut text).unwrap();
    let mut reader = csv::Reader::from_reader(&text[..]);
    (reader.headers().unwrap().clone(), reader.records().map(Result::unwrap).collect())
}

#[test]
fn both_forms_have_every_row_with_the_same_values() {
    let mut rows = rows();
    rows[0].app_version_code = Some(u32::MAX);
    let (lines, (columns, records)) = (read_lines(&rows), read_csv(&rows));
    assert_eq!((lines.len(), records.len()), (rows.len(), rows.len()));
    for ((row, line), record) in rows.iter().zip(&lines).zip(&records) {
        assert_eq!(line["file"], row.file);
        assert_eq!((&line["cause"], &line["hung"]), (&row.cause.into(), &row.hung.into()));
        assert_eq!(line["hang_ns"], row.hang_ns);
        assert_eq!((&line["root"], &line["owner"]), (&row.root.clone().into(), &row.owner.clone().into()));
        assert_eq!((&line["foreground"], &line["sdk"]), (&row.foreground.into(), &row.sdk.into()));
        assert_eq!(line["app_version_code"], Value::from(row.app_version_code));
        assert_eq!(line.as_object().unwrap().len(), columns.len());
        for (column, field) in columns.iter().zip(record) {
            let value = &line[column];
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert_eq!(field, if value.is_null() { "" } else { &text }, "{column}");
        }
    }
}

#[test]
fn a_recording_that_did_not_read_the_clock_has_no_start() {
    let start = |realtime| {
        let clocks = Clocks { boottime: 1, monotonic: 1, realtime };
        read_lines(&[row_of(RecordingBuilder::new(42, "com.example").start(clocks))])[0]["start"].clone()
    };
    assert_eq!(start(0), Value::Null);
    assert_eq!(start(1_709_251_200_000_001_999), "2024-03-01T00:00:00.000001Z");
}

/// Texts that CSV, JSON and spreadsheets treat in a special way, and all others.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[=+@-]?[\"',;\t\r\n\\\\\u{0}-\u{1f}\u{7f}\u{2028}\u{feff} a1.🧊]{0,12}",]
}

proptest! {
    #[test]
    fn any_text_survives_in_both_forms(
        file in texts(),
        process in texts(),
        root in proptest::option::of(texts()),
        version in proptest::option::of(texts()),
    ) {
        let row = Row { file, process, root, app_version: version, ..row_of(RecordingBuilder::new(42, "")) };
        let expected = [Some(&row.file), Some(&row.process), row.root.as_ref(), row.app_version.as_ref()];
        let columns = ["file", "process", "root", "app_version"];
        let rows = [row.clone(), row.clone()];
        let (lines, (head, records)) = (read_lines(&rows), read_csv(&rows));
        prop_assert_eq!((lines.len(), records.len()), (2, 2));
        for (line, record) in lines.iter().zip(&records) {
            for (column, text) in columns.iter().zip(expected) {
                prop_assert_eq!(line[column].as_str(), text.map(String::as_str));
                let at = head.iter().position(|name| name == *column).unwrap();
                // The reader does not tell an empty text from a missing one; a test beside the writer does.
                prop_assert_eq!(&record[at], text.map_or("", String::as_str));
            }
        }
    }
}
