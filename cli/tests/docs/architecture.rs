//! Compares the table and the drawing in `docs/architecture.md` with the `Cargo.toml` files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::docs::markdown::{Page, pages};
use crate::docs::repository;
use crate::structure::members;

/// The crates of the repository, each with the crates of the repository that it uses outside of tests. Their names are those under
/// which they depend on each other, not those of their packages (`anrscope-...`).
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let read = |path: &str| fs::read_to_string(repository().join(path).join("Cargo.toml")).unwrap();
    let workspace = read("");
    let paths = members().into_iter().chain(["tests/fuzz".to_owned()]);
    let manifests: Vec<(String, String)> = paths.map(|path| (name(&workspace, &path), read(&path))).collect();
    let names: BTreeSet<String> = manifests.iter().map(|(name, _)| name.clone()).collect();
    manifests.iter().map(|(name, manifest)| (name.clone(), dependencies(manifest, &names))).collect()
}

/// The name under which the workspace's manifest has the crate at `path`; one that nothing depends on has its directory's.
fn name(workspace: &str, path: &str) -> String {
    let place = format!("path = \"{path}\"");
    let line = workspace.lines().find(|line| line.contains(" = { ") && line.contains(&place));
    line.map_or(path, |line| line.split(' ').next().unwrap()).to_owned()
}

/// The crates of `known` that a manifest depends on, on any system, outside of tests.
fn dependencies(manifest: &str, known: &BTreeSet<String>) -> BTreeSet<String> {
    let mut counts = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            counts = section == "dependencies" || section.ends_with(".dependencies");
        } else if counts {
            let word = line.split([' ', '.', '=']).next().unwrap();
            found.extend(known.get(word).cloned());
        }
    }
    found
}

fn page() -> Page {
    pages().into_iter().find(|page| page.path == "docs/architecture.md").unwrap()
}

/// The words between backticks in one cell of a table.
fn spans(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn each_crate_has_a_row_with_the_crates_that_it_uses() {
    let page = page();
    let section = page.text.split("\n## ").find(|section| section.starts_with("The crates\n")).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let table: BTreeMap<String, BTreeSet<String>> = rows
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
            (spans(cells[0]).into_iter().next().unwrap(), spans(cells.get(2).unwrap_or(&"")))
        })
        .collect();
    assert_eq!(table, crates(), "docs/architecture.md (left), the Cargo.toml files (right)");
}

#[test]
fn in_the_drawing_a_crate_is_above_all_that_it_uses() {
    let page = page();
    let drawing = page.blocks().into_iter().next().unwrap();
    let floors: Vec<BTreeSet<&str>> =
        drawing.lines.iter().map(|line| line.split_whitespace().collect()).collect();
    let floor = |name: &str| {
        let at: Vec<usize> = (0..floors.len()).filter(|n| floors[*n].contains(name)).collect();
        assert_eq!(at.len(), 1, "{name} stands on {} lines of the drawing", at.len());
        at[0]
    };
    for (name, used) in crates() {
        for lower in used {
            assert!(floor(&name) < floor(&lower), "{name} uses {lower}, which is not below it");
        }
        floor(&name);
    }
}

#[test]
fn a_crates_name_is_the_one_in_the_workspace_or_its_directory() {
    let workspace =
        "[workspace.dependencies]\nlow = { package = \"p-low\", path = \"deep/low\" }\nlibc = \"0.2\"\n";
    assert_eq!((name(workspace, "deep/low"), name(workspace, "low")), ("low".to_owned(), "low".to_owned()));
    assert_eq!(name(workspace, "top"), "top");
}

#[test]
fn development_dependencies_do_not_count_and_those_of_one_system_do() {
    let known = ["a", "b", "c", "d"].map(str::to_owned).into();
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\nserde = \"1\"\n\n\
                    [target.'cfg(unix)'.dependencies]\nb = { path = \"../b\" }\n\n\
                    [dev-dependencies]\nc.workspace = true\n\n[target.'cfg(unix)'.dev-dependencies]\nd.workspace = true\n";
    assert_eq!(dependencies(manifest, &known), ["a", "b"].map(str::to_owned).into());
}
