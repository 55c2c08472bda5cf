//! Modules of a crate make no cycles, however deep they are nested.
//!
//! # The rule
//! Modules with one parent are compared by what the files below one use of the files below another: a use of
//! `crate::report::text::rows` in `facts/anr.rs` is one of `report` by `facts`. A re-exported name counts as one of
//! the module that defines it. Code that only tests have does not count.
//!
//! The parent's own file takes part as well, each item by itself, together with its `impl` blocks there. As one whole, a
//! `mod.rs` would make a cycle as soon as it holds an error type that its children return, and calls one of them. If it did
//! not count at all, children could meet through it: `a` calls `super::both`, which calls `b`, which uses `a`.
//!
//! A cycle counts if at least two modules are in it. An item of a parent and a single child may use each other, as a type does
//! whose methods are in two files: to read the one you open the other, and no third module is involved. For example,
//! `Recorder` has `Hooks`, whose functions take a `&Recorder`.
//!
//! We read the names in the text. So a method that is called by a dot is not seen unless its type is named.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use crate::structure::members;
use crate::structure::source::{Item, Named, code, items, named, test_modules, words};
use test_support::root;

/// The cycles that are known: the crate, the parent, and the modules in it.
const KNOWN: [(&str, &str, &str); 2] = [
    ("exporter/answers", "answer", "cause native_summary observed root rules system_rules wait_cause"),
    (
        "exporter",
        "model",
        "frames labels log_form measured_stages message_list recorder_track sink tasks thread trace_answer",
    ),
];

/// A module by its segments from the root.
type Place = Vec<String>;

struct Module {
    file: String,
    code: String,
    children: BTreeSet<String>,
    named: Vec<Named>,
    /// The paths of the names that its `use` lines make.
    imports: BTreeMap<String, Vec<String>>,
}

/// The modules of a crate, without those that only tests have.
struct Modules(BTreeMap<Place, Module>);

/// A part of a module that is compared with the others: a child, or an item of its own file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    Module(String),
    Item(String),
}

impl Display for Part {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module(name) => f.write_str(name),
            Self::Item(name) => write!(f, "super::{name}"),
        }
    }
}

/// The uses among the parts of a module, each with the first line that makes it.
type Uses = BTreeMap<Part, BTreeMap<Part, String>>;

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

/// The module that a file is.
fn place(file: &str) -> Place {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').filter(|part| !["lib", "main"].contains(part)).map(str::to_owned).collect()
}

impl Modules {
    fn read(source: &Path) -> Self {
        let mut all = Vec::new();
        files(source, &mut all, "");
        // Programs beside a library are crates of their own.
        let has_library = all.iter().any(|file| file == "lib.rs");
        all.retain(|file| !(file.starts_with("bin/") || has_library && file == "main.rs"));
        let mut texts = BTreeMap::new();
        let mut only_tests = BTreeSet::new();
        for file in all {
            let text = std::fs::read_to_string(source.join(&file)).unwrap();
            let place = place(&file);
            only_tests.extend(test_modules(&text).into_iter().map(|name| [&place[..], &[name]].concat()));
            texts.insert(place, (file, code(&text)));
        }
        texts.retain(|place: &Place, _| {
            !(1..=place.len()).any(|length| only_tests.contains(&place[..length]))
        });
        let mut children: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
        for (name, parent) in texts.keys().filter_map(|place| place.split_last()) {
            children.entry(parent.to_vec()).or_default().insert(name.clone());
        }
        let modules = texts.into_iter().map(|(place, (file, code))| {
            let children = children.remove(&place).unwrap_or_default();
            let named = named(&code, &place, &children);
            let imports = named.iter().filter_map(Named::import).collect();
            (place, Module { file, code, children, named, imports })
        });
        Self(modules.collect())
    }

    /// The module that defines what a path leads to, and the item there; no item for a module.
    fn defined(&self, path: &[String]) -> (Place, Option<String>) {
        let mut path = path.to_vec();
        // Each step is a `use`, and those of two modules may name each other.
        for _ in 0..16 {
            let length = (0..=path.len()).rev().find(|length| self.0.contains_key(&path[..*length]));
            let (module, rest) = path.split_at(length.unwrap_or(0));
            let Some((item, rest)) = rest.split_first() else { break };
            let import = self.0.get(module).and_then(|module| module.imports.get(item));
            match import.filter(|import| ***import != path[..=module.len()]) {
                Some(import) => path = [import, rest].concat(),
                None => return (module.to_vec(), Some(item.clone())),
            }
        }
        (path, None)
    }

    /// The uses among the parts of each module.
    fn uses(&self) -> BTreeMap<Place, Uses> {
        let mut all = BTreeMap::new();
        for (place, module) in &self.0 {
            for Named { line, path, .. } in &module.named {
                let (target, item) = self.defined(path);
                // Uses of children are those of the items in which they are.
                if target.starts_with(place) {
                    continue;
                }
                let common = place.iter().zip(&target).take_while(|(one, other)| one == other).count();
                let to = match (target.get(common), item) {
                    (Some(module), _) => Part::Module(module.clone()),
                    (None, Some(item)) => Part::Item(item),
                    (None, None) => continue,
                };
                let from = Part::Module(place[common].clone());
                let uses: &mut Uses = all.entry(place[..common].to_vec()).or_default();
                let line = || format!("{}:{line}", module.file);
                uses.entry(from).or_default().entry(to).or_insert_with(line);
            }
            if !module.children.is_empty() {
                self.add_items(place, module, all.entry(place.clone()).or_default());
            }
        }
        all
    }

