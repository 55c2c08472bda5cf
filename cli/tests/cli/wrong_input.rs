//! Wrong input of each kind: told by name with a cure, with the right exit code, and nothing left behind.

use std::fs;

use trace_format::MapId;
use trace_format::synth::RecordingBuilder;

use super::folder::Folder;
use super::program::{Shown, run};

/// A recording of three methods, the third still running.
fn recording(map_id: MapId) -> Vec<u8> {
    let builder = RecordingBuilder::new(42, "com.example").map_id(map_id);
    let builder = builder.main("main", |t| {
        t.enter(2_000, 1).enter(3_000, 2).exit(4_000, 2).exit(5_000, 1).enter(6_000, 3);
    });
    builder.build()
}

/// Runs the program and asserts that `folder` is as it was.
#[track_caller]
fn run_without_trace(folder: &Folder, arguments: &[&str]) -> Shown {
    let before = folder.listing();
    let shown = run(arguments);
    let after = folder.listing();
    let names = |listing: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>| {
        listing.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&before), names(&after), "{shown:?}");
    assert!(before == after, "a file changed");
    shown
}

#[test]
fn recordings_that_are_none_are_refused() {
    let folder = Folder::new();
    let whole = recording(MapId::UNKNOWN);
    let mut newer = whole.clone();
    newer[8..10].copy_from_slice(&9_u16.to_le_bytes());
    let missing = folder.name("missing.anrscope");
    let cases = [
        (missing.as_str(), "No such file"),
        (&folder.file("empty.anrscope", b""), "is empty"),
        (&folder.file("cut.anrscope", &whole[..100]), "offset 100"),
        (&folder.file("text.anrscope", "no recording ".repeat(1000)), "offset 0"),
        (&folder.file("newer.anrscope", &newer), "offset 8"),
    ];
    let old = folder.file("old.pftrace", b"from before");
    for (input, place) in cases {
        for out in [&folder.name("new.pftrace"), &folder.name("new.json.gz"), &old] {
            run_without_trace(&folder, &["export", input, "-o", out]).failed(1, &[input, place]);
        }
        run_without_trace(&folder, &["report", input]).failed(1, &[input, place]);
    }
}

#[test]
fn recordings_that_are_cut_are_read_as_far_as_they_go() {
    let folder = Folder::new();
    let whole = recording(MapId::UNKNOWN);
    let header_only = folder.file("header.anrscope", &whole[..4096]);
    let cut = folder.file("cut.anrscope", &whole[..9000]);
    for (input, offset) in [(&header_only, "offset 4096"), (&cut, "offset 9000")] {
        let out = folder.name("out.pftrace");
        run(["export", input, "-o", &out]).ok(&["warning: ", input, offset, "truncated"]);
        assert!(fs::metadata(&out).unwrap().len() > 0);
        run(["report", input]).ok(&["warning: ", input, offset]);
    }
}

#[test]
fn maps_that_are_none_or_of_another_build_are_told() {
    let folder = Folder::new();
    let line = "1,1,com.example.Main onCreate ()V";
    let input = folder.file("app.anrscope", recording(MapId::from_lines([line])));
    let out = folder.name("out.pftrace");
    for (text, place) in [(&b"1,1,a b\nnonsense\n"[..], ":2"), (b"\xff\xfe", ":1")] {
        let map = folder.file("map.txt", text);
        run_without_trace(&folder, &["export", &input, "-o", &out, "--method-map", &map])
            .failed(1, &[&map, place]);
        run_without_trace(&folder, &["report", &input, "--method-map", &map]).failed(1, &[&map, place]);
    }
    let missing = folder.name("missing.txt");
    run_without_trace(&folder, &["export", &input, "-o", &out, "--method-map", &missing])
        .failed(1, &[&missing, "No such file"]);

    let other = folder.file("other.txt", "1,1,com.example.Other wrongName ()V\n");
    run(["export", &input, "-o", &out, "--level", "0", "--method-map", &other]).ok(&[
        "warning: ",
        &input,
        "another build",
    ]);
    let trace = String::from_utf8_lossy(&fs::read(&out).unwrap()).into_owned();
    assert!(!trace.contains("wrongName"), "names of another build are wrong");

    // The map beside the recording, and the one that is named, are of its build.
    fs::remove_file(&out).unwrap();
    folder.file("methodMapping.txt", line);
    run(["export", &input, "-o", &out, "--level", "0"]).ok(&["out.pftrace"]);
    let trace = String::from_utf8_lossy(&fs::read(&out).unwrap()).into_owned();
    assert!(trace.contains("com.example.Main.onCreate"));
}

