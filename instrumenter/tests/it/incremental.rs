//! Runs with a cache: what they reuse, and that the result is correct.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use instrumenter::{Error, Input, MapPaths, Options, Summary, Warning, instrument};

use crate::assembler::{Assembler, Body};
use crate::support::*;

/// A project: classes in a directory and in two jars, its outputs and its cache.
struct Project {
    root: PathBuf,
    options: Options,
}

const EXITS: &str = "fixture/Exits.class";
const MAP_ID: &str = "dev/anrscope/MapId.class";

impl Project {
    fn new(name: &str) -> Self {
        let root = directory(name);
        let options = Options { cache: Some(root.join("cache")), threads: 2, ..Options::default() };
        let project = Self { root, options };
        for (path, bytes) in files(fixture()) {
            project.write(text(&path), &bytes);
        }
        project.write("note.txt", b"note");
        project.jar("a.jar", &[("fixture/Old.class", old_class()), ("a.txt", b"a")]);
        project.jar("b.jar", &[("b/Old.class", &renamed(old_class(), "b/Old")), ("b.txt", b"b")]);
        project
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.root.join("in").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn jar(&self, name: &str, entries: &[(&str, &[u8])]) {
        jar(&self.root.join(name), entries);
    }

    fn inputs(&self, to: &str) -> Vec<Input> {
        let to = self.root.join(to);
        let input = |from: &str, into: &str| Input::new(self.root.join(from), to.join(into));
        vec![input("in", "classes"), input("a.jar", "a.jar"), input("b.jar", "b.jar")]
    }

    fn run_to(&self, to: &str, options: &Options) -> Result<Summary, Error> {
        let maps = MapPaths::beside(self.root.join(to).join("classes/methodMapping.txt"));
        instrument(&self.inputs(to), &maps, options, &|_| {})
    }

    fn run(&self) -> Summary {
        self.run_to("out", &self.options).unwrap()
    }

    fn out(&self, path: &str) -> PathBuf {
        self.root.join("out").join(path)
    }

    /// Checks that the output equals that of a run without a cache, except for the ids: each traced method has one,
    /// the class files use those of the map, and no class uses an unknown one.
    #[track_caller]
    fn is_right(&self, summary: &Summary) {
        let _ = fs::remove_dir_all(self.root.join("clean"));
        let clean = self.run_to("clean", &Options { cache: None, ..self.options.clone() }).unwrap();
        assert_eq!(
            (summary.classes, summary.classes_changed, summary.methods_seen, summary.traced),
            (clean.classes, clean.classes_changed, clean.methods_seen, clean.traced)
        );
        assert_eq!((summary.ignored, &summary.skipped), (clean.ignored, &clean.skipped));
        assert_eq!(
            (summary.blocked, summary.excluded, summary.without_code, summary.focus, summary.unused_ids),
            (clean.blocked, clean.excluded, clean.without_code, clean.focus, clean.unused_ids)
        );
        let reported = |summary: &Summary| -> Vec<Warning> {
            let all = summary.warnings.iter().map(|(_, warning)| warning.clone());
            all.filter(|warning| !matches!(warning, Warning::CacheRejected(_))).collect()
        };
        assert_eq!(reported(summary), reported(&clean));
        let names = |to: &str| -> Vec<PathBuf> {
            files(&self.root.join(to)).into_iter().map(|(path, _)| path).collect()
        };
        assert_eq!(names("out"), names("clean"));
        let map = Map::read(&self.out("classes/methodMapping.txt"));
        let clean_map = Map::read(&self.root.join("clean/classes/methodMapping.txt"));
        assert!(map.0.keys().eq(clean_map.0.keys()), "{map:?}\n{clean_map:?}");
        let text = fs::read_to_string(self.out("classes/methodMapping.txt")).unwrap();
        assert_eq!(trace_format::MapId::from_lines(text.lines()), summary.map_id);
        // With the map as base map, a run without a cache produces the same bytes.
        let based = Options {
            cache: None,
            base_map: Some(self.out("classes/methodMapping.txt")),
            ..self.options.clone()
        };
        let _ = fs::remove_dir_all(self.root.join("based"));
        self.run_to("based", &based).unwrap();
        assert_eq!(names("out"), names("based"));
        for ((path, ours), (_, theirs)) in
            files(&self.root.join("out")).into_iter().zip(files(&self.root.join("based")))
        {
            match path.extension().and_then(|end| end.to_str()) {
                Some("jar") => assert_eq!(entries(&ours), entries(&theirs), "{path:?}"),
                _ => assert_eq!(ours, theirs, "{path:?}"),
            }
        }
    }
}

/// Returns ids by method.
#[derive(Debug)]
struct Map(BTreeMap<String, u32>);

impl Map {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let line = |line: &str| {
            let mut fields = line.splitn(3, ',');
            let id = fields.next().unwrap().parse().unwrap();
            (fields.nth(1).unwrap().to_owned(), id)
        };
        Self(text.lines().map(line).collect())
    }
}

