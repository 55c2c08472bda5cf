//! `anrscope plan`: rules from recordings, and builds with them.

use trace_format::MapId;
use trace_format::event::{Event, Folded};
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;

use test_support::program::run;
use test_support::temp_dir::TempDir;

const MAP: [&str; 4] = [
    "1,1,com.acme.Main run ()V",
    "2,1,com.acme.Node get (I)Lcom.acme.Node;",
    "3,1,com.acme.Node$Leaf get (I)Lcom.acme.Node;",
    "4,1,com.acme.Node text ()Ljava.lang.String;",
];

/// A recording in which a method is called 2,000 times, another one left nothing 50,000 times, and a third was
/// switched off.
fn recorded(directory: &TempDir, name: &str) -> String {
    let hot = [(3, 800_000), (0, 0), (0, 0), (0, 0)];
    let recording = RecordingBuilder::new(7, "com.acme").map_id(MapId::from_lines(MAP)).main("main", |t| {
        t.enter(0, 1);
        for n in 0..2_000_u64 {
            t.enter(n * 1_000, 2).exit(n * 1_000 + 400, 2);
        }
        t.event(2_000_000, Event::Folded(Folded { calls: 50_000, since: 0, hot }));
        t.exit(1_002_000_000, 1);
    });
    let recording = recording.section(SectionKind::Overhead, b"2000000 off 4 7000\n");
    directory.file(&format!("{name}/methodMapping.txt"), MAP.join("\n"));
    directory.file(&format!("{name}/1.anrscope"), recording.build())
}

#[test]
fn a_plan_has_one_rule_per_method_with_its_evidence() {
    let directory = TempDir::new();
    let recording = recorded(&directory, "runs");
    let summary = "3 left out of 4 methods that were called: 83.0 % of 59,001 calls";
    let plan = run(["plan", &recording]).ok(&[summary]);
    let lines: Vec<&str> = plan.lines().collect();
    assert_eq!(lines[0], "# By anrscope plan, from 1 recording.");
    assert_eq!(lines[1], format!("# {summary}."));
    assert_eq!(
        lines[3..],
        [
            "exclude class-only com.acme.Node$Leaf method get(I)Lcom.acme.Node; # about 40,000 calls (67.80 %), mean 0.000 µs, longest 0.000 ms",
            "exclude class-only com.acme.Node method text()Ljava.lang.String; # about 7,000 calls (11.86 %), mean 0.000 µs, longest 0.000 ms",
            "exclude class-only com.acme.Node method get(I)Lcom.acme.Node; # 2,000 calls (3.39 %), mean 0.400 µs, longest 0.000 ms",
        ]
    );
    // A directory, and a file that appears whole; the same again.
    let rules = directory.name("trace.rules");
    for _ in 0..2 {
        assert_eq!(run(["plan", &directory.name("runs"), "--out", &rules]).ok(&[summary]), "");
        assert_eq!(std::fs::read_to_string(&rules).unwrap(), plan);
    }
    let few = run(["plan", &recording, "--max-methods", "1"]).ok(&["1 left out of 4 methods"]);
    assert_eq!(few.lines().count(), 4);
    let none = run(["plan", &recording, "--max-mean", "0.3", "--min-share", "20"]).ok(&["1 left out"]);
    assert!(none.contains("$Leaf"), "{none}");
}

#[test]
fn a_script_reads_the_plan_as_json() {
    let directory = TempDir::new();
    let recording = recorded(&directory, "runs");
    let json = run(["plan", &recording, &recording, "--json"]).ok(&[]);
    let plan: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((plan["recordings"].as_u64(), plan["calls"].as_u64()), (Some(2), Some(118_002)));
    assert_eq!(plan["rows"][0]["rule"], "exclude class-only com.acme.Node$Leaf method get(I)Lcom.acme.Node;");
    assert_eq!(plan["rows"][0]["calls"], 80_000);
    assert_eq!(plan["rows"][2]["mean_ns"], 400);
}

#[test]
fn a_recording_without_the_map_of_its_build_makes_no_plan() {
    let directory = TempDir::new();
    let recording = recorded(&directory, "runs");
    directory.file("runs/methodMapping.txt", "1,1,com.other.Build run ()V\n");
    let shown = run(["plan", &recording]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(1), ""));
    assert!(shown.stderr.contains("name it with --map"), "{shown:?}");
    let map = directory.file("map.txt", MAP.join("\n"));
    run(["plan", &recording, "--map", &map]).ok(&["3 left out"]);
    run(["plan", &recording, "--map", &map, "--min-share", "101"]).failed(1, &["--min-share takes 0 to 100"]);
}

/// A real run, a plan from it, and a build with the plan that runs the same.
#[cfg(target_os = "linux")]
#[test]
fn a_program_is_recorded_planned_and_built_again() {
    use std::path::Path;

    use test_support::jdk::{compile, java};
    use test_support::program::command;

    let directory = TempDir::new();
    let classes = directory.name("classes");
    std::fs::create_dir(&classes).unwrap();
    compile(&["Busy"], Path::new(""), Path::new(&classes));
    let kept = directory.name("kept");
    let mut jvm = command();
    jvm.current_dir(directory.path())
        .args(["jvm", "--quiet", "--keep", &kept, "--", "-cp", &classes, "Busy"]);
    let jvm = jvm.output().unwrap();
    assert!(jvm.status.success(), "{jvm:?}");

    let rules = directory.name("trace.rules");
    run(["plan", &kept, "--out", &rules]).ok(&["1 left out of"]);
    let plan = std::fs::read_to_string(&rules).unwrap();
    assert!(plan.contains("\nexclude class-only Busy method digits(I)I # "), "{plan}");
    assert!(!plan.contains("slow") && !plan.contains("method main"), "{plan}");

    let traced = directory.name("traced");
    let shown = run(["instrument", &classes, "--out", &traced, "--rules", &rules]);
    assert!(shown.code == Some(0) && !shown.stderr.contains("warning"), "{shown:?}");
    let map = std::fs::read_to_string(Path::new(&traced).join("methodMapping.txt")).unwrap();
    assert!(map.contains("Busy slow ()I") && !map.contains("digits"), "{map}");
    let plain = java().args(["-cp", &classes, "Busy"]).output().unwrap();
    assert_eq!(jvm.stdout, plain.stdout);
    // What the plan leaves out was what made it slow to record; what it does is the same.
    let method_beat = test_support::root().join("android/method-beat/classes");
    let runtime = format!("-Xbootclasspath/a:{}", method_beat.display());
    let again = java().args([&runtime, "-cp", &traced, "Busy"]).output().unwrap();
    assert!(again.status.success() && again.stdout == plain.stdout, "{again:?}");
}
