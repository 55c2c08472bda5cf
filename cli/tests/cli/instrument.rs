use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use serde_json::Value;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use test_support::program::run;
use test_support::temp_dir::TempDir;

/// A class with two methods that are worth tracing, `main` and `run`, of the given version: the
/// compiled form of
///
/// ```java
/// package com.acme;
/// public class Shop { public static void main(String[] a) { run(); } static void run() { System.gc(); } }
/// ```
fn class(major: u16) -> Vec<u8> {
    let mut pool: Vec<u8> = Vec::new();
    let mut count = 1_u16;
    let mut add = |tag: u8, bytes: &[u8]| {
        pool.push(tag);
        pool.extend_from_slice(bytes);
        count += 1;
        count - 1
    };
    let mut utf8 = |text: &str| {
        let length = u16::try_from(text.len()).unwrap().to_be_bytes();
        add(1, &[&length[..], text.as_bytes()].concat())
    };
    let [shop, object, system, main, run, gc, main_type, void_type, code] = [
        "com/acme/Shop",
        "java/lang/Object",
        "java/lang/System",
        "main",
        "run",
        "gc",
        "([Ljava/lang/String;)V",
        "()V",
        "Code",
    ]
    .map(&mut utf8);
    let mut two = |tag: u8, a: u16, b: u16| add(tag, &[a.to_be_bytes(), b.to_be_bytes()].concat());
    let run_pair = two(12, run, void_type);
    let gc_pair = two(12, gc, void_type);
    let [shop, object, system] = [shop, object, system].map(|name| add(7, &name.to_be_bytes()));
    let mut two = |tag: u8, a: u16, b: u16| add(tag, &[a.to_be_bytes(), b.to_be_bytes()].concat());
    let run_method = two(10, shop, run_pair);
    let gc_method = two(10, system, gc_pair);

    let mut out = 0xCAFE_BABE_u32.to_be_bytes().to_vec();
    let mut put = |numbers: &[u16]| out.extend(numbers.iter().flat_map(|n| n.to_be_bytes()));
    put(&[0, major, count]);
    out.extend_from_slice(&pool);
    let mut put = |numbers: &[u16]| out.extend(numbers.iter().flat_map(|n| n.to_be_bytes()));
    // Access, this, super, no interfaces, no fields, two methods.
    put(&[0x21, shop, object, 0, 0, 2]);
    for (name, descriptor, locals, callee) in
        [(main, main_type, 1, run_method), (run, void_type, 0, gc_method)]
    {
        // Access, name, type, one attribute: Code of 16 bytes, of which 4 are invokestatic and return.
        let [high, low] = callee.to_be_bytes();
        let mut put = |numbers: &[u16]| out.extend(numbers.iter().flat_map(|n| n.to_be_bytes()));
        put(&[9, name, descriptor, 1, code, 0, 16, 0, locals, 0, 4]);
        out.extend_from_slice(&[0xb8, high, low, 0xb1]);
        out.extend_from_slice(&[0; 4]);
    }
    out.extend_from_slice(&[0, 0]);
    out
}

/// A jar with that class and a text.
pub(crate) fn jar(directory: &TempDir, name: &str, major: u16) -> String {
    let path = directory.name(name);
    let mut jar = ZipWriter::new(fs::File::create(&path).unwrap());
    for (entry, bytes) in [("com/acme/Shop.class", class(major)), ("note.txt", b"a text".to_vec())] {
        jar.start_file(entry, SimpleFileOptions::default()).unwrap();
        jar.write_all(&bytes).unwrap();
    }
    jar.finish().unwrap();
    path
}

