use std::fs;
use std::process::Stdio;

use serde_json::Value;
use trace_format::synth::RecordingBuilder;

use test_support::program::{command, run};
use test_support::temp_dir::TempDir;

/// Two methods on main, one of which never ends, and one on a worker.
fn recording(pid: u32) -> Vec<u8> {
    RecordingBuilder::new(pid, "com.example")
        .main("main", |t| {
            t.enter(2_000, 1).enter(3_000, 2).exit(4_000, 2);
        })
        .thread("worker", pid + 1, |t| {
            t.enter(2_500, 3).exit(9_000, 3);
        })
        .build()
}

const MAP: &str = "1,1,a.Main one ()V\n2,1,a.Main two ()V\n3,1,a.Worker three ()V\n";

#[test]
fn each_form_is_written_by_its_name() {
    let directory = TempDir::new();
    let input = directory.file("app.anrscope", recording(42));
    directory.file("methodMapping.txt", MAP);
    let read = |name: &str| fs::read(directory.path().join(name)).unwrap();
    for name in ["t.pftrace", "t.json", "t.json.gz"] {
        let shown = run(["export", &input, "-o", &directory.name(name), "--json"]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let json: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!((json["slices"].as_u64(), json["events"].as_u64()), (Some(3), Some(5)), "{json}");
        assert_eq!(json["incomplete"], 1, "{json}");
        assert_eq!(json["bytes"].as_u64(), Some(read(name).len() as u64), "{name}");
        for key in ["tracks", "clamped"] {
            assert!(json[key].is_u64(), "{key} in {json}");
        }
    }
    let trace: Value = serde_json::from_slice(&read("t.json")).unwrap();
    assert!(trace.to_string().contains("a.Worker.three"));
    let mut inflated = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*read("t.json.gz")), &mut inflated)
        .unwrap();
    assert_eq!(inflated.as_bytes(), read("t.json"));
    // Without compression the names are there to be seen.
    run(["export", &input, "-o", &directory.name("t.pftrace"), "--level", "0"]).ok(&["3 slices"]);
    assert!(String::from_utf8_lossy(&read("t.pftrace")).contains("a.Worker.three"));
}

#[test]
fn part_of_a_recording_is_exported() {
    let directory = TempDir::new();
    let input = directory.file("app.anrscope", recording(42));
    let out = directory.name("t.json");
    let slices = |options: &[&str]| {
        let shown = run([&["export", &input, "-o", &out, "--json"], options].concat());
        let json: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|e| panic!("{e}: {shown:?}"));
        (json["slices"].as_u64().unwrap(), json["filtered"].as_u64().unwrap())
    };
    assert_eq!(slices(&[]), (3, 0));
    assert_eq!(slices(&["--threads", "worker"]), (1, 0), "what is not read is not counted");
    assert_eq!(slices(&["--min-duration", "5us"]), (2, 1));
    // The trace begins with the recorder, at 1 us.
    assert_eq!(slices(&["--to", "1600ns"]), (2, 1));
    assert_eq!(slices(&["--from", "0.000005", "--to", "1s", "--sorted"]), (2, 1));
    run(["export", &input, "-o", &out, "--from", "soon"]).failed(2, &["a time is a number of seconds"]);
}

#[test]
fn several_recordings_are_exported_into_one_trace() {
    let directory = TempDir::new();
    let inputs = [directory.file("a.anrscope", recording(42)), directory.file("b.anrscope", recording(50))];
    let shown = run(["export", &inputs[0], &inputs[1], "-o", &directory.name("t.pftrace"), "--json"]);
    let json: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(json["slices"], 6, "{json}");
    let report = run(["report", &inputs[0], &inputs[1]]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert!(!report.stdout.is_empty());
}

#[test]
fn a_report_names_the_process_and_goes_to_stdout() {
    let directory = TempDir::new();
    let input = directory.file("app.anrscope", recording(42));
    let map = directory.file("map.txt", MAP);
    let report = run(["report", &input, "--format", "text", "--method-map", &map]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert!(report.stdout.contains("com.example"), "{report:?}");
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_not_an_error() {
    let directory = TempDir::new();
    let input = directory.file("app.anrscope", recording(42));
    // A pipe whose reading end is closed before the program can write.
    let mut child = command()
        .args(["report", &input])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("error") && !stderr.contains("panicked"), "{stderr}");
}
