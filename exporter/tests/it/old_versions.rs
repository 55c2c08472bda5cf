//! Recordings of earlier versions are read as those versions read them.
//!
//! `recording-1.0.anrscope.gz` was written by the recorder of format 1.0: three frames, a worker that owns a
//! lock, main waiting for it, the watchdog's stall, a SIGQUIT with its verdict, SIGKILL.
//! `recording-1.1.anrscope.gz` was written by that of format 1.1 on a JVM: coarse and precise methods, a lock
//! wait, a pause, a method switched off, a requested dump, the cost of an event. `recording-1.2.anrscope.gz` is
//! the life of an app (`trace-runtime/tests/it/android_host/life.rs`) on fakes of Android's classes: frames with
//! their stages, messages with their targets, starts, reports, stack samples, the snapshot of an ANR by each
//! detector, the system's record of the process's exit; it has no method map. `recording-1.3.anrscope.gz` is the same life,
//! written by the recorder of format 1.3. `recording-1.4.anrscope.gz` was written by that of format 1.4 on a JVM whose main
//! waits for a `ReentrantLock`, `recording-1.5.anrscope.gz` by that of format 1.5 on a JVM whose pool waits for itself. A file must be kept from the day on which the format advances. The `.json`
//! beside each is the `export` of that version, and the `.txt` its `report`.

use std::path::Path;

use exporter::{ExportInput, ExportOptions, Format, MethodMap, Report, Warning, export};
use serde_json::Value;
use test_support::recordings::collect::collect;
use test_support::recordings::map;
use test_support::recordings::old::{unpacked, version_1_0, version_1_1};
use trace_format::{Recording, layout};

/// Every event but the description of the tracks. Tids that we make up for tracks are no part of what was recorded.
fn events(json: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(json).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    let mut events: Vec<_> = events.iter().filter(|event| event["ph"] != "M").cloned().collect();
    for event in &mut events {
        if event["tid"].as_u64().is_some_and(|tid| tid >= 1 << 24) {
            event["tid"] = 0.into();
        }
    }
    events
}

/// Words of versions before, and Perfetto's names of these thread states today.
const STATES: [(&str, &str); 4] = [
    ("asleep", "Sleeping"),
    ("running", "Running"),
    ("waiting for a processor", "Runnable"),
    ("in uninterruptible sleep", "Uninterruptible Sleep"),
];

/// Whether `new` is `old` with Perfetto's name of a thread state, or with the name of an `ActivityThread$H`
/// message that used to be a number only.
fn names(new: &Value, old: &Value) -> bool {
    let (Some(new), Some(old)) = (new.as_str(), old.as_str()) else { return false };
    if STATES.contains(&(old, new)) {
        return true;
    }
    let name = new.strip_prefix(old).and_then(|rest| rest.strip_prefix(' '));
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    old.contains("ActivityThread$H: #") && name.is_some_and(is_name)
}

/// Whether `new` has everything in `old`; later versions may have more.
fn says(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => old.iter().all(|(key, old)| {
            new.get(key).is_some_and(|new| says(new, old) || key == "name" && names(new, old))
        }),
        _ => new == old,
    }
}

/// An event as it is shown today: estimated stages beside the system's metrics of their frame follow those
/// metrics, and nothing of such a frame is estimated.
fn not_measured(mut event: Value) -> Option<Value> {
    let Some(args) = event.get_mut("args").and_then(Value::as_object_mut) else { return Some(event) };
    let (estimated, stage) = (args.contains_key("estimated"), args.contains_key("stage"));
    if estimated && stage && args.contains_key("measured_ms") {
        return None;
    }
    if estimated && args.contains_key("total_ms") {
        args.remove("estimated");
    }
    Some(event)
}

/// An event from before the name of an ANR had its cause in front of the subject.
fn without_cause(mut event: Value, wanted: &Value) -> Value {
    let subject = wanted["name"].as_str().and_then(|name| name.strip_prefix("ANR: "));
    let name =
        event["name"].as_str().filter(|name| name.starts_with("ANR: ") && event["args"]["cause"].is_string());
    if let (Some(subject), Some(true)) =
        (subject, name.zip(subject).map(|(n, s)| n.ends_with(&format!(": {s}"))))
    {
        event["name"] = format!("ANR: {subject}").into();
    }
    event
}

/// Exports `bytes` and checks for everything that earlier versions exported, in the same order.
fn still_says(bytes: &[u8], map: &MethodMap, version: (u16, u16), wanted: &str, events_then: usize) {
    let recording = Recording::open(bytes).unwrap();
    assert_eq!(recording.header().version, version);
    assert_eq!((layout::MAJOR, recording.faults().0), (1, &[][..]), "it is read, and as it was meant");

    let input = ExportInput { file: Path::new("old"), recording: &recording, map };
    let mut out = Vec::new();
    let options = ExportOptions { format: Format::ChromeJson, ..ExportOptions::default() };
    let summary = export(&[input], &options, &mut out).unwrap();
    let unmapped = |warning: &Warning| warning.to_string().contains("no method map");
    assert!(
        summary.warnings.iter().all(|warning| map.is_empty() && unmapped(warning)),
        "{:?}",
        summary.warnings
    );
    assert!(map.is_empty() || recording.header().map_id == map.map_id());
    let (found, wanted) = (events(&String::from_utf8(out).unwrap()), events(wanted));
    assert_eq!(wanted.len(), events_then);
    let mut found = found.iter();
    for wanted in wanted.into_iter().filter_map(not_measured) {
        assert!(
            found.any(|found| says(&without_cause(found.clone(), &wanted), &wanted)),
            "gone or changed: {wanted}"
        );
    }
}

