//! What is traced and with which id: rules, block list, base map, and the reports about them.

use std::fs;
use std::path::{Path, PathBuf};

use instrumenter::{Error, Exits, Input, MapPaths, Options, StaleReason, Summary, Warning, instrument};

use crate::assembler::{Assembler, Body};
use crate::support::*;

fn fixture_jar() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/instr_fixture/in.jar")
}

struct Run {
    summary: Summary,
    /// Returns `class method (descriptor)` of the traced methods.
    traced: Vec<String>,
    map: String,
}

fn run(directory: &Path, input: &Path, options: &Options) -> Run {
    let output = directory.join("out.jar");
    let maps = MapPaths::beside(directory.join("methodMapping.txt"));
    let _ = fs::remove_file(&output);
    let summary = instrument(&[Input::new(input, output)], &maps, options, &|_| {}).unwrap();
    let map = fs::read_to_string(maps.methods).unwrap();
    let lines = map.lines().filter(|line| !line.starts_with("1048574,"));
    let traced = lines.map(|line| line.splitn(3, ',').nth(2).unwrap().to_owned()).collect();
    Run { summary, traced, map }
}

fn file(directory: &Path, name: &str, text: &str) -> Option<PathBuf> {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    Some(path)
}

#[test]
fn a_method_of_the_base_map_is_always_traced() {
    let directory = directory("base-forces");
    let base = "7,1,blk.Blocked a ()V\n9,0,t.Simple getX ()I\n8,1,t.Abs concrete ()V\n12,1,gone.A b ()V\n\
                13,1,t.Abs a ()V\n14,1,java.lang.Object x ()V\n";
    let options = Options {
        base_map: file(&directory, "base.txt", base),
        block_list: file(&directory, "block.txt", "blk\n-keepclass nothing/Like\n"),
        rules: file(&directory, "trace.rules", "exclude class t.**\nexclude class nothing.Here"),
        ..Options::default()
    };
    let run = run(&directory, &fixture_jar(), &options);
    for line in ["7,0,blk.Blocked a ()V", "9,0,t.Simple getX ()I", "8,0,t.Abs concrete ()V"] {
        assert!(run.map.contains(&format!("{line}\n")), "{line} in {}", run.map);
    }
    // Nothing else of these packages; and the next id follows the highest.
    let others = ["androidx.appcompat.app.AppCompatActivity xcall ()V"];
    assert!(run.map.contains(&format!("15,1,{}", others[0])), "{}", run.map);
    assert_eq!(run.summary.traced, 4, "{:?}", run.traced);
    let stale: Vec<_> = run.summary.stale.iter().map(|stale| (stale.id, stale.reason)).collect();
    assert_eq!(stale, [(12, StaleReason::Gone), (13, StaleReason::NoCode), (14, StaleReason::Gone)]);
    assert!(run.map.contains("12,1,gone.A b ()V\n"), "{}", run.map);
    let idle: Vec<_> = run
        .summary
        .warnings
        .iter()
        .filter_map(|(_, warning)| match warning {
            Warning::IdleLine { path, line } => {
                Some(format!("{}:{line}", path.file_name().unwrap().to_str().unwrap()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(idle, ["trace.rules:2", "block.txt:2"]);
}

#[test]
fn too_many_methods_are_an_error_before_anything_is_written() {
    for compat in [false, true] {
        let directory = directory(&format!("overflow-{compat}"));
        let base_map = file(&directory, "base.txt", "1042431,1,gone.A b ()V\n");
        let options = if compat { Options::matrix() } else { Options::default() };
        let out = directory.join("out/out.jar");
        let result = instrument(
            &[Input::new(fixture_jar(), &out)],
            &MapPaths::beside(directory.join("out/map.txt")),
            &Options { base_map, ..options },
            &|_| {},
        );
        assert!(matches!(result, Err(Error::TooManyMethods { .. })), "{result:?}");
        assert!(!directory.join("out").exists());
    }
}

#[test]
fn rules_select_by_class_annotation_method_and_size() {
    let directory = directory("rules");
    let classes = directory.join("classes");
    fs::create_dir(&classes).unwrap();
    javac(&classes, &["--release", "8"], &["marked/Marked.java"]);
    let traced = |name: &str, rules: &str| {
        let here = directory.join(name);
        fs::create_dir(&here).unwrap();
        let options = Options { rules: file(&here, "trace.rules", rules), ..Options::default() };
        let maps = MapPaths::beside(here.join("map.txt"));
        let inputs = [Input::new(&classes, here.join("out"))];
        let summary = instrument(&inputs, &maps, &options, &|_| {}).unwrap();
        let map = fs::read_to_string(maps.methods).unwrap();
        let lines = map.lines().filter(|line| line.contains("marked."));
        let methods: Vec<String> = lines.map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
        assert_eq!(methods.len(), summary.traced);
        methods.join(" ")
    };
    assert_eq!(traced("all", ""), "both none inside");
    assert_eq!(traced("seen", "exclude annotation marked.Marked$Seen"), "none");
    assert_eq!(traced("unseen", "exclude annotation @marked.Marked$Unseen"), "none inside");
    assert_eq!(traced("value", "exclude annotation marked.Marked$Level"), "both none inside");
    assert_eq!(traced("always", "exclude class **\nalways annotation marked.Marked$Unseen"), "both getter");
    assert_eq!(traced("include", "exclude class **\ninclude annotation marked.Marked$Unseen"), "both");
    assert_eq!(traced("size", "exclude size < 100\nalways method <init> class *.Marked"), "<init> <init>");
}

#[test]
fn a_matrix_block_list_works_without_its_quirks() {
    let directory = directory("block-list");
    let text = "[package]\r\n# a comment\r\n  -keepclass blk/Blocked  \r\n-keeppackage t\r\n";
    let options = Options { block_list: file(&directory, "block.txt", text), ..Options::default() };
    let run = run(&directory, &fixture_jar(), &options);
    let traced =
        ["androidx.appcompat.app.AppCompatActivity xcall ()V", "blk.BlockedToo a ()V", "blk.Free a ()V"];
    assert_eq!(run.traced, traced);
}

/// The order of a `ConcurrentHashMap` with many entries, and with many equal hashes.
#[test]
fn ignored_methods_are_in_the_order_of_javas_map() {
    let directory = directory("java-map");
    let tools = directory.join("tools");
    fs::create_dir(&tools).unwrap();
    javac(&tools, &[], &["tools/HashOrder.java"]);
    // "Aa" and "BB" have the same hash, so all texts of the same number of them do.
    let alike = |bits: u32, length: u32| -> String {
        (0..length).map(|bit| if bits >> bit & 1 == 0 { "Aa" } else { "BB" }).collect()
    };
    let mut lists = vec![
        (0..9).map(|bits| alike(bits, 4)).collect::<Vec<_>>(),
        (0..300).map(|bits| alike(bits, 9)).chain((0..200).map(|n| format!("m{n}"))).collect(),
        (0..5_000).map(|n| format!("method{}", n * 7919 % 5_003)).collect(),
        (0..60).map(|n| format!("m{n}")).chain((0..40).map(|bits| alike(bits, 6))).collect(),
    ];
    for length in 1..30 {
        lists.push((0..length).map(|n| format!("x{}", n * n)).collect());
    }
    for (index, names) in lists.iter().enumerate() {
        let mut class = Assembler::new("a/B");
        for name in names {
            let body = Body { code: vec![177], max_locals: 1, ..Body::default() };
            class.method(0, name, "()V", &body);
        }
        let input = directory.join(format!("{index}.jar"));
        jar(&input, &[("a/B.class", &class.finish())]);
        let here = directory.join(index.to_string());
        fs::create_dir(&here).unwrap();
        run(&here, &input, &Options::matrix());
        let ignored = fs::read_to_string(here.join("ignoreMethodMapping.txt")).unwrap();
        let ignored: Vec<&str> = ignored.lines().skip(1).collect();

        let keys: String = names.iter().map(|name| format!("a.B.{name}.()V\n")).collect();
        let list = file(&here, "keys.txt", &keys).unwrap();
        let printed = crate::support::run("java", &["-cp", text(&tools), "tools.HashOrder", text(&list)]);
        let expected: Vec<String> = printed
            .lines()
            .map(|key| format!("a.B {} ()V", key.strip_prefix("a.B.").unwrap().strip_suffix(".()V").unwrap()))
            .collect();
        assert_eq!(ignored, expected, "list {index}");
    }
}

#[test]
fn unreadable_classes_are_reported_and_the_rest_is_traced() {
    let directory = directory("item-40");
    let old = fs::read(fixture().join("fixture/Main.class")).unwrap();
    let mut newer = old.clone();
    newer[7] = 99;
    let extra = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/instr_fixture/extra");
    let module = entries(&fs::read(extra.join("module_info.jar")).unwrap());
    let module = &module.iter().find(|(name, _)| name == "module-info.class").unwrap().1;
    let input = directory.join("in.jar");
    jar(
        &input,
        &[
            ("module-info.class", module),
            ("a/Newer.class", &newer),
            ("a/Cut.class", &old[..old.len() / 2]),
            ("a/Empty.class", b""),
            ("fixture/Main.class", &old),
        ],
    );
    let run = run(&directory, &input, &Options::default());
    let skipped: Vec<&str> = run.summary.skipped.iter().map(|skip| skip.class.as_str()).collect();
    assert_eq!(skipped, ["a/Cut.class", "a/Empty.class", "a/Newer.class"]);
    assert!(run.summary.traced > 0 && run.summary.classes_changed == 1, "{:?}", run.summary);
    let written = entries(&fs::read(directory.join("out.jar")).unwrap());
    assert_eq!(written.iter().filter(|(name, _)| name.starts_with("a/")).count(), 3);
    for (name, bytes) in
        [("a/Newer.class", &newer[..]), ("a/Empty.class", b""), ("module-info.class", module)]
    {
        assert!(written.iter().any(|(other, found)| other == name && found == bytes), "{name}");
    }
}

/// Bytes of class file for each traced method: two calls, a handler with its frame, and a share of the constants.
/// Without handlers it is Matrix's form.
#[test]
fn the_bytes_added_to_a_method_are_bounded() {
    let directory = directory("item-42");
    let size = |directory: &Path| -> usize {
        let files = files(directory);
        files.iter().filter(|(path, _)| !path.ends_with("MapId.class")).map(|(_, bytes)| bytes.len()).sum()
    };
    let before = size(fixture());
    for (exits, least, most) in [(Exits::All, 100, 290), (Exits::Bare, 10, 60)] {
        let output = directory.join(format!("{exits:?}"));
        let maps = MapPaths { methods: directory.join("map.txt"), ignored: None, lines: None };
        let options = Options { exits, short: 0, ..Options::default() };
        let summary = instrument(&[Input::new(fixture(), &output)], &maps, &options, &|_| {}).unwrap();
        let added = (size(&output) - before) / summary.traced;
        assert!((least..most).contains(&added), "{exits:?}: {added} bytes a method");
    }
}
