//! A fleet of recordings in groups, and its Parquet file read back.

mod scenario;

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use exporter::fleet::{Row, groups, unactionable, write_parquet};
use exporter::{MethodMap, Report};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use trace_format::Recording;
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;

/// The synthetic cases, each repeated as often as its position in the file.
fn rows() -> Vec<Row> {
    let (cases, _) = scenario::cases(include_str!("data/causes.txt"));
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
    assert_eq!((binder.cause, binder.median_ns), ("binder-wait", 6_000_000_000));
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

#[test]
fn the_apps_version_comes_from_a_section_of_its_own() {
    let builder = RecordingBuilder::new(42, "com.example")
        .section(SectionKind::Process, b"sdk=34\n")
        .section(SectionKind::Process, b"sdk=7\napp_version=1.2\napp_version_code=12\n");
    let recording = Recording::open(builder.build()).unwrap();
    let report = Report::build(Path::new("a"), &recording, &MethodMap::empty()).unwrap();
    let row = Row::of("a", &recording, &report);
    assert_eq!(
        (row.sdk, row.app_version.as_deref(), row.app_version_code),
        (Some(34), Some("1.2"), Some(12))
    );
}

#[test]
fn the_parquet_file_has_the_same_rows() {
    let mut rows = rows();
    rows[0].app_version = Some("1.2 beta".to_owned());
    rows[0].app_version_code = Some(u32::MAX);
    let mut file = Vec::new();
    write_parquet(&rows, &mut file).unwrap();
    let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
    let mut read = 0;
    for (found, row) in reader.get_row_iter(None).unwrap().zip(&rows) {
        let found = found.unwrap();
        let columns: HashMap<&str, &Field> = found.get_column_iter().map(|(k, v)| (k.as_str(), v)).collect();
        let text = |name: &str| match columns[name] {
            Field::Str(text) => Some(text.clone()),
            _ => None,
        };
        assert_eq!(text("file").as_deref(), Some(&*row.file));
        assert_eq!(text("cause").as_deref(), Some(row.cause));
        assert_eq!(
            (text("root"), text("holder"), text("method")),
            (row.root.clone(), row.holder.clone(), row.method.clone())
        );
        assert_eq!(columns["hang_ns"], &Field::Long(row.hang_ns as i64));
        assert_eq!(columns["hung"], &Field::Bool(row.hung));
        assert_eq!(columns["start"], &Field::TimestampMicros(row.start_us));
        assert_eq!(columns["cold_start_ns"], &Field::Null);
        assert_eq!(
            (text("device"), text("component").as_deref(), text("verdict").as_deref(), text("stack_hash")),
            (row.device.clone(), row.component, row.verdict, row.stack_hash.clone())
        );
        let flag = |of: Option<bool>| of.map_or(Field::Null, Field::Bool);
        assert_eq!(columns["foreground"], &flag(row.foreground));
        let number = |of: Option<u32>| of.map_or(Field::Null, |n| Field::Long(n.into()));
        assert_eq!(columns["sdk"], &number(row.sdk));
        assert_eq!(
            (text("app_version"), columns["app_version_code"]),
            (row.app_version.clone(), &number(row.app_version_code))
        );
        read += 1;
    }
    assert_eq!(read, rows.len());
    let mut none = Vec::new();
    write_parquet(&[], &mut none).unwrap();
    assert_eq!(
        SerializedFileReader::new(Bytes::from(none)).unwrap().metadata().file_metadata().num_rows(),
        0
    );
}
