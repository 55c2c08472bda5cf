//! Crates stand on floors, and use only crates of lower floors.

use std::collections::BTreeMap;

use crate::structure::repository;

/// The crates by directory, the lowest floor first.
const FLOORS: [&[&str]; 6] = [
    &["zip-archive"],
    &["trace-format", "device/test-device", "dex", "dex/verifier", "apk"],
    &["native-signal", "native-stacks", "trace-rules", "recorder", "instrumenter", "device"],
    &["trace-runtime", "exporter"],
    &["exporter/android", "web", "jvm-agent", "tests/support"],
    &["cli", "tools", "tests/suites"],
];

/// The lines of a section of a Cargo.toml whose name `is_wanted`.
fn lines<'a>(manifest: &'a str, is_wanted: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = &'a str> {
    let mut wanted = false;
    manifest.lines().filter(move |line| {
        if line.starts_with('[') {
            wanted = is_wanted(line.trim_matches(['[', ']']));
            return false;
        }
        wanted && !line.trim_start().starts_with('#')
    })
}

/// What stands between the first two quotation marks behind `key`.
fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_once(key)?.1.split('"').nth(1)
}

fn manifest(directory: &str) -> String {
    std::fs::read_to_string(repository().join(directory).join("Cargo.toml")).unwrap()
}

/// The directories of the workspace's crates.
fn members() -> Vec<String> {
    let workspace = manifest(".");
    let list = workspace.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The crates of the workspace that each crate's library or program uses, by directory.
pub(crate) fn used() -> BTreeMap<String, Vec<String>> {
    let workspace = manifest(".");
    let by_name: BTreeMap<String, String> = lines(&workspace, |section| section == "workspace.dependencies")
        .filter_map(|line| Some((line.split_once(" =")?.0.to_owned(), quoted(line, "path = ")?.to_owned())))
        .collect();
    let used = |directory: &str| {
        let text = manifest(directory);
        let is_normal = |section: &str| section == "dependencies" || section.ends_with(".dependencies");
        let names = lines(&text, is_normal).filter_map(|line| line.split(['.', ' ']).next());
        names.filter_map(|name| by_name.get(name).cloned()).collect()
    };
    members().into_iter().map(|directory| (directory.clone(), used(&directory))).collect()
}

fn floor(directory: &str) -> usize {
    let floor = FLOORS.iter().position(|crates| crates.contains(&directory));
    floor.unwrap_or_else(|| panic!("{directory} has no floor: give it one, above all that it uses"))
}

#[test]
fn each_crate_uses_only_crates_of_lower_floors() {
    let all = used();
    assert_eq!(all.len(), FLOORS.iter().map(|crates| crates.len()).sum::<usize>(), "{:?}", all.keys());
    let mut arrows = 0;
    for (directory, used) in &all {
        for other in used {
            assert!(floor(other) < floor(directory), "{directory} uses {other}, which is not below it");
            arrows += 1;
        }
    }
    assert!(arrows >= 15, "{arrows} arrows");
}

#[test]
fn dependencies_are_read_as_cargo_does() {
    let text = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\n# b.workspace = true\n\
                [target.'cfg(unix)'.dependencies]\nc = { workspace = true, features = [\"d\"] }\n\
                [dev-dependencies]\ne.workspace = true\n";
    let is_normal = |section: &str| section == "dependencies" || section.ends_with(".dependencies");
    let names: Vec<_> = lines(text, is_normal).filter_map(|line| line.split(['.', ' ']).next()).collect();
    assert_eq!(names, ["a", "c"]);
}
