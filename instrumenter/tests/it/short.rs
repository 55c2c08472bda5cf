//! The default rule skips methods that are short with everything they call, and no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use instrumenter::{Catalogue, Decision, Input, MapPaths, Options, Summary, instrument};

use crate::end_to_end::compare;
use crate::support::*;

/// Compiles the fixture into `directory` with these flags.
fn compiled(directory: &Path, flags: &[&str]) -> PathBuf {
    let classes = directory.join("classes");
    fs::create_dir(&classes).unwrap();
    javac(&classes, flags, &["fixture/Short.java"]);
    classes
}

/// Returns the names of the methods of `fixture.Short` in a map.
fn names(map: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(map).unwrap();
    let fields = text.lines().filter_map(|line| line.split(',').next_back()?.strip_prefix("fixture.Short "));
    fields.filter_map(|method| method.split(' ').next()).map(str::to_owned).collect()
}

fn instrumented(classes: &Path, to: &Path, options: &Options) -> (Summary, BTreeSet<String>) {
    let summary = instrument_one(classes, to, options);
    let traced = names(&to.with_extension("map.txt"));
    (summary, traced)
}

#[test]
fn short_methods_are_skipped_and_the_program_behaves_the_same() {
    for (name, flags) in [("short8", &["-g", "--release", "8"][..]), ("short17", &["-g", "--release", "17"])]
    {
        let directory = directory(name);
        let classes = compiled(&directory, flags);
        compare(&directory, &classes, "fixture.Short", &Options::default(), &[]).assert_balanced(15);
        let (summary, traced) = instrumented(&classes, &directory.join("out"), &Options::default());
        assert!(summary.short >= 7, "{summary:?}");
        let all = names_of(&classes);
        let left_out: BTreeSet<&String> = all.iter().filter(|name| !traced.contains(*name)).collect();
        assert!(all.len() > 20);
        for name in &all {
            let is_short = name.starts_with("short");
            assert_eq!(left_out.contains(name), is_short, "{name}: {traced:?}");
        }
        let (summary, traced) =
            instrumented(&classes, &directory.join("all"), &Options { short: 0, ..Options::default() });
        assert_eq!((summary.short, traced.is_superset(&all)), (0, true));
    }
}

/// Returns the names of the methods of the fixture, which state what is expected of them.
fn names_of(classes: &Path) -> BTreeSet<String> {
    let shown = run("javap", &["-p", "-cp", text(classes), "fixture.Short"]);
    let words = shown.split(|c: char| !c.is_alphanumeric()).filter(|word| {
        let rest = word.strip_prefix("short").or_else(|| word.strip_prefix("kept"));
        rest.is_some_and(|rest| rest.starts_with(char::is_uppercase))
    });
    words.map(str::to_owned).collect()
}

#[test]
fn the_cost_of_a_short_method_is_explained_and_rules_take_precedence() {
    let directory = directory("short_explained");
    let classes = compiled(&directory, &["-g", "--release", "8"]);
    let rules = directory.join("trace.rules");
    fs::write(&rules, "always method shortNew()*\ninclude method shortEnum*\n").unwrap();
    let options = Options {
        explain: Some("fixture.Short".to_owned()),
        rules: Some(rules.clone()),
        ..Options::default()
    };
    let (summary, traced) = instrumented(&classes, &directory.join("out"), &options);
    assert!(traced.contains("shortNew") && !traced.contains("shortEnum"));
    let [class] = summary.explained.as_slice() else { panic!("{:?}", summary.explained) };
    let method = |name: &str| class.methods.iter().find(|method| method.name == name).unwrap();
    assert_eq!(method("shortNew").decision, Decision::Traced);
    assert_eq!(method("shortEnum").rule, Some((rules, 2)));
    // aload, invokevirtual, aload, invokevirtual, iadd, ireturn; twice aload, getfield, ireturn.
    let accessor = &method("shortAccessor").decision;
    assert_eq!(*accessor, Decision::Short(12));
    assert_eq!(accessor.to_string(), "not worth it: 12 instructions with all it calls, no loop");
    // The same class with a call that may wait, as the caller decides.
    let mut waits = Catalogue::default();
    waits.add("blocking fixture/Short$Point x ()I").unwrap();
    let (_, traced) = instrumented(
        &classes,
        &directory.join("waits"),
        &Options { waits: Some(waits), ..Options::default() },
    );
    assert!(traced.contains("shortAccessor") && !traced.contains("shortFinal"));
}