/// Renames a class to a name with a constant of the same length.
fn renamed(class: &[u8], name: &str) -> Vec<u8> {
    let old = b"fixture/Old";
    let at = class
        .windows(old.len() + 2)
        .position(|window| window[..2] == (old.len() as u16).to_be_bytes() && window[2..] == old[..]);
    let at = at.unwrap();
    let mut out = class[..at].to_vec();
    out.extend((name.len() as u16).to_be_bytes());
    out.extend(name.as_bytes());
    out.extend(&class[at + 2 + old.len()..]);
    out
}

/// Changes a text in the constant pool, like a change in a method body does.
fn edited(class: &[u8], from: &[u8]) -> Vec<u8> {
    let at = class.windows(from.len()).position(|window| window == from).unwrap();
    let mut class = class.to_vec();
    class[at + from.len() - 1] ^= 1;
    class
}

/// Sets the times of all files back, so that they do not count as recently written.
fn age(directory: &Path) {
    // An earlier modification time is not enough, because the change time counts too.
    std::thread::sleep(std::time::Duration::from_millis(150));
    assert!(directory.exists());
}

fn stamps(directory: &Path) -> BTreeMap<PathBuf, std::time::SystemTime> {
    let time = |path: &Path| fs::metadata(directory.join(path)).unwrap().modified().unwrap();
    files(directory).into_iter().map(|(path, _)| (path.clone(), time(&path))).collect()
}

#[track_caller]
fn rewritten(before: &BTreeMap<PathBuf, std::time::SystemTime>, directory: &Path) -> Vec<String> {
    let now = stamps(directory);
    let changed = now.iter().filter(|(path, time)| before.get(*path) != Some(*time));
    changed.map(|(path, _)| text(path).to_owned()).collect()
}

#[test]
fn only_changes_are_written_and_ids_are_stable() {
    let project = Project::new("incremental");
    age(&project.root);
    let first = project.run();
    assert_eq!((first.classes_cached, &first.warnings[..]), (0, &[][..]));
    project.is_right(&first);
    let map = Map::read(&project.out("classes/methodMapping.txt"));

    // Nothing has changed.
    age(&project.root);
    let before = stamps(&project.root.join("out"));
    let again = project.run();
    assert_eq!(again.classes_cached, again.classes);
    assert_eq!(rewritten(&before, &project.root.join("out")), [format!("classes/{MAP_ID}")]);
    project.is_right(&again);

    // A body.
    let exits = fs::read(fixture().join(EXITS)).unwrap();
    project.write(EXITS, &edited(&exits, b"java/lang/IllegalStateException"));
    let before = stamps(&project.root.join("out"));
    let body = project.run();
    assert_eq!(body.classes_cached, body.classes - 1);
    assert_eq!(body.map_id, first.map_id);
    assert_eq!(
        rewritten(&before, &project.root.join("out")),
        [format!("classes/{MAP_ID}"), format!("classes/{EXITS}")]
    );
    project.is_right(&body);

    // A class and a directory are added, another class and a text are removed.
    fs::remove_file(project.root.join("in/fixture/Switches.class")).unwrap();
    fs::remove_file(project.root.join("in/note.txt")).unwrap();
    project.write("new/Old.class", &renamed(old_class(), "new/Old"));
    let moved = project.run();
    project.is_right(&moved);
    assert_ne!(moved.map_id, first.map_id);
    let now = Map::read(&project.out("classes/methodMapping.txt"));
    for (method, id) in &now.0 {
        match map.0.get(method) {
            Some(old) => assert_eq!(id, old, "{method}"),
            None => assert!(method.starts_with("new.Old "), "{method}"),
        }
    }
    // And back: the directory is removed with its class.
    fs::remove_dir_all(project.root.join("in/new")).unwrap();
    project.is_right(&project.run());
    assert!(!project.out("classes/new").exists());
}