#[test]
fn outputs_that_cannot_be_written_are_told() {
    let folder = Folder::new();
    let input = folder.file("app.anrscope", recording(MapId::UNKNOWN));
    let below_a_file = format!("{input}/x.pftrace");
    let a_folder = folder.name("folder.pftrace");
    fs::create_dir(&a_folder).unwrap();
    for out in [&below_a_file, &a_folder] {
        run_without_trace(&folder, &["export", &input, "-o", out]).failed(1, &["cannot write", out]);
    }
    run_without_trace(&folder, &["export", &input, "-o", &folder.name("x.txt")])
        .failed(2, &["x.txt", ".pftrace"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let folder = Folder::new();
    let input = folder.file("app.anrscope", recording(MapId::UNKNOWN));
    run_without_trace(&folder, &["export", &input, "-o", "/dev/full"])
        .failed(1, &["/dev/full", "No space left"]);
}

#[test]
fn inputs_that_cannot_be_instrumented_are_refused() {
    let folder = Folder::new();
    let text = folder.file("text.jar", b"no jar at all");
    let missing = folder.name("missing.jar");
    let out = folder.name("out.jar");
    run_without_trace(&folder, &["instrument", &missing, "--out", &out])
        .failed(1, &[&missing, "No such file"]);
    run_without_trace(&folder, &["instrument", &text, "--out", &out]).failed(1, &[&text, "is not a jar"]);
    run_without_trace(&folder, &["instrument", &text, "--out", &text]).failed(1, &[&text, "overwrite"]);
    let jar = super::instrument::jar(&folder, "app.jar", 52);
    run_without_trace(&folder, &["instrument", &jar, &text, "--out", &folder.name("several")])
        .failed(1, &[&text, "is not a jar"]);
    let cut = fs::read(&jar).unwrap();
    let cut = folder.file("cut.jar", &cut[..cut.len() / 2]);
    run_without_trace(&folder, &["instrument", &cut, "--out", &out]).failed(1, &[&cut, "cut off"]);
    let below_a_file = format!("{text}/out.jar");
    run_without_trace(&folder, &["instrument", &jar, "--out", &below_a_file]).failed(1, &["cannot write"]);
    let map = folder.file("base.txt", "x,1,a b ()V\n");
    run_without_trace(&folder, &["instrument", &jar, "--out", &out, "--base-map", &map])
        .failed(1, &[&format!("{map}:1")]);
    let list = folder.file("block.txt", "com/acme\nnot a class\n");
    run_without_trace(&folder, &["instrument", &jar, "--out", &out, "--block-list", &list])
        .failed(1, &[&format!("{list}:2")]);
}

/// ESC and CSI, as a terminal takes them for commands.
#[cfg(unix)]
#[test]
fn nothing_that_a_file_says_reaches_the_terminal_as_a_command() {
    let command = "\u{1b}]0;taken\u{7}\u{9b}2J";
    let folder = Folder::new();
    let title = format!("a{command}.anrscope");
    let mut shown = vec![run(["report", &folder.file(&title, b"no recording")])];
    // A thread's name, a process's and a text of the app's own.
    let mut builder = RecordingBuilder::new(42, &format!("com.example{command}"));
    let text = builder.text(command);
    builder = builder.main(&format!("main{command}"), |t| {
        t.event(2_000, trace_format::Event::Mark(text));
        t.enter(3_000, 1);
    });
    let recording = folder.file("names.anrscope", builder.build());
    shown.push(run(["report", &recording]));
    shown.push(run(["export", &recording, "-o", &folder.name("names.pftrace")]));
    // A class file that is none, by its name in the jar.
    let jar = std::fs::File::create(folder.name("names.jar")).unwrap();
    let mut jar = zip::ZipWriter::new(jar);
    jar.start_file(format!("a{command}.class"), zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut jar, b"\xca\xfe\xba\xbe no class").unwrap();
    jar.finish().unwrap();
    shown.push(run(["instrument", &folder.name("names.jar"), "--out", &folder.name("out.jar")]));
    for shown in shown {
        let all = shown.stdout + &shown.stderr;
        assert!(all.contains('a') && !all.contains(['\u{1b}', '\u{9b}', '\u{7}']), "{all:?}");
    }
}

/// Opening one waits for a writer.
#[cfg(unix)]
#[test]
fn pipes_and_devices_among_recordings_are_named_and_passed_over() {
    let folder = Folder::new();
    folder.file("many/a.anrscope", recording(MapId::UNKNOWN));
    let pipe = folder.name("many/b.anrscope");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let device = folder.name("many/c.anrscope");
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    let map = folder.name("many/methodMapping.txt.lines");
    folder.file("many/methodMapping.txt", "1,1,com.example.Main run ()V\n");
    assert!(std::process::Command::new("mkfifo").arg(&map).status().unwrap().success());
    run(["report", "--group", &folder.name("many")]).ok(&["warning: ", &pipe, &device, "not a regular file"]);
    run(["report", &pipe]).failed(1, &[&pipe, "not a regular file"]);
}