fn entry(jar: &str, name: &str) -> Vec<u8> {
    let mut jar = ZipArchive::new(fs::File::open(jar).unwrap()).unwrap();
    let mut bytes = Vec::new();
    jar.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn one_jar_is_copied_with_its_map_beside() {
    let directory = TempDir::new();
    let input = jar(&directory, "app.jar", 52);
    let out = directory.name("traced/app.jar");
    run(["instrument", &input, "--out", &out]).ok(&["1 class, 1 of them changed", "2 traced", "ms"]);
    assert_eq!(entry(&out, "note.txt"), b"a text");
    let changed = entry(&out, "com/acme/Shop.class");
    assert!(changed.windows(24).any(|bytes| bytes == b"dev/anrscope/MethodBeat\x01".as_slice()
        || bytes.starts_with(b"dev/anrscope/MethodBeat")));
    let map = fs::read_to_string(directory.name("traced/methodMapping.txt")).unwrap();
    assert!(
        map.starts_with("1,9,com.acme.Shop main ([Ljava.lang.String;)V\n2,9,com.acme.Shop run ()V\n"),
        "{map}"
    );

    // The same again, into a directory that is there, gives the same bytes.
    fs::create_dir(directory.name("again")).unwrap();
    run(["instrument", &input, "--out", &directory.name("again")]).ok(&["2 traced"]);
    assert_eq!(fs::read(directory.name("again/app.jar")).unwrap(), fs::read(&out).unwrap());
    assert_eq!(fs::read_to_string(directory.name("again/methodMapping.txt")).unwrap(), map);
}

#[test]
fn several_inputs_share_a_map_in_the_directory() {
    let directory = TempDir::new();
    let first = jar(&directory, "app.jar", 52);
    directory.file("classes/com/acme/Shop.class", class(61));
    let out = directory.name("out");
    let shown = run(["instrument", &first, &directory.name("classes"), "--out", &out, "--json"]);
    let json: Value = serde_json::from_str(&shown.ok(&[])).unwrap();
    assert_eq!((&json["classes"], &json["traced"]), (&Value::from(2), &Value::from(4)), "{json}");
    assert_eq!(json["outputs"][0], Value::from(format!("{out}/app.jar")));
    for name in ["app.jar", "classes/com/acme/Shop.class", "methodMapping.txt", "ignoreMethodMapping.txt"] {
        assert!(directory.path().join("out").join(name).is_file(), "{name}");
    }
    // A directory by itself becomes OUT, with the map in it and nothing beside.
    run(["instrument", &directory.name("classes"), "--out", &directory.name("alone/copy")]).ok(&["2 traced"]);
    assert!(directory.path().join("alone/copy/com/acme/Shop.class").is_file());
    assert!(directory.path().join("alone/copy/methodMapping.txt").is_file());
    assert_eq!(fs::read_dir(directory.path().join("alone")).unwrap().count(), 1);
}

#[test]
fn a_class_of_a_future_version_is_copied_with_a_warning() {
    let directory = TempDir::new();
    let input = jar(&directory, "app.jar", 99);
    let out = directory.name("out.jar");
    run(["instrument", &input, "--out", &out]).ok(&[
        "warning: left unchanged",
        "com/acme/Shop",
        "version 99",
    ]);
    assert_eq!(entry(&out, "com/acme/Shop.class"), class(99));
    let json: Value = serde_json::from_str(
        &run(["instrument", &input, "--out", &directory.name("json.jar"), "--json"]).ok(&[]),
    )
    .unwrap();
    assert_eq!(json["skipped"][0]["input"], Value::from(input));
}

#[test]
fn rules_mapping_and_stale_lines_are_reported() {
    let directory = TempDir::new();
    let input = jar(&directory, "app.jar", 52);
    let rules = directory.file("trace.rules", "exclude method main\nexclude class gone.A\n");
    let mapping = directory.file("mapping.txt", "org.real.Store -> com.acme.Shop:\n    void sell() -> run\n");
    let base = directory.file("base.txt", "5,1,gone.Class m ()V\n");
    let map = directory.name("methodMapping.txt");
    let arguments =
        ["--rules", &rules, "--mapping", &mapping, "--base-map", &base, "--method-map", &map, "--json"];
    let out = directory.name("out.jar");
    let json = run(["instrument", &input, "--out", &out].into_iter().chain(arguments)).ok(&[]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["traced"], &json["excluded"], &json["focus"]), (&1.into(), &1.into(), &0.into()));
    assert_eq!(json["stale"][0]["id"], 5);
    assert_eq!(json["mapping"], serde_json::json!({"classes": 1, "found": 1, "ambiguous": 0}));
    assert!(json["warnings"].to_string().contains("trace.rules:2"), "{}", json["warnings"]);
    // For people, the rules file stands in front once.
    let shown = run(["instrument", &input, "--out", &out, "--method-map", &map, "--rules", &rules]);
    assert!(shown.stderr.contains(&format!("warning: {rules}:2: this line matches nothing\n")), "{shown:?}");
    run(["instrument", &input, "--out", &out].into_iter().chain(arguments)).ok(&[]);
    let map = fs::read_to_string(map).unwrap();
    assert!(
        map.contains("6,8,org.real.Store sell ()V\n") || map.contains("6,9,org.real.Store sell ()V\n"),
        "{map}"
    );
}

#[test]
fn compat_matrix_calls_its_class_and_takes_no_rules() {
    let directory = TempDir::new();
    let input = jar(&directory, "app.jar", 52);
    let out = directory.name("out.jar");
    run(["instrument", &input, "--out", &out, "--compat", "matrix"]).ok(&["2 traced"]);
    let mut jar = ZipArchive::new(fs::File::open(&out).unwrap()).unwrap();
    let mut class = Vec::new();
    jar.by_name("com/acme/Shop.class").unwrap().read_to_end(&mut class).unwrap();
    let name = b"com/tencent/matrix/trace/core/AppMethodBeat";
    assert!(class.windows(name.len()).any(|window| window == name));
    run(["instrument", &input, "--out", &out, "--compat", "matrix", "--rules", "x"])
        .failed(2, &["cannot be used with"]);
}

#[test]
fn compat_matrix_goes_with_neither_cache_nor_waits() {
    let directory = TempDir::new();
    let input = jar(&directory, "app.jar", 52);
    let out = directory.name("out.jar");
    for other in [&["--cache", "x"][..], &["--waits"], &["--waits-catalogue", "x"]] {
        let arguments = ["instrument", &input, "--out", &out, "--compat", "matrix"];
        run(arguments.iter().chain(other).copied()).failed(2, &["cannot be used with"]);
    }
}

