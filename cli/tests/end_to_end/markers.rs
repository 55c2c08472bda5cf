//! What an app says of its own is in no output of the program, but where docs/configuration.md says that a recording has it.

use crate::end_to_end::life::library;
use test_support::android::Case;
use test_support::android::marked;
use test_support::program;
use test_support::temp_dir::TempDir;

#[test]
fn no_output_has_texts_of_the_app() {
    let directory = TempDir::new();
    let library = library(&directory);
    for (redact, allowed) in [("0", &marked::ITS_OWN[..]), ("1", &[])] {
        let case = || Case::new("MarkersLife").named(&format!("program-{redact}")).library(&library);
        let (_, recordings) = marked::live(case, redact);
        let recordings: Vec<&str> = recordings.iter().map(|path| path.to_str().unwrap()).collect();
        let mut outputs: Vec<(String, Vec<u8>)> = Vec::new();
        for format in ["text", "json", "html", "matrix"] {
            for recording in &recordings {
                outputs.push(printed(&["report", "--format", format, recording]));
            }
        }
        for form in ["pftrace", "json"] {
            let trace = directory.name(&format!("{redact}.{form}"));
            outputs.push(printed(&[&["export", "-o", &trace], &recordings[..]].concat()));
            outputs.push((trace.clone(), std::fs::read(trace).unwrap()));
        }
        for (what, bytes) in outputs {
            let more: Vec<_> = marked::found(&bytes).into_iter().filter(|at| !allowed.contains(at)).collect();
            assert_eq!(more, [0; 0], "{what} with redact={redact}");
        }
    }
}

/// The command line, and what it prints.
fn printed(words: &[&str]) -> (String, Vec<u8>) {
    let shown = program::run(words);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    (words.join(" "), (shown.stdout + &shown.stderr).into_bytes())
}
