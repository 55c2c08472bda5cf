//! The steps of several suites: compile, instrument, report.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use test_support::temp_dir::TempDir;
use test_support::{jdk, program};

/// Instrumented classes, and what a recording of them needs.
pub(crate) struct Traced {
    pub classes: PathBuf,
    pub map: PathBuf,
    pub map_id: String,
}

/// Compiles Java sources with debug information. Their names go through a file in `directory`, because hundreds are too many
/// for a command line.
pub(crate) fn compile(path: &[impl AsRef<OsStr>], sources: &[String], into: &Path, directory: &TempDir) {
    std::fs::create_dir_all(into).unwrap();
    if sources.is_empty() {
        return;
    }
    let list = directory.file("sources.txt", sources.join("\n"));
    let mut javac = jdk::tool("javac");
    javac.args(["-nowarn", "-Xlint:-options", "-proc:none", "-g", "-cp"]);
    javac.arg(std::env::join_paths(path).unwrap()).arg("-d").arg(into).arg(format!("@{list}"));
    jdk::finish(&mut javac);
}

/// Instruments the classes in `plain` into `directory`.
pub(crate) fn instrument(plain: &Path, options: &[&str], directory: &TempDir) -> Traced {
    let (classes, map) = (directory.path().join("traced"), directory.path().join("methodMapping.txt"));
    let words = ["instrument", "--json"].iter().chain(options).map(OsStr::new);
    let files =
        [plain.as_os_str(), "--out".as_ref(), classes.as_ref(), "--method-map".as_ref(), map.as_ref()];
    let shown = program::run(words.chain(files));
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let summary: Value = serde_json::from_str(&shown.stdout).expect(&shown.stdout);
    println!("{} methods, {} of them traced", summary["methods"], summary["traced"]);
    Traced { classes, map, map_id: summary["map_id"].as_str().unwrap().to_owned() }
}

/// Returns the report of a recording. Without a method map it is the one beside the recording, if there is one.
pub(crate) fn report(recording: &Path, map: Option<&Path>) -> Value {
    let words = ["report", "--json"].map(Path::new).into_iter().chain([recording]);
    let shown = program::run(words.chain(map.into_iter().flat_map(|map| ["--method-map".as_ref(), map])));
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let all: Value = serde_json::from_str(&shown.stdout).expect(&shown.stdout);
    all["reports"][0].clone()
}