#[test]
fn a_change_in_a_class_of_a_jar_is_picked_up() {
    let project = Project::new("incremental_jar");
    age(&project.root);
    let first = project.run();
    let map = Map::read(&project.out("classes/methodMapping.txt"));
    let changed = edited(old_class(), b"fixture/Old");
    // A changed class and an unchanged one, so that the jar is built from old and new entries.
    project.jar("a.jar", &[("fixture/Old.class", old_class()), ("x/Old.class", &changed), ("a.txt", b"A")]);
    let before = stamps(&project.root.join("out"));
    let second = project.run();
    assert_eq!(second.classes_cached, first.classes);
    project.is_right(&second);
    let names = rewritten(&before, &project.root.join("out"));
    assert!(names.contains(&"a.jar".to_owned()) && !names.contains(&"b.jar".to_owned()), "{names:?}");
    let now = Map::read(&project.out("classes/methodMapping.txt"));
    assert!(map.0.iter().all(|(method, id)| now.0.get(method) == Some(id)));
    // A jar that lost a class.
    project.jar("b.jar", &[("b.txt", b"b")]);
    project.is_right(&project.run());
}

#[test]
fn a_changed_output_is_written_again() {
    let project = Project::new("incremental_touched");
    age(&project.root);
    project.run();
    fs::write(project.out(&format!("classes/{EXITS}")), b"overwritten").unwrap();
    fs::remove_file(project.out("classes/fixture/Kinds.class")).unwrap();
    fs::remove_file(project.out("classes/note.txt")).unwrap();
    fs::write(project.out("a.jar"), b"no jar").unwrap();
    fs::remove_file(project.out("b.jar")).unwrap();
    fs::write(project.out("classes/methodMapping.txt"), b"1,1,a b ()V\n").unwrap();
    let summary = project.run();
    project.is_right(&summary);
    assert_eq!(summary.warnings, []);
    // One by one, so that everything known about the others stays valid.
    age(&project.root);
    project.run();
    for touched in [format!("classes/{EXITS}"), "a.jar".to_owned(), "b.jar".to_owned(), "classes".to_owned()]
    {
        let path = project.out(&touched);
        if path.is_dir() {
            fs::remove_dir_all(path.join("fixture")).unwrap();
        } else {
            fs::write(path, b"overwritten").unwrap();
        }
        age(&project.root);
        let summary = project.run();
        assert_eq!(summary.classes_carried, summary.classes, "{touched}");
        project.is_right(&summary);
    }
}

#[test]
fn touched_files_with_the_same_content_are_not_scanned_again() {
    let project = Project::new("incremental_same");
    project.run();
    for (path, bytes) in files(&project.root.join("in")) {
        fs::write(project.root.join("in").join(path), bytes).unwrap();
    }
    let summary = project.run();
    assert_eq!(summary.classes_cached, summary.classes);
    project.is_right(&summary);
}