#[test]
fn the_gradle_plug_in_knows_the_flags() {
    let task = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../instrumenter/gradle/src/main/java/dev/anrscope/gradle/InstrumentTask.java");
    let task = fs::read_to_string(task).unwrap();
    let help = run(["instrument", "--help"]).ok(&[]);
    let flags: Vec<&str> = task.split('"').filter(|text| text.starts_with("--")).collect();
    assert!(flags.len() >= 16, "{flags:?}");
    for flag in flags {
        let line = |line: &str| line.trim_start().split([' ', ',']).any(|word| word == flag);
        assert!(help.lines().any(line), "{flag} is not in\n{help}");
    }
}

#[test]
fn fail_on_skip_fails_if_a_class_is_left_unchanged() {
    let directory = TempDir::new();
    let input = jar(&directory, "app.jar", 99);
    let out = directory.name("out.jar");
    // The summary comes first, and the outputs are there.
    let shown = run(["instrument", &input, "--out", &out, "--fail-on-skip"]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.stderr.contains("left unchanged: ") && shown.stderr.contains("\nerror: 1 "), "{shown:?}");
    assert!(Path::new(&out).is_file());
    run(["instrument", &input, "--out", &out]).ok(&["left unchanged"]);
}

#[test]
fn blocked_classes_are_left_unchanged_and_ids_are_kept() {
    let directory = TempDir::new();
    let input = jar(&directory, "app.jar", 52);
    let list = directory.file("block.txt", "# quiet\n\n-keeppackage com/acme/\n");
    run(["instrument", &input, "--out", &directory.name("blocked.jar"), "--block-list", &list])
        .ok(&["0 traced", "2 blocked"]);
    let base = directory.file("base.txt", "77,9,com.acme.Shop run ()V\n");
    let map = directory.name("map.txt");
    let arguments =
        ["--base-map", &base, "--method-map", &map, "--ignored-map", &directory.name("ignored.txt")];
    run(["instrument", &input, "--out", &directory.name("x.jar")].into_iter().chain(arguments))
        .ok(&["2 traced"]);
    let map = fs::read_to_string(map).unwrap();
    assert!(map.starts_with("77,9,com.acme.Shop run ()V\n78,9,com.acme.Shop main "), "{map}");
    assert!(directory.path().join("ignored.txt").is_file());
}

/// A directory that a build left its dependencies in.
#[test]
fn the_jars_of_a_directory_are_instrumented_where_they_are_in_it() {
    let directory = TempDir::new();
    let jar = |name: &str| {
        directory.file(name, b"");
        jar(&directory, name, 52);
    };
    jar("libs/a.jar");
    jar("libs/deep/er/b.jar");
    directory.file("libs/LICENSE", b"text");
    let out = directory.name("out");
    run(["instrument", &directory.name("libs"), "--out", &out]).ok(&[
        "2 classes, 2 of them changed",
        "4 traced",
        "skipped 1 file beside the jars",
    ]);
    for name in ["a.jar", "deep/er/b.jar"] {
        let changed = entry(&format!("{out}/{name}"), "com/acme/Shop.class");
        assert!(changed.len() > class(52).len(), "{name}");
    }
    assert!(directory.path().join("out/methodMapping.txt").is_file());
    // Beside another input it has a directory of its own.
    let classes = directory.file("classes/com/acme/Shop.class", class(52));
    let out = directory.name("both");
    run(["instrument", &directory.name("classes"), &directory.name("libs"), "--out", &out])
        .ok(&["3 classes, 3 of them"]);
    assert!(directory.path().join("both/libs/deep/er/b.jar").is_file(), "{classes}");
    // What would be its own input the next time.
    run(["instrument", &directory.name("libs"), "--out", &directory.name("libs/out")])
        .failed(1, &["choose another output"]);
    // An input without classes gets a warning.
    directory.file("empty/text", b"");
    run(["instrument", &directory.name("empty"), "--out", &directory.name("nothing")])
        .ok(&["no class file, jar or aar in it"]);
}

#[test]
fn names_of_a_class_are_shown_as_text_when_it_is_explained() {
    let directory = TempDir::new();
    let path = directory.name("named.jar");
    let mut jar = ZipWriter::new(fs::File::create(&path).unwrap());
    jar.start_file("com/acme/Shop.class", SimpleFileOptions::default()).unwrap();
    // Characters of as many bytes as those of the names that they stand for.
    let mut named = class(52);
    for (name, new) in [("main", "\u{1b}[2J"), ("run", "\u{202e}")] {
        let at = named.windows(name.len()).position(|bytes| bytes == name.as_bytes()).unwrap();
        named[at..at + name.len()].copy_from_slice(new.as_bytes());
    }
    jar.write_all(&named).unwrap();
    jar.finish().unwrap();
    for options in [&["--json"][..], &[]] {
        let explained =
            ["instrument", &path, "--out", &directory.name("out.jar"), "--explain", "com.acme.Shop"];
        let shown = run(explained.iter().chain(options));
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let all = shown.stdout + &shown.stderr;
        assert!(all.contains("[2J") && !all.contains(['\u{1b}', '\u{202e}']), "{all:?}");
    }
}
