//! The tests that `docs/evidence/status.md` and `docs/evidence/security.md` name exist.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Looks for each test that the page names, and gives how many that were.
fn named_tests_are_there(page: &str) -> usize {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let named: Vec<_> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|word| word.split_once("::").filter(|(file, _)| file.ends_with(".rs")))
        .collect();
    for (file, test) in &named {
        let source =
            std::fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{page}: {file}: {e}"));
        // A function, or a named case of a custom harness.
        let there = source.contains(&format!("fn {test}(")) || source.contains(&format!("\"{test}\""));
        assert!(there, "{page}: {file} has no test {test}");
    }
    named.len()
}

#[test]
fn every_test_that_the_status_names_exists() {
    assert!(named_tests_are_there("docs/evidence/status.md") >= 100);
    assert!(named_tests_are_there("docs/evidence/security.md") >= 20);
}

/// No row of the features may be lost on the way.
#[test]
fn every_feature_of_matrix_has_its_row() {
    let text = std::fs::read_to_string(root().join("docs/evidence/status.md")).unwrap();
    for feature in 1..=25 {
        assert!(text.contains(&format!("\n| F{feature} ")), "F{feature}");
    }
}
