//! `Anrscope.exportTrace`: the app writes the trace that the program writes.

use std::fs;
use std::path::Path;

use crate::end_to_end::life::library;
use crate::end_to_end::number;
use test_support::android::Case;
use test_support::android::lifetime::app_recordings;
use test_support::engine;
use test_support::program;
use test_support::temp_dir::TempDir;

/// The exporter's library, which cargo builds beside this test.
pub(crate) fn exporter() -> std::path::PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.parent().unwrap().join("libanrscope_export.so");
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

fn case(library: &Path, name: &str) -> Case {
    Case::new("AppExports").named(name).library(library).sdk(34)
}

#[test]
fn the_app_writes_the_trace_that_the_program_writes() {
    let directory = TempDir::new();
    let library = library(&directory);
    // A recording of a real program, with its map.
    let kept = directory.name("kept");
    let recording = crate::end_to_end::recordings(Path::new(&kept)).remove(0);
    assert!(Path::new(&kept).join("methodMapping.txt").is_file());
    let by_program = directory.name("program.pftrace");
    program::run(["export", recording.to_str().unwrap(), "-o", &by_program]).ok(&[" on "]);

    let traces = directory.name("traces");
    fs::create_dir_all(&traces).unwrap();
    let case = case(&library, "with").property(&format!("anrscope.export.lib={}", exporter().display()));
    let own = case.directory();
    let run = case.word(recording.to_str().unwrap()).word(&traces).run();
    let said = |of: &str| run.lines(of).next().unwrap_or_else(|| panic!("{of}: {}", run.printed)).to_owned();
    assert_eq!(said("old:"), "done true");
    assert!(fs::read(format!("{traces}/old.pftrace")).unwrap() == fs::read(&by_program).unwrap());

    // Its own, which it was writing to.
    assert_eq!(said("own:"), "1 done true");
    let processes = engine::rows(
        Path::new(&format!("{traces}/own.pftrace")),
        "select count(*) as n from process where name = 'com.example.app'",
    );
    assert_eq!(number(&processes[0], "n"), 1);
    // Errors name the cure, and leave no file.
    assert!(said("main:").contains("another thread than main"), "{}", said("main:"));
    assert!(said("none:").contains("none.anrscope"), "{}", said("none:"));
    assert!(!said("nowhere:").starts_with("done"), "{}", said("nowhere:"));
    let mut left: Vec<_> =
        fs::read_dir(&traces).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["none.anrscope", "old.pftrace", "own.pftrace"]);
    assert_eq!(app_recordings(&own).len(), 1);
}

#[test]
fn without_the_library_it_says_which_one_is_missing() {
    let directory = TempDir::new();
    let library = library(&directory);
    let recording = crate::end_to_end::recordings(Path::new(&directory.name("kept"))).remove(0);
    let case = case(&library, "without").property("anrscope.export.lib=/no/such/library.so");
    let run = case.word(recording.to_str().unwrap()).word(&directory.name("")).run();
    let said = run.lines("old:").next().unwrap();
    assert!(said.contains("libanrscope_export.so cannot be loaded"), "{said}");
}
