//! Recordings that earlier versions wrote are read as those versions read them.
//!
//! `recording-1.0.anrscope.gz` was written by the recorder of format 1.0: three frames, a worker that holds a lock, main
//! waiting for it, the watchdog's stall, a SIGQUIT with its verdict, SIGKILL. `recording-1.0.json` is what that version's
//! `export` made of it, and `recording-1.0.txt` its `report`.

mod common;

use std::io::Read;
use std::path::Path;

use common::collect::collect;
use common::map;
use exporter::{ExportInput, ExportOptions, Format, Report, Warning, export};
use trace_format::{Recording, layout};

fn version_1_0() -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed = &include_bytes!("data/recording-1.0.anrscope.gz")[..];
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Every event but the description of the tracks, by text.
fn events(json: &str) -> Vec<serde_json::Value> {
    let document: serde_json::Value = serde_json::from_str(json).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    events.iter().filter(|event| event["ph"] != "M").cloned().collect()
}

#[test]
fn a_recording_of_version_1_0_exports_to_what_that_version_made_of_it() {
    let bytes = version_1_0();
    let recording = Recording::open(&bytes).unwrap();
    assert_eq!(recording.header().version, (1, 0));
    assert_eq!((layout::MAJOR, recording.faults().0), (1, &[][..]), "it is read, and as it was meant");
    let map = map();
    assert_eq!(recording.header().map_id, map.map_id());

    let input = ExportInput { file: Path::new("old"), recording: &recording, map: &map };
    let mut out = Vec::new();
    let options = ExportOptions { format: Format::ChromeJson, ..ExportOptions::default() };
    let summary = export(&[input], &options, &mut out).unwrap();
    assert_eq!(summary.warnings, [] as [Warning; 0]);
    let (found, wanted) = (String::from_utf8(out).unwrap(), include_str!("data/recording-1.0.json"));
    // Tids that we make up for tracks are no part of what was recorded.
    let without_tid = |json: &str| {
        let mut events = events(json);
        for event in &mut events {
            if event["tid"].as_u64().is_some_and(|tid| tid >= 1 << 24) {
                event["tid"] = 0.into();
            }
        }
        events
    };
    let (found, wanted) = (without_tid(&found), without_tid(wanted));
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!(found, wanted);
    }
    assert_eq!((found.len(), wanted.len()), (26, 26));

    let (model, tally) = collect(&bytes, &map);
    assert_eq!((tally.slices, tally.tracks, tally.anrs, tally.incomplete), (23, 3, 1, 0));
    assert_eq!((model.instants.len(), tally.skipped, tally.paused, tally.main_cost_ppm), (1, 0, 0, 0));
}

#[test]
fn its_report_is_the_page_it_always_was_with_what_is_told_since() {
    let bytes = version_1_0();
    let recording = Recording::open(&bytes).unwrap();
    let page = Report::build(Path::new("old"), &recording, &map()).unwrap().to_string();
    if std::env::var_os("ANRSCOPE_WRITE_DATA").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recording-1.0.txt");
        std::fs::write(file, &page).unwrap();
        return;
    }
    assert_eq!(page, include_str!("data/recording-1.0.txt"));
}
