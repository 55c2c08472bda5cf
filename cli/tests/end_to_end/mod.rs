//! End-to-end tests on real programs: recorded by the real runtime, opened by the real Perfetto engine, and compared with
//! the programs' own logs.

#![cfg(target_os = "linux")]

mod agents_dumps;
mod browser;
mod closure;
mod components;
mod debug_builds;
mod demo;
mod device;
mod exceptions;
mod export_in_app;
mod five_questions;
mod kills;
mod life;
mod markers;
mod model_rows;
mod native_chain;
mod native_jvm;
mod on_device;
mod reads;
mod server;
mod sigquit;
mod spin;
mod stack_bytes;
mod waits;
mod without_a_library;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use test_support::jdk::compile_with;
use trace_format::{Event, Item, Recording, Thread};

/// Compiles one of the Java programs beside this file.
fn compile(name: &str, directory: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/end_to_end/java").join(name);
    compile_with(&runtime_classes(), &[source.with_extension("java")], directory);
}

/// Runs one of the Java programs beside this file under `anrscope jvm`. Gives the trace, the directory of the
/// recording, and what was shown.
fn traced(
    directory: &test_support::temp_dir::TempDir,
    name: &str,
    flags: &[&str],
) -> (String, String, test_support::program::Shown) {
    compile(name, directory.path());
    let (trace, kept) = (directory.name(&format!("{name}.pftrace")), directory.name("kept"));
    let own = ["jvm", "--quiet", "--out", &trace, "--keep", &kept];
    let java = ["--", "-Xverify:all", "-cp", &directory.name(""), name];
    let shown = test_support::program::run(own.iter().chain(flags).chain(&java).copied());
    assert_eq!(shown.code, Some(0), "{shown:?}");
    (trace, kept, shown)
}

/// Runs `Busy` under `anrscope jvm` and sends it a signal after a while; returns the directory of the recording.
fn busy_until(directory: &test_support::temp_dir::TempDir, after: Duration, signal: i32) -> String {
    compile("Busy", directory.path());
    let kept = directory.name("kept");
    let mut command = test_support::program::command();
    command.args(["jvm", "--quiet", "--keep", &kept, "--", "-cp", &directory.name(""), "Busy"]);
    let mut program = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "running\n");
    std::thread::sleep(after);
    let (parent, number) = (program.id().to_string(), format!("-{signal}"));
    assert!(Command::new("pkill").args([&number, "-P", &parent, "-x", "java"]).status().unwrap().success());
    assert_eq!(program.wait().unwrap().code(), Some(128 + signal));
    kept
}

/// Something that `scripts/install-test-needs` fetches.
fn test_data(path: &str) -> PathBuf {
    let data = test_support::test_data();
    let path = data.join(path);
    assert!(path.exists(), "{} is missing: run scripts/test, which fetches it", path.display());
    path
}

/// The directory with `dev.anrscope.MethodBeat`.
fn runtime_classes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../android/method-beat/classes")
}

/// The recordings in a directory.
fn recordings(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "anrscope"))
        .collect()
}

/// The one recording in a directory.
fn recording(directory: &Path) -> Recording<Vec<u8>> {
    let files = recordings(directory);
    assert_eq!(files.len(), 1, "{files:?}");
    Recording::open(std::fs::read(&files[0]).unwrap()).unwrap()
}

/// A thread's events, none of which may be missing, without those that the start of a block repeats.
fn events(recording: &Recording<Vec<u8>>, thread: &Thread) -> Vec<(u64, Event)> {
    recording
        .events(thread)
        .map(|item| match item.unwrap() {
            Item::Event { time, event } => (time, event),
            missing => panic!("{missing:?} in {thread:?}"),
        })
        .filter(|(_, event)| !matches!(event, Event::OpenCalls(_)))
        .collect()
}

fn text<'a>(row: &'a Value, column: &str) -> &'a str {
    row[column].as_str().unwrap_or_else(|| panic!("{column} in {row}"))
}

/// A number, which the engine's script writes as such or, where it is long, as text.
fn number(row: &Value, column: &str) -> u64 {
    match &row[column] {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
    .unwrap_or_else(|| panic!("{column} in {row}"))
}