/// A class file of `fixture/Short` is unchanged, and another one decides whether its methods are short.
#[test]
fn an_incremental_run_follows_a_change_in_another_class() {
    let directory = directory("short_incremental");
    let sources = |name: &str, code: &str| {
        let path = directory.join(name);
        fs::write(&path, code).unwrap();
        path
    };
    let caller = "package a; final class Caller { static int go() { return Callee.value() + 1; }
        static int other() { return go() + Thread.activeCount(); } }";
    let versions = [
        "package a; final class Callee { static int value() { return Math.abs(3); } }",
        "package a; final class Callee { static int value() { int s = 0; for (int i = 0; i < 9; i++) s += Math.abs(i); return s; } }",
        "package a; final class Callee { static int value() { return Math.abs(3) + more(); } static int more() { return 1; } }",
        "package a; final class Callee { static synchronized int value() { return Math.abs(3); } }",
        "package a; final class Callee { static int more() { return 1; } static int value() { return Math.abs(more()); } }",
    ];
    let compile = |number: usize| {
        let to = directory.join(format!("v{number}"));
        fs::create_dir(&to).unwrap();
        let files = [sources("Caller.java", caller), sources("Callee.java", versions[number])];
        javac(&to, &["--release", "8"], &files.each_ref().map(|file| text(file)));
        to
    };
    let compiled: Vec<PathBuf> = (0..versions.len()).map(compile).collect();
    // The caller in an archive that is not even opened, and in a directory.
    for is_jar in [true, false] {
        let root = directory.join(if is_jar { "jar" } else { "directory" });
        let (input, callee) = (root.join(if is_jar { "in.jar" } else { "in" }), root.join("callee"));
        fs::create_dir_all(&callee).unwrap();
        let caller = fs::read(compiled[0].join("a/Caller.class")).unwrap();
        if is_jar {
            jar(&input, &[("a/Caller.class", &caller)]);
        } else {
            fs::create_dir(&input).unwrap();
            fs::write(input.join("Caller.class"), &caller).unwrap();
        }
        let run = |to: &str, options: &Options| {
            let to = root.join(to);
            let inputs = [Input::new(&callee, to.join("callee")), Input::new(&input, to.join("caller"))];
            let maps = MapPaths::beside(to.join("callee/methodMapping.txt"));
            let summary = instrument(&inputs, &maps, options, &|_| {}).unwrap();
            (summary, fs::read_to_string(to.join("callee/methodMapping.txt")).unwrap())
        };
        let options = Options { cache: Some(root.join("cache")), ..Options::default() };
        for (step, is_short) in
            [(0, true), (1, false), (2, true), (3, false), (0, true), (4, true), (4, true)]
        {
            fs::copy(compiled[step].join("a/Callee.class"), callee.join("Callee.class")).unwrap();
            // Recently written files are read in any case.
            std::thread::sleep(std::time::Duration::from_millis(150));
            let (summary, map) = run("out", &options);
            assert_eq!(map.contains("a.Caller go"), !is_short, "{step}: {map}");
            assert!(map.contains("a.Caller other"));
            // A run without a cache, with the same ids, produces the same bytes.
            let base_map = Some(root.join("out/callee/methodMapping.txt"));
            let (clean, fresh) = run("clean", &Options::default());
            assert_eq!((summary.short, summary.traced), (clean.short, clean.traced));
            assert_eq!(map.lines().count(), fresh.lines().count(), "{step}");
            run("based", &Options { base_map, ..Options::default() });
            let read = |to: &str| {
                let to = root.join(to);
                let mut found = files(&to.join("callee"));
                match is_jar {
                    true => {
                        let inside = entries(&fs::read(to.join("caller")).unwrap());
                        found.extend(inside.into_iter().map(|(name, bytes)| (name.into(), bytes)));
                    }
                    false => found.extend(files(&to.join("caller"))),
                }
                found
            };
            assert_eq!(read("out"), read("based"), "{step}");
            for to in ["clean", "based"] {
                fs::remove_dir_all(root.join(to)).unwrap();
            }
        }
    }
}
