//! Checks the dependencies: allowed licences, no two versions of a crate without a reason, none unused, and the table of
//! `docs/evidence/dependencies.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const BEGIN: &str = "<!-- Versions, licences and numbers are made; the reasons are written by hand. -->\n";
const END: &str = "<!-- The table ends. -->\n";
const HEAD: &str = "| crate | what for | used by | licence | brings |\n| --- | --- | --- | --- | --- |\n";
const REWRITE: &str = "ANRSCOPE_WRITE_DOCS=1 cargo test -p anrscope dependencies";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

struct Metadata(Value);

impl Metadata {
    fn read() -> Self {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--locked", "--format-version", "1"])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(serde_json::from_slice(&output.stdout).unwrap())
    }

    fn packages(&self) -> &[Value] {
        self.0["packages"].as_array().unwrap()
    }

    fn package(&self, id: &str) -> &Value {
        self.packages().iter().find(|package| package["id"] == id).unwrap()
    }

    fn own(&self) -> BTreeSet<&str> {
        self.0["workspace_members"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
    }

    /// Ids of the crates that this one brings into a program, itself not counted.
    fn brings(&self, id: &str) -> BTreeSet<&str> {
        let nodes = self.0["resolve"]["nodes"].as_array().unwrap();
        let mut all = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let node = nodes.iter().find(|node| node["id"] == id).unwrap();
            for dependency in node["deps"].as_array().unwrap() {
                let normal =
                    dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null());
                let id = dependency["pkg"].as_str().unwrap();
                if normal && all.insert(id) {
                    open.push(id);
                }
            }
        }
        all
    }
}

/// The first text of each line of the list `name` in `deny.toml`, which is for `cargo deny` and for these tests.
fn promised(name: &str) -> BTreeSet<String> {
    let rules = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let (_, list) = rules.split_once(&format!("\n{name} = [\n")).expect("the list");
    let lines = list.lines().take_while(|line| *line != "]");
    lines.map(|line| line.split('"').nth(1).expect("a text in the line").to_owned()).collect()
}

fn is_allowed(licence: &str) -> bool {
    let allowed = promised("allow");
    let plain = licence.replace('/', " OR ");
    let each = plain.split(" AND ").map(|part| part.trim_matches(['(', ')']));
    each.into_iter()
        .all(|part| part.split(" OR ").any(|one| allowed.contains(one.trim_matches(['(', ')', ' ']))))
}

#[test]
fn every_licence_is_allowed() {
    let metadata = Metadata::read();
    assert!(metadata.packages().len() > 50);
    for package in metadata.packages() {
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(is_allowed(licence), "{} is under {licence}", package["name"]);
    }
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0") && is_allowed("Unlicense/MIT"));
    assert!(!is_allowed("GPL-3.0") && !is_allowed("MIT AND GPL-3.0") && is_allowed("GPL-3.0 OR MIT"));
}

/// `Cargo.lock` has the crates of all features on all systems.
#[test]
fn crates_come_from_one_registry_and_have_two_versions_only_for_a_known_reason() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let values = |key: &'static str| {
        lock.lines()
            .filter_map(move |line| line.strip_prefix(key)?.strip_prefix(" = "))
            .map(|it| it.trim_matches('"'))
    };
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<String> =
        values("name").filter(|name| !seen.insert(*name)).map(str::to_owned).collect();
    assert_eq!(twice, promised("skip"));
    assert!(values("source").count() > 50);
    for source in values("source") {
        assert_eq!(source, "registry+https://github.com/rust-lang/crates.io-index");
    }
}

/// All Rust sources below a directory, with their texts.
fn sources(directory: &Path, into: &mut Vec<(PathBuf, String)>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    into.sort();
}

/// Each direct dependency from outside: our crates that name it, its id, and the first file of each that uses it.
fn direct(metadata: &Metadata) -> BTreeMap<String, (String, Vec<(String, PathBuf)>)> {
    let own = metadata.own();
    let mut all = BTreeMap::<String, (String, Vec<(String, PathBuf)>)>::new();
    for id in &own {
        let package = metadata.package(id);
        let directory = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap();
            // A crate of the project is named by its path.
            if !dependency["path"].is_null() {
                continue;
            }
            let parts: &[&str] = match dependency["kind"].as_str() {
                None => &["src", "tests", "examples"],
                Some("build") => &["build.rs"],
                Some(_) => &["tests", "examples", "benches", "src"],
            };
            let mut texts = Vec::new();
            parts.iter().for_each(|part| sources(&directory.join(part), &mut texts));
            let word = name.replace('-', "_");
            let uses = |text: &str| {
                text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
                    && [format!("{word}::"), format!("use {word}")].iter().any(|form| text.contains(form))
            };
            let user = texts.iter().find(|(_, text)| uses(text));
            let user =
                user.unwrap_or_else(|| panic!("{} asks for {name} and uses it nowhere", package["name"]));
            let found = metadata.packages().iter().find(|package| package["name"] == name);
            let Some(found) = found else {
                assert_eq!(dependency["optional"], true, "{name} is in no graph");
                // Only with a feature that is off: it is in no build by default.
                continue;
            };
            let entry = all.entry(name.to_owned()).or_insert_with(|| {
                let version = found["version"].as_str().unwrap();
                (format!("{name} {version}"), Vec::new())
            });
            let ours = package["name"].as_str().unwrap().to_owned();
            let file = user.0.strip_prefix(root().canonicalize().unwrap()).unwrap_or(&user.0).to_owned();
            if !entry.1.iter().any(|(known, _)| *known == ours) {
                entry.1.push((ours, file));
            }
        }
    }
    all
}

#[test]
fn the_page_names_every_dependency_with_its_reason() {
    let metadata = Metadata::read();
    let path = root().join("docs/evidence/dependencies.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let begin = page.find(BEGIN).expect("the mark in front of the table") + BEGIN.len();
    let end = page.find(END).expect("the mark behind it");
    let reason = |name: &str| {
        let row = page[begin..end].lines().find(|row| row.starts_with(&format!("| `{name}` ")));
        row.and_then(|row| row.split(" | ").nth(1)).unwrap_or("").to_owned()
    };
    let mut table = HEAD.to_owned();
    for (name, (_, users)) in direct(&metadata) {
        let package = metadata.packages().iter().find(|package| package["name"] == *name).unwrap();
        let users: Vec<_> = users.iter().map(|(_, file)| format!("`{}`", file.display())).collect();
        let brings = metadata.brings(package["id"].as_str().unwrap()).len();
        let licence = package["license"].as_str().unwrap();
        let why = reason(&name);
        assert!(
            !why.is_empty() || std::env::var_os("ANRSCOPE_WRITE_DOCS").is_some(),
            "{name} is without a reason"
        );
        table += &format!("| `{name}` | {why} | {} | {licence} | {brings} |\n", users.join(", "));
    }
    let own = metadata.own();
    let brought = own.iter().map(|id| {
        let outside = metadata.brings(id).into_iter().filter(|id| !own.contains(id)).count();
        format!("{} {outside}", metadata.package(id)["name"].as_str().unwrap())
    });
    let brought: Vec<_> = brought.collect();
    table +=
        &format!("\nCrates from outside in each of our crates, on all systems: {}.\n", brought.join(", "));
    if page[begin..end] != table && std::env::var_os("ANRSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(&path, [&page[..begin], &table, &page[end..]].concat()).unwrap();
        return;
    }
    assert!(page[begin..end] == table, "{REWRITE}\n{table}");
}