#[test]
fn a_recording_of_version_1_0_exports_to_what_that_version_made_of_it() {
    let bytes = version_1_0();
    still_says(&bytes, &map(), (1, 0), include_str!("../data/recording-1.0.json"), 26);
    let (model, tally) = collect(&bytes, &map());
    // Its 23 slices, two of the list of main's messages before the ANR, and the owner's slice on a lock track.
    assert_eq!((tally.slices, tally.tracks, tally.anrs, tally.incomplete), (26, 5, 1, 0));
    // Its dump, and both sides of the wait.
    assert_eq!((model.instants.len(), tally.skipped, tally.paused, tally.main_cost_ppm), (3, 0, 0, 0));
}

#[test]
fn its_report_is_the_earlier_page_with_additions_only() {
    let bytes = version_1_0();
    let recording = Recording::open(&bytes).unwrap();
    let page = Report::build(Path::new("old"), &recording, &map()).unwrap().verbose().to_string();
    if std::env::var_os("ANRSCOPE_WRITE_DATA").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recording-1.0.txt");
        std::fs::write(file, &page).unwrap();
        return;
    }
    assert_eq!(page, include_str!("../data/recording-1.0.txt"));
}

#[test]
fn a_recording_of_version_1_1_exports_to_what_that_version_made_of_it() {
    let (bytes, map) = version_1_1();
    still_says(&bytes, &map, (1, 1), include_str!("../data/recording-1.1.json"), 25);
    let (_, tally) = collect(&bytes, &map);
    assert_eq!((tally.slices, tally.methods_off, tally.skipped, tally.faults), (18, 1, 0, 0));
    assert!(tally.paused >= 20_000_000 && tally.main_cost_ppm < 10_000, "{tally:?}");
}

#[test]
fn the_report_of_version_1_1_still_has_what_was_recorded() {
    let (bytes, map) = version_1_1();
    let recording = Recording::open(&bytes).unwrap();
    let page = Report::build(Path::new("old"), &recording, &map).unwrap().verbose().to_string();
    for fact in ["paused from +0.038 s to +0.058 s", "com.example.Shop.price (asked for)", "9.4 ns an event"]
    {
        assert!(page.contains(fact) && include_str!("../data/recording-1.1.txt").contains(fact), "{page}");
    }
}

#[test]
fn a_recording_of_version_1_2_exports_to_what_that_version_made_of_it() {
    let bytes = unpacked(include_bytes!("../data/recording-1.2.anrscope.gz"));
    let json = String::from_utf8(unpacked(include_bytes!("../data/recording-1.2.json.gz"))).unwrap();
    still_says(&bytes, &MethodMap::empty(), (1, 2), &json, 449);
    let (_, tally) = collect(&bytes, &MethodMap::empty());
    assert_eq!((tally.slices, tally.anrs, tally.skipped, tally.faults), (366, 2, 0, 0));
}

#[test]
fn a_recording_of_version_1_3_exports_to_what_that_version_made_of_it() {
    let bytes = unpacked(include_bytes!("../data/recording-1.3.anrscope.gz"));
    let json = String::from_utf8(unpacked(include_bytes!("../data/recording-1.3.json.gz"))).unwrap();
    still_says(&bytes, &MethodMap::empty(), (1, 3), &json, 451);
    let (_, tally) = collect(&bytes, &MethodMap::empty());
    assert_eq!((tally.slices, tally.anrs, tally.skipped, tally.faults), (377, 2, 0, 0));
    assert_eq!(Recording::open(&bytes).unwrap().native_slots().unwrap(), []);
}

#[test]
fn a_recording_of_version_1_4_exports_to_what_that_version_made_of_it() {
    let bytes = unpacked(include_bytes!("../data/recording-1.4.anrscope.gz"));
    let json = String::from_utf8(unpacked(include_bytes!("../data/recording-1.4.json.gz"))).unwrap();
    still_says(&bytes, &MethodMap::empty(), (1, 4), &json, 25);
    // Locks of java.util.concurrent had no owner, and nothing is said about one.
    let report =
        Report::build(Path::new("old"), &Recording::open(&bytes).unwrap(), &MethodMap::empty()).unwrap();
    assert!(report.hang.is_none_or(|hang| hang.why.is_none()));
}

#[test]
fn a_recording_of_version_1_5_exports_to_what_that_version_made_of_it() {
    let bytes = unpacked(include_bytes!("../data/recording-1.5.anrscope.gz"));
    let json = String::from_utf8(unpacked(include_bytes!("../data/recording-1.5.json.gz"))).unwrap();
    still_says(&bytes, &MethodMap::empty(), (1, 5), &json, 54);
    let report =
        Report::build(Path::new("old"), &Recording::open(&bytes).unwrap(), &MethodMap::empty()).unwrap();
    let cause = report.hang.and_then(|hang| hang.why).and_then(|why| why.cause);
    assert_eq!(cause.map(|cause| cause.word()), Some("pool-exhausted"));
}

#[test]
fn the_report_of_version_1_2_still_has_what_was_recorded() {
    let bytes = unpacked(include_bytes!("../data/recording-1.2.anrscope.gz"));
    let recording = Recording::open(&bytes).unwrap();
    let page =
        Report::build(Path::new("old"), &recording, &MethodMap::empty()).unwrap().verbose().to_string();
    for fact in [
        "main thread blocked for 6.8 s; ",
        "68 of 68 samples of main's stack are in java.lang.Thread.sleep",
        "68/68    dev.anrscope.AppLife.lambda$life$26 (AppLife.java:163)",
        "the system lists us as not responding (poll 1)",
        "6.766 s  TRAVERSAL",
        "the watchdog noticed after 1.005 s",
    ] {
        assert!(page.contains(fact), "{fact}: {page}");
    }
}
