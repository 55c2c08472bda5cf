//! The instrumenter on archives and on the texts that a user may give. The first byte chooses which.
#![no_main]

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::LazyLock;

use instrumenter::{Input, MapPaths, Options, instrument};
use zip::ZipArchive;

/// Each input is a run, so the temporary directory should be in memory.
static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = std::env::temp_dir().join(format!("anrscope-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let jar = include_bytes!("../../../instrumenter/tests/data/instr_fixture/in.jar");
    std::fs::write(directory.join("given.jar"), jar).expect("an archive");
    directory
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 2_048, || {
    let Some((kind, text)) = bytes.split_first() else { return };
    let mut options = Options { threads: 1, ..Options::default() };
    let archive = match kind % 6 {
        4 => Some("in.jar"),
        5 => Some("in.aar"),
        _ => None,
    };
    let file = DIRECTORY.join(archive.unwrap_or("text"));
    std::fs::write(&file, text).expect("room for a file");
    let path = || Some(file.clone());
    match kind % 6 {
        0 => options.mapping = path(),
        1 => options.rules = path(),
        2 => options.block_list = path(),
        3 => options.base_map = path(),
        _ => {}
    }
    let input = if archive.is_some() { file.clone() } else { DIRECTORY.join("given.jar") };
    let out = DIRECTORY.join("out.jar");
    let maps = MapPaths::beside(DIRECTORY.join("methodMapping.txt"));
    let done = instrument(&[Input::new(input, &out)], &maps, &options, &|_| {});
    match done {
        Ok(summary) if archive.is_none() => assert!(summary.classes > 0, "the given archive has classes"),
        // An archive that others can read stays one.
        Ok(_) if ZipArchive::new(Cursor::new(text)).is_ok() => {
            let written = std::fs::read(&out).expect("an output");
            ZipArchive::new(Cursor::new(written)).expect("the output is an archive");
        }
        _ => {}
    }
}));
