//! Modules of a crate do not use each other: what one uses does not lead back to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::structure::members;
use crate::structure::source::{Named, code, named, test_modules};
use test_support::root;

/// Which top-level modules of a crate use which, and the first line of each that does.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

/// The Rust files below a directory, by their path in it.
fn files(directory: &Path, into: &mut Vec<String>, prefix: &str) {
    let mut entries: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        let name = format!("{prefix}{}", entry.file_name().unwrap().to_str().unwrap());
        if entry.is_dir() {
            files(&entry, into, &format!("{name}/"));
        } else if name.ends_with(".rs") {
            into.push(name);
        }
    }
}

/// The module that a file is, by its segments from the root.
fn place(file: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').filter(|part| !["lib", "main"].contains(part)).map(str::to_owned).collect()
}

fn uses(source: &Path) -> Uses {
    let mut all = Vec::new();
    files(source, &mut all, "");
    let read = |file: &str| std::fs::read_to_string(source.join(file)).unwrap();
    let root_file = if source.join("lib.rs").exists() { "lib.rs" } else { "main.rs" };
    let root = read(root_file);
    let only_tests = test_modules(&root);
    let modules: BTreeSet<String> =
        all.iter().map(|file| place(file)).filter_map(|place| place.first().cloned()).collect();
    // Where the names are from that the root gives on.
    let mut given_on = BTreeMap::new();
    for Named { path, .. } in named(&code(&root), &[]) {
        if let [first, .., last] = path.as_slice()
            && modules.contains(first)
        {
            given_on.insert(last.trim_start_matches("as ").to_owned(), first.clone());
        }
    }
    let mut uses = Uses::new();
    for file in &all {
        let place = place(file);
        let Some(module) = place.first().filter(|module| !only_tests.contains(module)) else { continue };
        if place.iter().any(|part| part == "tests") {
            continue;
        }
        for Named { line, path } in named(&code(&read(file)), &place) {
            let Some(first) = path.first() else { continue };
            let other = if modules.contains(first) { Some(first) } else { given_on.get(first) };
            if let Some(other) = other.filter(|other| *other != module) {
                let place = uses.entry(module.clone()).or_default().entry(other.clone());
                place.or_insert_with(|| format!("{file}:{line}"));
            }
        }
    }
    uses
}

/// The modules that can be reached from one.
fn reached<'a>(uses: &'a Uses, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = uses.get(from).into_iter().flatten().map(|(other, _)| other.as_str()).collect();
    while let Some(module) = open.pop() {
        if seen.insert(module) {
            open.extend(uses.get(module).into_iter().flatten().map(|(other, _)| other.as_str()));
        }
    }
    seen
}

/// The uses that lie on a cycle, a line each.
fn cycles(uses: &Uses) -> Vec<String> {
    let mut lines = Vec::new();
    for (module, others) in uses {
        for (other, at) in others {
            if reached(uses, other).contains(module.as_str()) {
                lines.push(format!("{module} -> {other} ({at})"));
            }
        }
    }
    lines
}

#[test]
fn no_two_modules_of_a_crate_use_each_other() {
    let mut found = Vec::new();
    for directory in members() {
        let source = root().join(&directory).join("src");
        // The tools and the suites are programs without a common root.
        if ["scripts/tools", "tests/suites"].contains(&directory.as_str()) {
            continue;
        }
        found.extend(cycles(&uses(&source)).into_iter().map(|line| format!("{directory}: {line}")));
    }
    assert!(found.is_empty(), "these uses are on cycles; move an item, or a file:\n{}", found.join("\n"));
}

#[test]
fn a_cycle_is_found() {
    let mut uses = Uses::new();
    for (module, other) in [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")] {
        uses.entry(module.to_owned()).or_default().insert(other.to_owned(), "x.rs:1".to_owned());
    }
    assert_eq!(cycles(&uses), ["b -> c (x.rs:1)", "c -> b (x.rs:1)"]);
}

#[test]
fn the_recorder_is_read() {
    let uses = uses(&root().join("trace-runtime/recorder/src"));
    assert!(uses["writing"].contains_key("recorder") && uses["recorder"].contains_key("memory"), "{uses:?}");
    assert!(!uses.contains_key("gate") || !uses["gate"].contains_key("memory"), "{uses:?}");
}
