//! A fleet of recordings in groups, and the Parquet file of it read back.

mod scenario;

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use exporter::Report;
use exporter::fleet::{Row, groups, write_parquet};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// Every made-up case as often as its place in the file.
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
fn the_parquet_file_holds_the_same_rows() {
    let rows = rows();
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
