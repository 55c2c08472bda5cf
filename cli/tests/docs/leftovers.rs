//! The repository's files have nothing that work on a machine left in them: marks of a merge, paths of the machine.

use crate::docs::files::walk;
use crate::docs::repository;

/// Directories in which people keep their checkouts.
const CHECKOUTS: &[&str] = &["/home/", "/Users/"];

/// Paths that stand for the reader's own directory in examples.
const EXAMPLES: &[&str] = &["/home/me/"];

/// Returns the repository's texts by their paths.
fn texts() -> Vec<(String, String)> {
    let read = |path: String| Some((std::fs::read_to_string(repository().join(&path)).ok()?, path));
    let texts: Vec<_> = walk("").into_iter().filter_map(read).map(|(text, path)| (path, text)).collect();
    assert!(texts.len() > 1_000, "{} texts", texts.len());
    texts
}

/// Returns the path of a machine that a line names.
fn machine_path(line: &str) -> Option<&str> {
    CHECKOUTS.iter().find_map(|checkout| {
        line.match_indices(checkout).map(|(at, _)| line.split_at(at)).find_map(|(before, path)| {
            let is_absolute = !before.ends_with(|c: char| c.is_alphanumeric() || "/_-.}$*".contains(c));
            let is_path = path[checkout.len()..].starts_with(|c: char| c.is_ascii_alphanumeric());
            let is_example = EXAMPLES.iter().any(|example| path.starts_with(example));
            (is_absolute && is_path && !is_example).then_some(path)
        })
    })
}

#[test]
fn no_tracked_text_has_marks_of_a_merge() {
    let is_mark = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    let marked: Vec<_> = texts().into_iter().filter(|(_, text)| text.lines().any(is_mark)).collect();
    assert!(marked.is_empty(), "{:?}", marked.iter().map(|(path, _)| path).collect::<Vec<_>>());
}

#[test]
fn texts_name_no_path_of_a_machine() {
    for (path, text) in texts() {
        for (line, text) in text.lines().enumerate() {
            assert_eq!(machine_path(text), None, "{path}:{}", line + 1);
        }
    }
}

#[test]
fn machine_paths_are_absolute() {
    let at = |directory: &str, rest: &str| machine_path(&format!("log={directory}{rest}")).is_some();
    assert!(at("/home/", "ada/x.rs") && at("/Users/", "ada"));
    assert!(!at("/home/", "me/x.rs") && !at("src/home/", "ada") && !at("/home/", "<you>"));
}