    /// Adds what the items of a module's own file use of each other and of its children.
    fn add_items(&self, place: &Place, module: &Module, uses: &mut Uses) {
        let items = items(&module.code);
        for Item { name, line, text } in &items {
            let paths = named(text, place, &module.children).into_iter().map(|named| named.path);
            let imports = words(text).filter_map(|word| module.imports.get(word)).cloned();
            let own = items.iter().filter(|item| item.is_used_in(text));
            let own = own.map(|item| [&place[..], std::slice::from_ref(&item.name)].concat());
            for path in paths.chain(imports).chain(own) {
                let (target, item) = self.defined(&path);
                let Some(below) = target.strip_prefix(&place[..]) else { continue };
                let to = match (below.first(), item) {
                    (Some(child), _) => Part::Module(child.clone()),
                    (None, Some(item)) if item != *name => Part::Item(item),
                    _ => continue,
                };
                let line = || format!("{}:{line}", module.file);
                uses.entry(Part::Item(name.clone())).or_default().entry(to).or_insert_with(line);
            }
        }
    }
}

/// The parts that can be reached from one.
fn reached<'a>(uses: &'a Uses, from: &Part) -> BTreeSet<&'a Part> {
    let next = |part: &Part| uses.get(part).into_iter().flatten().map(|(other, _)| other);
    let mut seen = BTreeSet::new();
    let mut open: Vec<&Part> = next(from).collect();
    while let Some(part) = open.pop() {
        if seen.insert(part) {
            open.extend(next(part));
        }
    }
    seen
}

/// The cycles with at least two modules: these modules, and the uses, a line each.
fn cycles(uses: &Uses) -> BTreeMap<String, Vec<String>> {
    let reached: BTreeMap<&Part, BTreeSet<&Part>> =
        uses.keys().map(|part| (part, reached(uses, part))).collect();
    let leads = |from: &Part, to: &Part| reached.get(from).is_some_and(|parts| parts.contains(to));
    let mut cycles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (part, others) in uses {
        let cycle = reached[part].iter().filter(|other| leads(other, part));
        let modules: Vec<&str> = cycle
            .filter_map(|part| match part {
                Part::Module(name) => Some(name.as_str()),
                Part::Item(_) => None,
            })
            .collect();
        if modules.len() > 1 {
            let on = others.iter().filter(|(other, _)| leads(other, part));
            let lines = on.map(|(other, at)| format!("{part} -> {other} ({at})"));
            cycles.entry(modules.join(" ")).or_default().extend(lines);
        }
    }
    cycles
}

#[test]
fn no_two_modules_of_a_crate_use_each_other() {
    let mut found = Vec::new();
    let mut known = Vec::from(KNOWN);
    for directory in members() {
        // The tools are programs without a common root.
        if directory == "scripts/tools" {
            continue;
        }
        for (place, uses) in Modules::read(&root().join(&directory).join("src")).uses() {
            let place = place.join("::");
            for (modules, lines) in cycles(&uses) {
                let cycle = (directory.as_str(), place.as_str(), modules.as_str());
                match known.iter().position(|known| *known == cycle) {
                    Some(at) => drop(known.remove(at)),
                    None => found
                        .push(format!("{directory}, in {place}: {modules}\n    {}", lines.join("\n    "))),
                }
            }
        }
    }
    assert!(found.is_empty(), "modules make cycles; move an item, or a file:\n{}", found.join("\n"));
    assert!(known.is_empty(), "these cycles are gone or have changed: {known:?}");
}

#[test]
fn a_cycle_is_found() {
    let module = |name: &str| Part::Module(name.to_owned());
    let mut uses = Uses::new();
    let mut add = |from: Part, to: Part| {
        uses.entry(from).or_default().insert(to, "x.rs:1".to_owned());
    };
    for (one, other) in [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")] {
        add(module(one), module(other));
    }
    // With a child alone, an item makes no cycle; between two children it does.
    let item = || Part::Item("Own".to_owned());
    for (one, other) in [(item(), module("e")), (module("e"), item())] {
        add(one, other);
    }
    let both = || Part::Item("both".to_owned());
    for (one, other) in [(module("f"), both()), (both(), module("g")), (module("g"), module("f"))] {
        add(one, other);
    }
    let cycles = cycles(&uses);
    assert_eq!(cycles.keys().collect::<Vec<_>>(), ["b c", "f g"]);
    assert_eq!(cycles["b c"], ["b -> c (x.rs:1)", "c -> b (x.rs:1)"]);
    assert_eq!(cycles["f g"].len(), 3);
}

#[test]
fn the_recorder_is_read() {
    let uses = Modules::read(&root().join("trace-runtime/recorder/src")).uses();
    let uses_of = |place: &[&str], part: Part, other: Part| {
        let place: Place = place.iter().map(|segment| (*segment).to_owned()).collect();
        uses.get(&place).and_then(|uses| uses.get(&part)).is_some_and(|others| others.contains_key(&other))
    };
    let module = |name: &str| Part::Module(name.to_owned());
    let recorder = || Part::Item("Recorder".to_owned());
    assert!(uses_of(&[], module("writing"), module("recorder")), "{uses:?}");
    assert!(uses_of(&[], module("recorder"), module("memory")), "{uses:?}");
    assert!(!uses_of(&[], module("gate"), module("memory")), "{uses:?}");
    assert!(uses_of(&["writing"], module("thread"), module("seats")), "{uses:?}");
    assert!(uses_of(&["recorder"], module("sources"), module("blocks")), "{uses:?}");
    assert!(uses_of(&["recorder"], module("hooks"), recorder()), "{uses:?}");
    assert!(uses_of(&["recorder"], recorder(), module("blocks")), "{uses:?}");
}
