//! The texts that a user may give to the instrumenter, and archives. The first byte chooses which.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use instrumenter::{Input, MapPaths, Options, instrument};

/// There is a run for each input, so the temporary folder should be in memory.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("anrscope-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let jar = include_bytes!("../../instrumenter/tests/data/instr_fixture/in.jar");
    std::fs::write(folder.join("given.jar"), jar).expect("an archive");
    folder
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 2_048, || {
    let Some((kind, text)) = bytes.split_first() else { return };
    let mut options = Options { threads: 1, ..Options::default() };
    let archive = kind % 5 == 4;
    let file = FOLDER.join(if archive { "in.jar" } else { "text" });
    std::fs::write(&file, text).expect("room for a file");
    let at = || Some(file.clone());
    match kind % 5 {
        0 => options.mapping = at(),
        1 => options.rules = at(),
        2 => options.block_list = at(),
        3 => options.base_map = at(),
        _ => {}
    }
    let input = if archive { file.clone() } else { FOLDER.join("given.jar") };
    let out = FOLDER.join("out.jar");
    let maps = MapPaths::beside(FOLDER.join("methodMapping.txt"));
    let _ = instrument(&[Input::new(input, out)], &maps, &options, &|_| {});
}));
