//! Random classes behave as before, in every mode.

use std::fs;

use instrumenter::{Catalogue, Exits, Options};

use crate::generator;
use crate::support::*;

/// The number of classes; set `ANRSCOPE_PROPERTY_CASES` for longer runs.
const CASES: u64 = 60;

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

#[test]
fn random_classes_behave_as_before_and_calls_balance() {
    let directory = directory("property");
    let (classes, tools) = (directory.join("classes"), directory.join("tools"));
    fs::create_dir(&classes).unwrap();
    fs::create_dir(&tools).unwrap();
    javac(&tools, &[], &["tools/RunAll.java"]);
    let cases = variable("ANRSCOPE_PROPERTY_CASES", CASES);
    let seed = variable("ANRSCOPE_PROPERTY_SEED", 1);
    for case in 0..cases {
        let name = format!("P{case}");
        fs::write(classes.join(format!("{name}.class")), generator::class(&name, seed * 1_000_003 + case))
            .unwrap();
    }
    let counts = directory.join("beat.txt");
    let run = |classes: &std::path::Path, lenient: bool| {
        let property = format!("-Dbeat.out={}", text(&counts));
        let lenient = format!("-Dbeat.lenient={lenient}");
        let path = class_path(&[classes, method_beat(), &tools]);
        run("java", &["-Xverify:all", &property, &lenient, "-cp", &path, "tools.RunAll", &cases.to_string()])
    };
    let plain = run(&classes, false);
    assert_eq!(plain.lines().count() as u64, cases);
    assert!(!plain.contains("VerifyError") && !plain.contains("still locked"), "{plain}");
    assert!(plain.contains("ArithmeticException") && plain.contains("RuntimeException"), "{plain}");
    let all = [Exits::All, Exits::Normal, Exits::Bare];
    for (exits, waits) in all.iter().flat_map(|&exits| [(exits, false), (exits, true)]) {
        let mode = format!("{exits:?}, waits {waits}, seed {seed}");
        let options = Options { exits, waits: waits.then(Catalogue::default), ..Options::default() };
        let traced = directory.join(format!("traced-{exits:?}-{waits}"));
        let summary = instrument_one(&classes, &traced, &options);
        assert_eq!(summary.skipped, [], "{mode}");
        let shown = run(&traced, exits != Exits::All);
        for (plain, shown) in plain.lines().zip(shown.lines()) {
            assert_eq!(plain, shown, "{mode}");
        }
        assert_eq!(plain.len(), shown.len(), "{mode}");
        let beat = Beat::read(&counts);
        assert_eq!(beat.wrong, "none", "{mode}: {beat:?}");
        assert_eq!(beat.waits_open, 0, "{mode}: {beat:?}");
        assert_eq!(beat.waits > cases, waits, "{mode}: {beat:?}");
        if exits == Exits::All {
            beat.assert_balanced(cases * 6);
        }
    }
}