#[test]
fn another_option_or_base_map_or_a_damaged_cache_leads_to_a_full_rebuild() {
    let mut project = Project::new("incremental_options");
    let file = project.root.join("cache/instrument.cache");
    let full_rebuild = |project: &Project, reason: &str| {
        let summary = project.run();
        let reported = summary.warnings.iter().any(
            |(_, warning)| matches!(warning, Warning::CacheRejected(reported) if reported.contains(reason)),
        );
        assert!(reported, "{reason}: {:?}", summary.warnings);
        assert_eq!(summary.classes_cached, 0);
        project.is_right(&summary);
        assert!(!project.out("classes/leftover.class").exists());
        fs::write(project.out("classes/leftover.class"), b"of an older run").unwrap();
    };
    project.run();
    fs::write(project.out("classes/leftover.class"), b"of an older run").unwrap();
    project.options.filter.block("fixture/Kinds");
    full_rebuild(&project, "options");
    let base = project.root.join("base.txt");
    fs::write(&base, "900,1,fixture.Exits gone ()V\n").unwrap();
    project.options.base_map = Some(base.clone());
    full_rebuild(&project, "options");
    fs::write(&base, "901,1,fixture.Exits gone ()V\n").unwrap();
    full_rebuild(&project, "files that they name");
    let good = fs::read(&file).unwrap();
    for (bytes, reason) in [
        (&good[..good.len() / 2], "damaged"),
        (&b"ANRSINCR\x07\0\0\0"[..], "version"),
        (&b""[..], "not a cache"),
    ] {
        fs::write(&file, bytes).unwrap();
        full_rebuild(&project, reason);
    }
    // A directory that no run created is kept.
    let foreign = project.root.join("foreign/classes");
    fs::create_dir_all(&foreign).unwrap();
    fs::write(foreign.join("x"), "x").unwrap();
    assert!(matches!(project.run_to("foreign", &project.options), Err(Error::OutputNotEmpty(_))));
    assert_eq!(files(&foreign).len(), 1);
}

#[test]
fn a_run_after_a_killed_one_is_complete() {
    let project = Project::new("incremental_cut");
    age(&project.root);
    project.run();
    // The state after a run that was killed while it moved its files: some are new, and there is no cache.
    fs::remove_file(project.root.join("cache/instrument.cache")).unwrap();
    fs::write(project.out("classes/fixture/Orphan.class"), b"of a class that is gone").unwrap();
    project.write("new/Old.class", &renamed(old_class(), "new/Old"));
    project.is_right(&project.run());
}

#[test]
fn skipped_classes_are_reported_in_every_run() {
    let project = Project::new("incremental_skips");
    project.write("Broken.class", b"broken");
    project.jar("b.jar", &[("b/Broken.class", b"broken"), ("b/Old.class", &renamed(old_class(), "b/Old"))]);
    age(&project.root);
    let first = project.run();
    assert_eq!(first.skipped.len(), 2);
    let second = project.run();
    assert_eq!(second.skipped, first.skipped);
    project.is_right(&second);
}

#[test]
fn ids_that_are_used_up_are_reassigned() {
    let mut project = Project::new("incremental_ids");
    let base = project.root.join("base.txt");
    fs::write(&base, "1042422,1,gone.Class method ()V\n").unwrap();
    fs::remove_dir_all(project.root.join("in")).unwrap();
    project.options.base_map = Some(base);
    project.write("new/Old.class", &renamed(old_class(), "new/Old"));
    let methods = project.run_to("probe", &Options { cache: None, ..project.options.clone() });
    // Three copies of the class need more ids than the base map leaves.
    assert!(matches!(methods, Err(Error::TooManyMethods { available: 9, .. })), "{methods:?}");
}

/// Builds a class `a/NAME` with these methods: name, whether it is worth tracing, access flags.
fn class_of(name: &str, methods: &[(&str, bool, u16)]) -> Vec<u8> {
    let mut class = Assembler::new(&format!("a/{name}"));
    let call = class.method_ref("a/Other", "called", "()V");
    for &(method, is_worth, access) in methods {
        let mut body = Body { max_stack: 1, max_locals: 1, ..Body::default() };
        if is_worth {
            body.code.push(0xB8);
            body.code.extend(call);
        }
        body.code.push(0xB1);
        class.method(access, method, "()V", &body);
    }
    class.finish()
}

const PUBLIC: u16 = 1;
const STATIC: u16 = 9;

