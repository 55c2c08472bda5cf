//! Recordings that the recorder wrote, in files.
//!
//! * `shop.anrscope.gz`, on a JVM: coarse and precise methods, a lock wait, a pause, a method switched off, a requested dump, the
//!   cost of an event.
//! * `app-life.anrscope.gz`, the life of an app (`trace-runtime/tests/live/android_host/life.rs`) on fakes of Android's classes:
//!   frames with their stages, messages with their targets, starts, reports, stack samples, the snapshot of an ANR by each
//!   detector, the system's record of the process's exit. It has no method map.

use std::io::Read;
use std::path::Path;

use exporter::MethodMap;

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

pub fn shop() -> (Vec<u8>, MethodMap) {
    let lines = include_bytes!("../../../../exporter/tests/data/shop.map").to_vec();
    let mut map = MethodMap::parse(Path::new("map"), lines).unwrap();
    map.set_source_lines(include_str!("../../../../exporter/tests/data/shop.map.lines").to_owned());
    (unpacked(include_bytes!("../../../../exporter/tests/data/shop.anrscope.gz")), map)
}

pub fn app_life() -> Vec<u8> {
    unpacked(include_bytes!("../../../../exporter/tests/data/app-life.anrscope.gz"))
}
