//! Broken set-ups, each named with its cure.

use std::fs;
use std::io::Write;
use std::net::TcpListener;

use device::doctor::{Check, Outcome, Question, examine};
use test_device::{AdbServer, App, Auth, Daemon, Faults, Folder};
use trace_format::MapId;

use crate::bench::{Bench, PACKAGE, Scratch, patient, recording};

const RECORDING: &str = "shop-999999999.anrscope";

fn whole() -> Bench {
    let bench = Bench::new(Faults::default());
    bench.record(RECORDING, &recording(7, 5_000));
    bench
}

fn of(bench: &Bench) -> Vec<Check> {
    let question = Question { package: Some(PACKAGE), map: Some(MapId(7)), ..Question::default() };
    examine(question, &bench.environment(), &patient())
}

/// Asserts that this check is bad and says these words, found and cure together.
#[track_caller]
fn bad(checks: &[Check], name: &str, words: &[&str]) {
    let found: Vec<_> = checks.iter().filter(|check| check.outcome == Outcome::Bad).collect();
    let check = found.iter().find(|check| check.name == name);
    let check = check.unwrap_or_else(|| panic!("{name} is not bad in {checks:#?}"));
    let cure = check.cure.as_deref().expect("each failure has its cure");
    let text = format!("{} | {cure}", check.found);
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
    assert_eq!(found.len(), 1, "one thing is broken: {found:#?}");
}

#[test]
fn a_whole_set_up_has_nothing_to_cure() {
    let checks = of(&whole());
    let bad: Vec<_> = checks.iter().filter(|check| check.outcome == Outcome::Bad).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    for name in [
        "adb server",
        "adb program",
        "device",
        "shell",
        "Android",
        "processor",
        "page size",
        "user",
        "space",
        "app",
        "debuggable",
        "library",
        "recordings",
        "map",
    ] {
        assert!(
            checks.iter().any(|check| check.name == name && check.outcome == Outcome::Good),
            "{name}: {checks:#?}"
        );
    }
}

#[test]
fn a_server_that_does_not_run_is_started() {
    let scratch = Scratch::new();
    let server = AdbServer::planned(scratch.path());
    let port = server.port().to_string();
    let environment = move |name: &str| match name {
        "ANDROID_ADB_SERVER_PORT" => Some(port.clone()),
        "PATH" => std::env::var("PATH").ok(),
        _ => None,
    };
    let checks = examine(Question::default(), &environment, &patient());
    let check = checks.iter().find(|check| check.name == "adb server").unwrap();
    assert!(check.outcome == Outcome::Good && check.found.contains("started now"), "{checks:#?}");
    bad(&checks, "device", &["no device", "USB debugging"]);
}

#[test]
fn broken_1_no_adb_and_no_server() {
    let scratch = Scratch::new();
    let port = AdbServer::planned(scratch.path()).port().to_string();
    let environment = move |name: &str| (name == "ANDROID_ADB_SERVER_PORT").then(|| port.clone());
    bad(
        &examine(Question::default(), &environment, &patient()),
        "adb server",
        &["not found", "platform tools"],
    );
}

#[test]
fn broken_2_the_port_is_somebody_elses() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let web = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let environment = move |name: &str| (name == "ANDROID_ADB_SERVER_PORT").then(|| port.clone());
    bad(
        &examine(Question::default(), &environment, &patient()),
        "adb server",
        &["adb's protocol", "ANDROID_ADB_SERVER_PORT"],
    );
    web.join().unwrap();
}

#[test]
fn broken_3_no_device() {
    let bench = whole();
    assert!(bench.adb.adb(&["disconnect", &bench.serial]).status.success());
    bad(&of(&bench), "device", &["no device", "USB debugging"]);
}

#[test]
fn broken_4_two_devices() {
    let bench = whole();
    let folder = Folder::create(&bench.scratch.path().join("tablet")).unwrap();
    let tablet = Daemon::start(folder, Faults::default(), 0).unwrap();
    let second = bench.adb.connect(&tablet);
    bad(&of(&bench), "device", &["several devices", "-s", &second]);
}