#[test]
fn maps_are_edited_only_where_a_class_has_changed() {
    let project = Project::new("incremental_update");
    for name in ["Aa", "Mm", "Zz"] {
        let path = format!("a/{name}.class");
        project.write(
            &path,
            &class_of(name, &[("one", true, PUBLIC), ("two", true, PUBLIC), ("not", false, PUBLIC)]),
        );
    }
    age(&project.root);
    project.run();
    type Edit<'a> = &'a [(&'a str, &'a [(&'a str, bool, u16)])];
    let edits: [Edit<'_>; 11] = [
        // A changed body changes no line.
        &[("Mm", &[("one", true, PUBLIC), ("not", false, PUBLIC), ("two", true, PUBLIC)])],
        &[("Mm", &[("one", true, STATIC), ("two", true, PUBLIC), ("not", false, PUBLIC)])],
        // One method is added between the others, and one after them.
        &[(
            "Mm",
            &[("one", true, STATIC), ("three", true, PUBLIC), ("two", true, PUBLIC), ("zero", true, PUBLIC)],
        )],
        // One is removed, and its id stays unused; then the last id is removed, and is reused.
        &[("Mm", &[("one", true, STATIC), ("two", true, PUBLIC), ("zero", true, PUBLIC)])],
        &[("Mm", &[("one", true, STATIC), ("two", true, PUBLIC), ("four", true, PUBLIC)])],
        // What was traced is not worth it any more, and the other way round.
        &[("Mm", &[("one", false, STATIC), ("two", false, PUBLIC), ("not", true, PUBLIC)])],
        &[("Mm", &[("one", true, STATIC), ("two", true, PUBLIC)])],
        &[("Mm", &[("one", false, STATIC), ("two", true, PUBLIC)]), ("Zz", &[("two", false, PUBLIC)])],
        // A class becomes empty, and a list starts with another one.
        &[("Aa", &[]), ("Mm", &[]), ("Zz", &[])],
        &[
            ("Zz", &[("b", false, PUBLIC), ("a", false, PUBLIC)]),
            ("Aa", &[("b", false, PUBLIC), ("a", true, PUBLIC)]),
        ],
        &[
            ("Aa", &[("a", true, PUBLIC)]),
            ("Mm", &[("a", true, PUBLIC), ("b", true, PUBLIC)]),
            ("Zz", &[("a", true, PUBLIC)]),
        ],
    ];
    for (step, edit) in edits.iter().enumerate() {
        for (name, methods) in *edit {
            project.write(&format!("a/{name}.class"), &class_of(name, methods));
        }
        age(&project.root);
        let summary = project.run();
        let carried = summary.classes - edit.len();
        assert_eq!((summary.classes_cached, summary.classes_carried), (carried, carried), "{step}");
        project.is_right(&summary);
    }
}

#[test]
fn a_change_that_affects_other_classes_unpacks_all_of_them() {
    let project = Project::new("incremental_others");
    let twice = class_of("Twice", &[("one", true, PUBLIC)]);
    project.write("a/Twice.class", &twice);
    project.jar("b.jar", &[("a/Twice.class", &twice), ("b.txt", b"b")]);
    age(&project.root);
    project.run();
    let carried = |what: &str, expected: bool| {
        age(&project.root);
        let summary = project.run();
        assert_eq!(summary.classes_carried > 0, expected, "{what}");
        project.is_right(&summary);
    };
    carried("nothing", true);
    project.write("a/Twice.class", &class_of("Twice", &[("one", true, PUBLIC), ("two", true, PUBLIC)]));
    carried("a class that is in two inputs", false);
    project.write("a/New.class", &class_of("New", &[("one", true, PUBLIC)]));
    carried("a class came", false);
    fs::remove_file(project.root.join("in/a/New.class")).unwrap();
    carried("a class went", false);
    let mut below = Assembler::below("a/Below", "a/Twice");
    below.method(PUBLIC, "one", "()V", &Body { code: vec![0xB1], max_locals: 1, ..Body::default() });
    project.write("a/Below.class", &below.finish());
    carried("one below another came", false);
    project.write("a/Below.class", &class_of("Below", &[("one", false, PUBLIC)]));
    carried("its superclass is another", false);
    fs::write(project.out("classes/methodMapping.txt.lines"), "1,A.java,1\n").unwrap();
    carried("a map file was touched", false);
    carried("nothing, again", true);
}
