//! The answers to be judged, in the form of `Answer::to_json`.

use std::path::Path;

use answers::answer::Answer;
use answers::dump::Dump;
use exporter::{MethodMap, Report};
use serde_json::Value;
use trace_format::Recording;

/// Of a dump.
pub(crate) fn of_dump(dump: &Dump) -> Value {
    Answer::from(dump).to_json()
}

/// Of a recording.
pub(crate) fn of_recording(recording: &Recording<Vec<u8>>, map: &MethodMap) -> Value {
    Report::build(Path::new("recording"), recording, map).unwrap().answer.to_json()
}
