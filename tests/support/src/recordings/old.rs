//! Recordings written by earlier versions; `old_versions.rs` describes them.

use std::io::Read;
use std::path::Path;

use exporter::MethodMap;

pub fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

pub fn version_1_0() -> Vec<u8> {
    unpacked(include_bytes!("../../../../exporter/tests/data/recording-1.0.anrscope.gz"))
}

pub fn version_1_1() -> (Vec<u8>, MethodMap) {
    let lines = include_bytes!("../../../../exporter/tests/data/recording-1.1.map").to_vec();
    let mut map = MethodMap::parse(Path::new("map"), lines).unwrap();
    map.set_source_lines(include_str!("../../../../exporter/tests/data/recording-1.1.map.lines").to_owned());
    (unpacked(include_bytes!("../../../../exporter/tests/data/recording-1.1.anrscope.gz")), map)
}
