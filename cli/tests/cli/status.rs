//! The tests that `docs/status.md` names are there.

use std::path::Path;

#[test]
fn every_test_that_the_status_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = std::fs::read_to_string(root.join("docs/status.md")).unwrap();
    let named: Vec<_> = status
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|word| word.split_once("::").filter(|(file, _)| file.ends_with(".rs")))
        .collect();
    assert!(named.len() >= 30, "{} tests named", named.len());
    for (file, test) in named {
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        // A function, or a case that a harness of ours knows by its name.
        let there = source.contains(&format!("fn {test}(")) || source.contains(&format!("\"{test}\""));
        assert!(there, "{file} has no test {test}");
    }
}
