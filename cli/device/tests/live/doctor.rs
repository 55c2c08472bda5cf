//! `doctor` on broken setups: each failure is reported with its cure.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};

use device::doctor::{Check, Outcome, Scope, examine};
use test_device::{AdbServer, App, Auth, Daemon, DeviceDirectory, Faults};
use trace_format::MapId;

use crate::bench::{Bench, PACKAGE, Scratch, patient, recording};

const RECORDING: &str = "shop-999999999.anrscope";

fn working_setup() -> Bench {
    let bench = Bench::new(Faults::default());
    bench.record(RECORDING, &recording(7, 5_000));
    bench
}

fn of(bench: &Bench) -> Vec<Check> {
    let scope = Scope { package: Some(PACKAGE), map: Some(MapId(7)), ..Scope::default() };
    examine(scope, &bench.environment(), &patient())
}

/// Asserts that only this check is bad, and that its finding and cure contain these words.
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
    assert_eq!(found.len(), 1, "only one check fails: {found:#?}");
}

#[test]
fn a_working_setup_passes_every_check() {
    let checks = of(&working_setup());
    let bad: Vec<_> = checks.iter().filter(|check| check.outcome == Outcome::Bad).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    for name in [
        "adb server",
        "adb program",
        "device",
        "shell",
        "Android",
        "ABI",
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
fn a_server_that_is_not_running_is_started() {
    let scratch = Scratch::new();
    let server = AdbServer::planned(scratch.path());
    let port = server.port().to_string();
    let environment = move |name: &str| match name {
        "ANDROID_ADB_SERVER_PORT" => Some(port.clone()),
        "PATH" => std::env::var("PATH").ok(),
        _ => None,
    };
    let checks = examine(Scope::default(), &environment, &patient());
    let check = checks.iter().find(|check| check.name == "adb server").unwrap();
    assert!(check.outcome == Outcome::Good && check.found.contains("started now"), "{checks:#?}");
    bad(&checks, "device", &["no device", "USB debugging"]);
}

#[test]
fn a_missing_adb_without_a_running_server_is_reported() {
    let scratch = Scratch::new();
    let port = AdbServer::planned(scratch.path()).port().to_string();
    let environment = move |name: &str| (name == "ANDROID_ADB_SERVER_PORT").then(|| port.clone());
    bad(&examine(Scope::default(), &environment, &patient()), "adb server", &["not found", "platform tools"]);
}

#[test]
fn another_program_on_the_port_of_the_server_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let web_server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let environment = move |name: &str| (name == "ANDROID_ADB_SERVER_PORT").then(|| port.clone());
    bad(
        &examine(Scope::default(), &environment, &patient()),
        "adb server",
        &["adb's protocol", "ANDROID_ADB_SERVER_PORT"],
    );
    web_server.join().unwrap();
}

#[test]
fn a_missing_device_is_reported() {
    let bench = working_setup();
    assert!(bench.adb.adb(&["disconnect", &bench.serial]).status.success());
    bad(&of(&bench), "device", &["no device", "USB debugging"]);
}

#[test]
fn two_devices_without_a_choice_are_reported() {
    let bench = working_setup();
    let files = DeviceDirectory::create(&bench.scratch.path().join("tablet")).unwrap();
    let tablet = Daemon::start(files, Faults::default(), 0).unwrap();
    let second = bench.adb.connect(&tablet);
    bad(&of(&bench), "device", &["several devices", "-s", &second]);
}

#[test]
fn an_unauthorized_device_is_reported() {
    let bench = Bench::new(Faults { auth: Auth::NoAnswer, ..Faults::default() });
    bench.wait_for_state("unauthorized");
    bad(&of(&bench), "device", &["unauthorized", "unlock it and allow USB debugging from this computer"]);
}

#[test]
fn an_offline_device_is_reported() {
    let mut bench = working_setup();
    bench.phone.stop();
    bench.wait_for_state("offline");
    bad(&of(&bench), "device", &["offline", "plug it in again"]);
}

#[test]
fn an_android_older_than_6_is_reported() {
    let bench = working_setup();
    let props = fs::read_to_string(bench.phone.directory().path("props")).unwrap();
    bench
        .phone
        .directory()
        .write("props", props.replace("sdk=34", "sdk=21").replace("release=14", "release=5.0"))
        .unwrap();
    bad(&of(&bench), "Android", &["5.0", "API 21", "API 23"]);
}

#[test]
fn a_cpu_without_a_build_of_the_library_is_reported() {
    let bench = working_setup();
    let props = fs::read_to_string(bench.phone.directory().path("props")).unwrap();
    bench.phone.directory().write("props", props.replace("arm64-v8a,armeabi-v7a", "x86,riscv64")).unwrap();
    bad(&of(&bench), "ABI", &["x86,riscv64", "arm64-v8a"]);
}

#[test]
fn an_app_that_is_not_installed_is_reported() {
    let bench = Bench::without_app(Faults::default());
    bad(&of(&bench), "app", &[PACKAGE, "not installed", "adb install"]);
}

#[test]
fn an_app_that_is_not_debuggable_is_reported() {
    let bench = Bench::without_app(Faults::default());
    let directory = bench.phone.directory();
    directory.install(App { package: PACKAGE, debuggable: false, library: true }).unwrap();
    let checks = of(&bench);
    let check = checks.iter().find(|check| check.name == "debuggable").unwrap();
    assert_eq!(check.outcome, Outcome::Bad, "{checks:#?}");
    assert!(
        check.found.contains("not debuggable") && check.cure.as_deref().unwrap().contains("debuggable build")
    );
    // Recordings on shared storage can be read without run-as.
    let external = format!("storage/emulated/0/Android/data/{PACKAGE}/files/anrscope/{RECORDING}");
    directory.write(&external, recording(7, 1_000)).unwrap();
    let checks = of(&bench);
    let check = checks.iter().find(|check| check.name == "debuggable").unwrap();
    assert_eq!(check.outcome, Outcome::Warning, "{checks:#?}");
}

#[test]
fn an_app_without_the_library_is_reported() {
    let bench = working_setup();
    fs::remove_file(bench.phone.directory().path(&format!("data/app/{PACKAGE}/lib/libanrscope.so"))).unwrap();
    bad(&of(&bench), "library", &["libanrscope.so", "dev.anrscope"]);
}

#[test]
fn a_method_map_of_another_build_is_reported() {
    let bench = working_setup();
    bench.record(RECORDING, &recording(8, 5_000));
    bad(&of(&bench), "map", &["0000000000000008", "0000000000000007", "methodMapping.txt"]);
}

#[test]
fn a_full_disk_is_reported() {
    let bench = working_setup();
    bench.phone.directory().write("full", "").unwrap();
    bad(&of(&bench), "space", &["12 KiB free", "remove"]);
}

#[test]
fn an_app_without_recordings_is_reported() {
    bad(&of(&Bench::new(Faults::default())), "recordings", &["there are no recordings", "start the app"]);
}

#[test]
fn a_user_that_does_not_exist_is_reported() {
    let bench = working_setup();
    let scope = Scope { user: 10, ..Scope::default() };
    bad(&examine(scope, &bench.environment(), &patient()), "user", &["no user 10", "--user: 0"]);
}

#[test]
fn a_file_that_is_not_a_recording_is_reported() {
    let bench = working_setup();
    bench.record(RECORDING, &[7; 9_000]);
    bad(&of(&bench), "map", &[RECORDING, "remove that file"]);
}

/// Starts a fake adb server with one device, which closes the connection in the middle of every command.
fn server_that_hangs_up() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The thread ends with the test's process.
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            while let Some(request) = read_request(&mut socket) {
                let answer = match request.as_str() {
                    "host:version" => "OKAY00040029",
                    "host:devices-l" => "OKAY0015emulator-5554 device\n",
                    "host-serial:emulator-5554:features" => "OKAY0008shell_v2",
                    // The shell opens as well, and then the connection is closed without an exit code.
                    _ => "OKAY",
                };
                socket.write_all(answer.as_bytes()).unwrap();
                if !request.starts_with("host:transport:") {
                    break;
                }
            }
            // What the client still sends is read, since the kernel resets a connection that is closed before.
            let _ = socket.shutdown(Shutdown::Write);
            let _ = std::io::copy(&mut socket, &mut std::io::sink());
        }
    });
    port
}

fn read_request(socket: &mut impl Read) -> Option<String> {
    let mut length = [0; 4];
    socket.read_exact(&mut length).ok()?;
    let mut text = vec![0; usize::from_str_radix(std::str::from_utf8(&length).ok()?, 16).ok()?];
    socket.read_exact(&mut text).ok()?;
    String::from_utf8(text).ok()
}

#[test]
fn a_connection_closed_in_the_middle_is_the_finding_and_not_the_cure() {
    let port = server_that_hangs_up().to_string();
    let environment = move |name: &str| match name {
        "ANDROID_ADB_SERVER_PORT" => Some(port.clone()),
        "PATH" => std::env::var("PATH").ok(),
        _ => None,
    };
    let checks = examine(Scope::default(), &environment, &patient());
    let check = checks.iter().find(|check| check.outcome == Outcome::Bad).unwrap();
    assert_eq!(
        (check.name, check.found.as_str(), check.cure.as_deref()),
        (
            "device",
            "waiting for device emulator-5554 to run `getprop ro.product.model`: the connection closed before the \
             answer was complete",
            Some("run `adb kill-server`, reconnect the device, and try again"),
        )
    );
}
