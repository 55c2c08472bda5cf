//! `kill -3` on a traced JVM.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trace_format::event::Forward;
use trace_format::{Event, Item};

use crate::folder::Folder;
use crate::{compile, engine, program, recording, text};

#[test]
fn the_jvm_prints_its_dump_and_our_capture_is_there() {
    dump_and_capture("-Xshare:auto");
}

/// This JVM looks whether somebody changed its signal handlers, and says so on its output.
#[test]
fn a_jvm_that_checks_its_handlers_finds_nothing_to_say() {
    dump_and_capture("-Xcheck:jni");
}

fn dump_and_capture(option: &str) {
    let folder = Folder::new();
    compile("Sleeper", folder.path());
    let (trace, kept) = (folder.name("s.pftrace"), folder.name("kept"));
    let mut run = program::command()
        .args(["jvm", "--quiet", "--out", &trace, "--keep", &kept, "--", option, "-cp"])
        .arg(folder.path())
        .arg("Sleeper")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(run.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "running\n");
    // The JVM is the child of the program.
    let java = Command::new("pgrep").args(["-P", &run.id().to_string(), "-x", "java"]).output().unwrap();
    let java = String::from_utf8(java.stdout).unwrap();
    let kill = Command::new("kill").args(["-3", java.trim()]).spawn().unwrap();
    let sender = kill.id();
    assert!(kill.wait_with_output().unwrap().status.success());

    // The dump begins with a line of its own and ends with the heap's.
    let mut dump = String::new();
    while !dump.contains("Full thread dump") {
        assert!(output.read_line(&mut dump).unwrap() > 0, "{dump}");
    }
    // Long enough for the capture, whose order to the dump is nobody's promise.
    let patience = Instant::now() + Duration::from_secs(10);
    let captures = || {
        let recording = recording(kept.as_ref());
        let Some(service) = recording.service() else { return Vec::new() };
        let events = recording.events(service).map(Result::unwrap);
        events
            .filter_map(|item| match item {
                Item::Event { event: Event::Sigquit(signal), .. } => Some(signal),
                _ => None,
            })
            .collect()
    };
    while captures().is_empty() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(run.stdin.take());
    output.read_to_string(&mut dump).unwrap();
    assert!(run.wait().unwrap().success());
    assert!(dump.contains("Sleeper.waitHere") && dump.ends_with("done\n"), "{dump}");
    assert!(!dump.to_lowercase().contains("warning"), "{dump}");

    let [signal] = captures()[..] else { panic!("{:?}", captures()) };
    assert_eq!((signal.forward, signal.si_pid), (Forward::OlderHandler, sender));
    let log = engine::rows(trace.as_ref(), "select msg from android_logs");
    assert!(
        log.iter().any(|row| text(row, "msg").contains("SIGQUIT") || text(row, "msg").contains("dump")),
        "{log:?}"
    );
    // Somebody asked for a dump of a program that was not known to be stuck: that is no ANR.
    let anrs =
        engine::rows(trace.as_ref(), "include perfetto module android.anrs; select * from android_anrs");
    assert!(anrs.is_empty(), "{anrs:?}");
}
