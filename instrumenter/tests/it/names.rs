//! Names that the JVM allows, but that a line of a map cannot hold (JVMS 4.2.2).

use std::fs;
use std::path::Path;

use instrumenter::{Compat, Input, MapPaths, Options, SkipReason, instrument};

use crate::assembler::{Assembler, Body};
use crate::support::*;

const FORGED: &str = "x ()V\n9,8,Bank steal";
const ABSTRACT: u16 = 0x400;

/// Builds a class with these methods, each of which calls something.
fn class(name: &str, methods: &[&str]) -> Vec<u8> {
    let mut class = Assembler::new(name);
    for method in methods {
        let [high, low] = class.method_ref("java/lang/System", "gc", "()V");
        let body = Body { code: vec![0xb8, high, low, 0xb1], ..Body::default() };
        class.method(9, method, "()V", &body);
    }
    class.finish()
}

/// Returns all lines of all maps beside `out`.
fn lines(out: &Path) -> Vec<String> {
    let texts = files(out.parent().unwrap()).into_iter().filter(|(path, _)| !text(path).ends_with(".jar"));
    texts
        .flat_map(|(_, text)| String::from_utf8(text).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn a_name_with_a_line_break_cannot_forge_a_line_of_a_map() {
    let directory = directory("names");
    let input = directory.join("in.jar");
    let command = "\u{1b}]0;taken\u{7}";
    jar(
        &input,
        &[
            (
                "a/Named.class",
                &class(
                    "a/Named",
                    &["run", FORGED, command, "next\u{85}line", "sep\u{2028}arated", "mit Umlaut ä"],
                ),
            ),
            ("b/Class.class", &class("b/Cl\n7,1,c.D ass", &["run"])),
            ("blocked/Named.class", &class("blocked/Named", &["run", FORGED])),
        ],
    );
    let block = directory.join("block.txt");
    fs::write(&block, "blocked\n").unwrap();
    for compat in [Compat::None, Compat::Matrix] {
        let out = directory.join(format!("{compat:?}/out.jar"));
        fs::create_dir_all(out.parent().unwrap()).unwrap();
        let preset = if compat == Compat::Matrix { Options::matrix() } else { Options::default() };
        let options = Options { block_list: Some(block.clone()), ..preset };
        let maps = MapPaths::beside(out.with_file_name("methodMapping.txt"));
        let summary = instrument(&[Input::new(&input, &out)], &maps, &options, &|_| {}).unwrap();
        let skipped = summary.skipped.iter().filter(|skip| skip.reason == SkipReason::ControlCharacter);
        assert_eq!(skipped.count(), 6, "{compat:?}: {:?}", summary.skipped);
        let lines = lines(&out);
        let odd = |line: &&String| {
            line.contains("steal") || line.contains("c.D") || line.chars().any(char::is_control)
        };
        assert_eq!(lines.iter().find(odd), None, "{compat:?}: {lines:?}");
        assert!(lines.iter().any(|line| line.contains("a.Named run ()V")), "{compat:?}: {lines:?}");
        // The skipped class is copied unchanged.
        let copies = entries(&fs::read(&out).unwrap());
        let copy = copies.iter().find(|(name, _)| name == "b/Class.class").unwrap();
        assert_eq!(copy.1, class("b/Cl\n7,1,c.D ass", &["run"]));
    }
}

#[test]
fn a_name_of_an_abstract_method_cannot_forge_a_line_either() {
    let directory = directory("names_abstract");
    let input = directory.join("in.jar");
    let mut made = Assembler::new("a/Named");
    made.method(1 | ABSTRACT, FORGED, "()V", &Body::default());
    jar(&input, &[("a/Named.class", &made.finish())]);
    let out = directory.join("out/out.jar");
    fs::create_dir_all(out.parent().unwrap()).unwrap();
    let maps = MapPaths::beside(out.with_file_name("methodMapping.txt"));
    instrument(&[Input::new(&input, &out)], &maps, &Options::matrix(), &|_| {}).unwrap();
    assert!(lines(&out).iter().all(|line| !line.contains("steal")));
}