#[test]
fn broken_5_unauthorized() {
    let bench = Bench::new(Faults { auth: Auth::NoAnswer, ..Faults::default() });
    bench.wait_for_state("unauthorized");
    bad(&of(&bench), "device", &["unauthorized", "say yes"]);
}

#[test]
fn broken_6_offline() {
    let mut bench = whole();
    bench.phone.stop();
    bench.wait_for_state("offline");
    bad(&of(&bench), "device", &["offline", "plug it in again"]);
}

#[test]
fn broken_7_android_too_old() {
    let bench = whole();
    let props = fs::read_to_string(bench.phone.folder().path("props")).unwrap();
    bench
        .phone
        .folder()
        .write("props", props.replace("sdk=34", "sdk=21").replace("release=14", "release=5.0"))
        .unwrap();
    bad(&of(&bench), "Android", &["5.0", "API 21", "API 23"]);
}

#[test]
fn broken_8_a_processor_without_our_library() {
    let bench = whole();
    let props = fs::read_to_string(bench.phone.folder().path("props")).unwrap();
    bench.phone.folder().write("props", props.replace("arm64-v8a,armeabi-v7a", "x86,riscv64")).unwrap();
    bad(&of(&bench), "processor", &["x86,riscv64", "arm64-v8a"]);
}

#[test]
fn broken_9_the_app_is_not_installed() {
    let bench = Bench::without_app(Faults::default());
    bad(&of(&bench), "app", &[PACKAGE, "not installed", "adb install"]);
}

#[test]
fn broken_10_not_debuggable() {
    let bench = Bench::without_app(Faults::default());
    let folder = bench.phone.folder();
    folder.install(App { package: PACKAGE, debuggable: false, library: true }).unwrap();
    let checks = of(&bench);
    let check = checks.iter().find(|check| check.name == "debuggable").unwrap();
    assert_eq!(check.outcome, Outcome::Bad, "{checks:#?}");
    assert!(
        check.found.contains("not debuggable") && check.cure.as_deref().unwrap().contains("debuggable build")
    );
    // With recordings where all may read them it works, with less.
    let external = format!("storage/emulated/0/Android/data/{PACKAGE}/files/anrscope/{RECORDING}");
    folder.write(&external, recording(7, 1_000)).unwrap();
    let checks = of(&bench);
    let check = checks.iter().find(|check| check.name == "debuggable").unwrap();
    assert_eq!(check.outcome, Outcome::Warning, "{checks:#?}");
}

#[test]
fn broken_11_the_library_is_not_in_the_app() {
    let bench = whole();
    fs::remove_file(bench.phone.folder().path(&format!("data/app/{PACKAGE}/lib/libanrscope.so"))).unwrap();
    bad(&of(&bench), "library", &["libanrscope.so", "dev.anrscope"]);
}

#[test]
fn broken_12_the_map_of_another_build() {
    let bench = whole();
    bench.record(RECORDING, &recording(8, 5_000));
    bad(&of(&bench), "map", &["0000000000000008", "0000000000000007", "methodMapping.txt"]);
}

#[test]
fn broken_13_a_full_disk() {
    let bench = whole();
    bench.phone.folder().write("full", "").unwrap();
    bad(&of(&bench), "space", &["12 KiB free", "remove"]);
}

#[test]
fn broken_14_no_recording() {
    bad(&of(&Bench::new(Faults::default())), "recordings", &["there is none", "start the app"]);
}

#[test]
fn broken_15_no_such_user() {
    let bench = whole();
    let question = Question { user: 10, ..Question::default() };
    bad(&examine(question, &bench.environment(), &patient()), "user", &["no user 10", "--user: 0"]);
}

#[test]
fn broken_16_a_file_that_is_no_recording() {
    let bench = whole();
    bench.record(RECORDING, &[7; 9_000]);
    bad(&of(&bench), "map", &[RECORDING, "remove that file"]);
}
