//! Thread dumps and mappings.

use std::path::Path;

use answers::dump::Dump;
use answers::dump_report::PageOptions;
use answers::retrace::Mapping;

/// Reads bytes as a dump, and does everything with it that the program does.
pub fn dump(bytes: &[u8]) {
    let Ok(mut dump) = Dump::read(Path::new("x"), bytes) else { return };
    let frames: usize = dump.sections.iter().flat_map(|s| &s.threads).map(|t| t.frames.len()).sum();
    // The shortest frame is `at a.b`; one in JSON is shorter still.
    assert!(frames <= bytes.len() / 4, "{frames} frames in {} bytes", bytes.len());
    for options in [
        PageOptions::default(),
        PageOptions { all: true, thread: None },
        PageOptions { all: false, thread: Some("a".into()) },
    ] {
        let mut page = String::new();
        dump.write_page(&mut page, &options).unwrap();
        assert!(page.chars().all(|c| c == '\n' || !c.is_control()));
    }
    assert!(dump.to_json("x")["sections"].is_array());
    let mut groups = answers::dump_report::Groups::default();
    groups.add("x", &dump);
    assert_eq!((groups.texts, groups.finish().len()), (1, 1));
    dump.retrace(&Mapping::parse(Path::new("m"), MAPPING.as_bytes()).unwrap());
    assert!(dump.to_json("x")["sections"].is_array());
}

/// Reads bytes as a mapping, and looks up everything in it.
pub fn mapping(bytes: &[u8]) {
    let Ok(mapping) = Mapping::parse(Path::new("m"), bytes) else { return };
    let text = String::from_utf8_lossy(bytes);
    let mut class = "";
    for line in text.lines().take(400) {
        let Some((_, name)) = line.split_once(" -> ") else { continue };
        if let Some(name) = name.strip_suffix(':') {
            class = name;
            continue;
        }
        for line in [None, Some(0), Some(1), Some(7), Some(65_535), Some(u32::MAX)] {
            for outline in [None, Some(1), Some(u32::MAX)] {
                let found = mapping.frame(class, name, line, outline);
                assert!(
                    found.len() <= 16 && found.iter().all(|stack| !stack.is_empty() && stack.len() <= 256)
                );
            }
        }
        let _ = mapping.method(class, name, "(ILa/b;[[J)V");
        let _ = mapping.method(class, name, "(");
    }
}

/// The texts of the tests.
pub fn samples() -> Vec<(bool, Vec<u8>)> {
    let directory = crate::root().join("exporter/answers/tests/data/dump");
    let mut entries: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let is_mapping = |path: &Path| path.to_string_lossy().contains("mapping");
    entries.iter().map(|path| (is_mapping(path), std::fs::read(path).unwrap())).collect()
}

const MAPPING: &str = "com.acme.Main -> a.b:\n    1:9:void inner():3:3 -> c\n    1:9:void outer():5 -> c\n    void x() -> d\n\
    com.acme.Other -> java.lang.Thread:\n    void go() -> run\n    void gone() -> run\n";
