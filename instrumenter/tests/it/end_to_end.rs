//! Programs that print the same with and without calls, and whose calls balance.

use std::fs;
use std::path::Path;

use instrumenter::{Exits, Filter, Options};

use crate::support::*;

/// Runs `main` plain and instrumented, and compares what it prints.
pub(crate) fn compare(
    directory: &Path,
    classes: &Path,
    main: &str,
    options: &Options,
    java: &[&str],
) -> Beat {
    let beat = method_beat();
    let traced = directory.join(format!("traced-{main}"));
    let summary = instrument_one(classes, &traced, options);
    assert_eq!(summary.skipped, []);
    assert!(summary.traced >= 5, "{summary:?}");
    let counts = directory.join("beat.txt");
    let property = format!("-Dbeat.out={}", text(&counts));
    let program = |path: &Path| {
        let path = class_path(&[path, beat]);
        let arguments = [&["-Xverify:all", &property, "-cp", &path], java, &[main]].concat();
        run("java", &arguments)
    };
    let plain = program(classes);
    assert!(!counts.exists(), "the plain program has no calls");
    let instrumented = program(&traced);
    assert_eq!(plain, instrumented);
    assert!(!plain.is_empty());
    Beat::read(&counts)
}

#[test]
fn java_8_classes_with_all_debug_information_run() {
    let directory = directory("java8");
    let classes = fixture();
    compare(&directory, classes, "fixture.Main", &Options::default(), &[]).assert_balanced(20_000);
}

#[test]
fn java_17_classes_without_debug_information_run() {
    let directory = directory("java17");
    let classes = directory.join("classes");
    fs::create_dir(&classes).unwrap();
    compile_fixture(&classes, &["-g:none", "-parameters"]);
    compare(&directory, &classes, "fixture.Main", &Options::default(), &[]).assert_balanced(20_000);
}

#[test]
fn records_sealed_interfaces_and_nest_mates_run() {
    let directory = directory("modern");
    let classes = directory.join("classes");
    fs::create_dir(&classes).unwrap();
    javac(&classes, &["-g", "--release", "17"], &["fixture/Modern.java"]);
    compare(&directory, &classes, "fixture.Modern", &Options::default(), &[]).assert_balanced(10);
}

/// Every method of every class, also those that the default rule skips, with ids that need a constant.
#[test]
fn every_method_runs_with_large_ids() {
    let directory = directory("everything");
    let classes = fixture();
    let first = directory.join("first");
    instrument_one(classes, &first, &Options { filter: Filter::none(), ..Options::default() });
    let maps = fs::read_to_string(first.with_extension("map.txt")).unwrap();
    let ignored = fs::read_to_string(directory.join("ignoreMethodMapping.txt")).unwrap();
    let traced = maps.lines().filter(|line| !line.contains("android.os.Handler"));
    let traced = traced.map(|line| line.splitn(3, ',').nth(2).unwrap());
    let base: Vec<String> = traced
        .chain(ignored.lines().skip(1))
        .enumerate()
        .map(|(index, method)| format!("{},1,{method}\n", 32_760 + index))
        .collect();
    let base_map = directory.join("base.txt");
    fs::write(&base_map, base.concat()).unwrap();
    let options = Options { base_map: Some(base_map), ..Options::default() };
    compare(&directory, classes, "fixture.Main", &options, &[]).assert_balanced(20_000);
}

/// An exception leaves an enter without an exit. In Matrix's form a throw that is caught in the method itself exits twice.
/// Readers pair by id.
#[test]
fn exits_of_returns_alone_leave_enters_without_one() {
    for exits in [Exits::Normal, Exits::Bare] {
        let directory = directory(&format!("{exits:?}"));
        let options = Options { exits, ..Options::default() };
        let beat = compare(&directory, fixture(), "fixture.Main", &options, &["-Dbeat.lenient=true"]);
        assert!(beat.exits > 15_000 && beat.enters > 15_000, "{beat:?}");
    }
}

#[test]
fn a_stack_overflow_reaches_the_program_unchanged() {
    let directory = directory("overflow");
    let classes = fixture();
    let java = ["-Dbeat.lenient=true", "-Xss512k", "-Xint"];
    let beat = compare(&directory, classes, "fixture.Overflow", &Options::default(), &java);
    assert!(beat.enters > 1_000, "{beat:?}");
}

/// Java 5 classes have no frames, and the old verifier checks them. javac no longer produces them, but a class of
/// Java 8 without lambdas and interfaces becomes one if its frames have another name.
#[test]
fn classes_without_stack_map_frames_run() {
    for major in [49, 50] {
        let directory = directory(&format!("major{major}"));
        let classes = directory.join("classes");
        fs::create_dir_all(classes.join("fixture")).unwrap();
        let mut bytes = old_class().to_vec();
        bytes[7] = major;
        let name = b"StackMapTable";
        let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
        bytes[at] = b'Z';
        fs::write(classes.join("fixture/Old.class"), bytes).unwrap();
        compare(&directory, &classes, "fixture.Old", &Options::default(), &[]).assert_balanced(10);
    }
}
