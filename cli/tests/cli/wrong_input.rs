//! Wrong input of each kind: the error names it and a cure, the exit code is right, and no file is left behind.

use std::fs;

use trace_format::MapId;
use trace_format::synth::RecordingBuilder;

use test_support::program::{Shown, run};
use test_support::temp_dir::TempDir;

/// A recording of three methods, the third still running.
fn recording(map_id: MapId) -> Vec<u8> {
    let builder = RecordingBuilder::new(42, "com.example").map_id(map_id);
    let builder = builder.main("main", |t| {
        t.enter(2_000, 1).enter(3_000, 2).exit(4_000, 2).exit(5_000, 1).enter(6_000, 3);
    });
    builder.build()
}

/// Runs the program and asserts that `directory` is as it was.
#[track_caller]
fn run_without_trace(directory: &TempDir, arguments: &[&str]) -> Shown {
    let before = directory.listing();
    let shown = run(arguments);
    let after = directory.listing();
    let names = |listing: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>| {
        listing.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&before), names(&after), "{shown:?}");
    assert!(before == after, "a file changed");
    shown
}

#[test]
fn files_that_are_not_recordings_are_errors() {
    let directory = TempDir::new();
    let whole = recording(MapId::UNKNOWN);
    let mut newer = whole.clone();
    newer[8..10].copy_from_slice(&9_u16.to_le_bytes());
    let missing = directory.name("missing.anrscope");
    let cases = [
        (missing.as_str(), "No such file"),
        (&directory.file("empty.anrscope", b""), "is empty"),
        (&directory.file("cut.anrscope", &whole[..100]), "offset 100"),
        (&directory.file("text.anrscope", "no recording ".repeat(1000)), "offset 0"),
        (&directory.file("newer.anrscope", &newer), "offset 8"),
    ];
    let old = directory.file("old.pftrace", b"from before");
    for (input, place) in cases {
        for out in [&directory.name("new.pftrace"), &directory.name("new.json.gz"), &old] {
            run_without_trace(&directory, &["export", input, "-o", out]).failed(1, &[input, place]);
        }
        run_without_trace(&directory, &["report", input]).failed(1, &[input, place]);
    }
}

#[test]
fn cut_recordings_are_read_up_to_the_cut() {
    let directory = TempDir::new();
    let whole = recording(MapId::UNKNOWN);
    let header_only = directory.file("header.anrscope", &whole[..4096]);
    let cut = directory.file("cut.anrscope", &whole[..9000]);
    for (input, offset) in [(&header_only, "offset 4096"), (&cut, "offset 9000")] {
        let out = directory.name("out.pftrace");
        run(["export", input, "-o", &out]).ok(&["warning: ", input, offset, "truncated"]);
        assert!(fs::metadata(&out).unwrap().len() > 0);
        run(["report", input]).ok(&["warning: ", input, offset]);
    }
}

#[test]
fn invalid_maps_and_maps_of_another_build_are_reported() {
    let directory = TempDir::new();
    let line = "1,1,com.example.Main onCreate ()V";
    let input = directory.file("app.anrscope", recording(MapId::from_lines([line])));
    let out = directory.name("out.pftrace");
    for (text, place) in [(&b"1,1,a b\nnonsense\n"[..], ":2"), (b"\xff\xfe", ":1")] {
        let map = directory.file("map.txt", text);
        run_without_trace(&directory, &["export", &input, "-o", &out, "--method-map", &map])
            .failed(1, &[&map, place]);
        run_without_trace(&directory, &["report", &input, "--method-map", &map]).failed(1, &[&map, place]);
    }
    let missing = directory.name("missing.txt");
    run_without_trace(&directory, &["export", &input, "-o", &out, "--method-map", &missing])
        .failed(1, &[&missing, "No such file"]);

    let other = directory.file("other.txt", "1,1,com.example.Other wrongName ()V\n");
    run(["export", &input, "-o", &out, "--level", "0", "--method-map", &other]).ok(&[
        "warning: ",
        &input,
        "another build",
    ]);
    let trace = String::from_utf8_lossy(&fs::read(&out).unwrap()).into_owned();
    assert!(!trace.contains("wrongName"), "names of another build are wrong");

    // The map beside the recording, and the one that is named, are of its build.
    fs::remove_file(&out).unwrap();
    directory.file("methodMapping.txt", line);
    run(["export", &input, "-o", &out, "--level", "0"]).ok(&["out.pftrace"]);
    let trace = String::from_utf8_lossy(&fs::read(&out).unwrap()).into_owned();
    assert!(trace.contains("com.example.Main.onCreate"));
}

#[test]
fn unwritable_outputs_are_reported() {
    let directory = TempDir::new();
    let input = directory.file("app.anrscope", recording(MapId::UNKNOWN));
    let below_a_file = format!("{input}/x.pftrace");
    let a_directory = directory.name("directory.pftrace");
    fs::create_dir(&a_directory).unwrap();
    for out in [&below_a_file, &a_directory] {
        run_without_trace(&directory, &["export", &input, "-o", out]).failed(1, &["cannot write", out]);
    }
    run_without_trace(&directory, &["export", &input, "-o", &directory.name("x.txt")])
        .failed(2, &["x.txt", ".pftrace"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let directory = TempDir::new();
    let input = directory.file("app.anrscope", recording(MapId::UNKNOWN));
    run_without_trace(&directory, &["export", &input, "-o", "/dev/full"])
        .failed(1, &["/dev/full", "No space left"]);
}

#[test]
fn inputs_that_cannot_be_instrumented_are_errors() {
    let directory = TempDir::new();
    let text = directory.file("text.jar", b"no jar at all");
    let missing = directory.name("missing.jar");
    let out = directory.name("out.jar");
    run_without_trace(&directory, &["instrument", &missing, "--out", &out])
        .failed(1, &[&missing, "No such file"]);
    run_without_trace(&directory, &["instrument", &text, "--out", &out]).failed(1, &[&text, "is not a jar"]);
    run_without_trace(&directory, &["instrument", &text, "--out", &text]).failed(1, &[&text, "overwrite"]);
    let jar = super::instrument::jar(&directory, "app.jar", 52);
    run_without_trace(&directory, &["instrument", &jar, &text, "--out", &directory.name("several")])
        .failed(1, &[&text, "is not a jar"]);
    let cut = fs::read(&jar).unwrap();
    let cut = directory.file("cut.jar", &cut[..cut.len() / 2]);
    run_without_trace(&directory, &["instrument", &cut, "--out", &out]).failed(1, &[&cut, "cut off"]);
    let below_a_file = format!("{text}/out.jar");
    run_without_trace(&directory, &["instrument", &jar, "--out", &below_a_file]).failed(1, &["cannot write"]);
    let map = directory.file("base.txt", "x,1,a b ()V\n");
    run_without_trace(&directory, &["instrument", &jar, "--out", &out, "--base-map", &map])
        .failed(1, &[&format!("{map}:1")]);
    let list = directory.file("block.txt", "com/acme\nnot a class\n");
    run_without_trace(&directory, &["instrument", &jar, "--out", &out, "--block-list", &list])
        .failed(1, &[&format!("{list}:2")]);
}

/// ESC and CSI, as a terminal takes them for commands.
#[cfg(unix)]
#[test]
fn control_characters_from_a_file_do_not_reach_the_terminal() {
    let command = "\u{1b}]0;taken\u{7}\u{9b}2J";
    let directory = TempDir::new();
    let title = format!("a{command}.anrscope");
    let mut shown = vec![run(["report", &directory.file(&title, b"no recording")])];
    // A thread's name, a process's and a text of the app's own.
    let mut builder = RecordingBuilder::new(42, &format!("com.example{command}"));
    let text = builder.text(command);
    builder = builder.main(&format!("main{command}"), |t| {
        t.event(2_000, trace_format::Event::Mark(text));
        t.enter(3_000, 1);
    });
    let recording = directory.file("names.anrscope", builder.build());
    shown.push(run(["report", &recording]));
    shown.push(run(["export", &recording, "-o", &directory.name("names.pftrace")]));
    // An invalid class file, by its name in the jar.
    let jar = std::fs::File::create(directory.name("names.jar")).unwrap();
    let mut jar = zip::ZipWriter::new(jar);
    jar.start_file(format!("a{command}.class"), zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut jar, b"\xca\xfe\xba\xbe no class").unwrap();
    jar.finish().unwrap();
    shown.push(run(["instrument", &directory.name("names.jar"), "--out", &directory.name("out.jar")]));
    for shown in shown {
        let all = shown.stdout + &shown.stderr;
        assert!(all.contains('a') && !all.contains(['\u{1b}', '\u{9b}', '\u{7}']), "{all:?}");
    }
}

/// Opening one waits for a writer.
#[cfg(unix)]
#[test]
fn pipes_and_devices_among_recordings_are_reported_and_skipped() {
    let directory = TempDir::new();
    directory.file("many/a.anrscope", recording(MapId::UNKNOWN));
    let pipe = directory.name("many/b.anrscope");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let device = directory.name("many/c.anrscope");
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    let map = directory.name("many/methodMapping.txt.lines");
    directory.file("many/methodMapping.txt", "1,1,com.example.Main run ()V\n");
    assert!(std::process::Command::new("mkfifo").arg(&map).status().unwrap().success());
    run(["report", "--group", &directory.name("many")]).ok(&[
        "warning: ",
        &pipe,
        &device,
        "not a regular file",
    ]);
    run(["report", &pipe]).failed(1, &[&pipe, "not a regular file"]);
}
