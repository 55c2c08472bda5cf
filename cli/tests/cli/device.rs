//! `device` on a simulated device, whose files are in a directory, through the real adb server.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use test_device::{AdbServer, App, Daemon, Faults, RunningProcess};
use trace_format::MapId;
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;

use test_support::program::{Shown, command, run};
use test_support::temp_dir::TempDir;

pub(crate) const PACKAGE: &str = "com.example.shop";
const OWN: &str = "data/user/0/com.example.shop/no_backup/anrscope";

/// Fields are dropped in this order: the server before what it keeps.
pub(crate) struct Bench {
    pub(crate) adb: AdbServer,
    pub(crate) phone: Daemon,
    pub(crate) serial: String,
    pub(crate) directory: TempDir,
}

impl Bench {
    pub(crate) fn new(faults: Faults) -> Self {
        let directory = TempDir::new();
        let phone = phone(&directory, "phone", faults);
        let adb = AdbServer::start(&directory.path().join("adb"));
        let serial = adb.connect(&phone);
        Self { adb, phone, serial, directory }
    }

    fn record(&self, name: &str, bytes: &[u8]) {
        self.phone.directory().write(&format!("{OWN}/{name}"), bytes).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command();
        command.arg("device").args(arguments).envs(self.adb.environment()).env_remove("ANDROID_SERIAL");
        command.env_remove("ADB_SERVER_SOCKET").env_remove("ANDROID_ADB_SERVER_ADDRESS");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Shown {
        self.command(arguments).output().unwrap().into()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let shown = self.run(arguments);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        serde_json::from_str(&shown.stdout).unwrap_or_else(|error| panic!("{error}: {shown:?}"))
    }

    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.phone.directory().path(directory)).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(crate) fn phone(directory: &TempDir, name: &str, faults: Faults) -> Daemon {
    let files = test_device::DeviceDirectory::create(&directory.path().join(name)).unwrap();
    files.install(App { package: PACKAGE, debuggable: true, library: true }).unwrap();
    Daemon::start(files, faults, 0).unwrap()
}

fn recording(map: u64, calls: u64) -> Vec<u8> {
    let builder = RecordingBuilder::new(4242, PACKAGE).map_id(MapId(map));
    let builder = builder.main("main", |t| {
        for n in 0..calls {
            t.enter(1_000 + n * 10, 1).exit(1_005 + n * 10, 1);
        }
    });
    builder.build()
}

#[test]
fn doctor_prints_failed_checks_and_exits_with_1() {
    let bench = Bench::new(Faults::default());
    let shown = bench.run(&["doctor", PACKAGE]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.stdout.contains("BAD  recordings   there are no recordings"), "{}", shown.stdout);
    assert!(shown.stdout.contains("-> start the app"), "{}", shown.stdout);
    bench.record("shop-999999999.anrscope", &recording(0, 10));
    let checks = bench.json(&["doctor", PACKAGE, "--json"]);
    assert_eq!(checks["ok"], true);
    let names: Vec<_> =
        checks["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"adb server") && names.contains(&"map"), "{names:?}");
}

#[test]
fn pull_separates_two_devices_and_two_users() {
    let bench = Bench::new(Faults::default());
    let tablet = phone(&bench.directory, "tablet", Faults::default());
    let second = bench.adb.connect(&tablet);
    bench.record("shop-1.anrscope", &recording(1, 100));
    tablet.directory().write(&format!("{OWN}/shop-1.anrscope"), recording(2, 100)).unwrap();
    let other = format!("data/user/10/{PACKAGE}/no_backup/anrscope/shop-2.anrscope");
    tablet.directory().write(&other, recording(3, 100)).unwrap();
    fs::create_dir_all(bench.phone.directory().path(&format!("data/user/10/{PACKAGE}"))).unwrap();
    let out = bench.directory.name("out");
    let shown = bench.run(&["pull", PACKAGE, "-o", &out]);
    shown.failed(1, &["several devices", "-s"]);
    let pulled = bench.json(&[
        "pull",
        PACKAGE,
        "-o",
        &out,
        "-s",
        &bench.serial,
        "-s",
        &second,
        "--user",
        "0",
        "--user",
        "10",
        "--json",
    ]);
    let pulled = pulled["pulled"].as_array().unwrap();
    assert_eq!(pulled.len(), 3, "{pulled:#?}");
    let expected = [recording(1, 100), recording(2, 100), recording(3, 100)];
    for (one, bytes) in pulled.iter().zip(expected) {
        assert_eq!(fs::read(one["path"].as_str().unwrap()).unwrap(), bytes, "{one}");
        assert_eq!(one["checked"], true);
    }
    let all = bench.json(&["pull", PACKAGE, "-o", &out, "--all-devices", "--json"]);
    assert_eq!(all["pulled"].as_array().unwrap().len(), 2, "{all}");
}

#[test]
fn ctrl_c_leaves_nothing_on_the_device_and_the_next_pull_resumes() {
    let bench = Bench::new(Faults { slow: Duration::from_millis(20), ..Faults::default() });
    let running = RunningProcess::start();
    let name = format!("shop-{}.anrscope", running.pid());
    let bytes = recording(1, 40_000);
    bench.record(&name, &bytes);
    let out = bench.directory.name("out");
    let mut child = bench.command(&["pull", PACKAGE, "-o", &out]).spawn().unwrap();
    let part = bench.directory.path().join(format!("out/.{name}.part"));
    let end = Instant::now() + Duration::from_secs(30);
    while !fs::metadata(&part).is_ok_and(|meta| meta.len() > 20_000) {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none(), "it never came so far");
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: the child was not waited for, so the pid is its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let status = child.wait().unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status.signal(), Some(libc::SIGINT), "{status}");
    assert_eq!(bench.names(OWN), [name.as_str()]);
    assert!(part.exists());
    let pulled = bench.json(&["pull", PACKAGE, "-o", &out, "--json"]);
    assert_eq!(pulled["pulled"][0]["live"], true);
    assert_eq!(fs::read(bench.directory.path().join("out").join(&name)).unwrap(), bytes);
    assert!(!part.exists());
    assert_eq!(bench.names(OWN), [name.as_str()]);
}

#[test]
fn nothing_to_pull_is_reported_and_an_unknown_package_is_an_error() {
    let bench = Bench::new(Faults::default());
    let out = bench.directory.name("out");
    let shown = bench.run(&["pull", PACKAGE, "-o", &out]);
    assert!(shown.code == Some(0) && shown.stderr.contains("no recording of com.example.shop"), "{shown:?}");
    bench.run(&["pull", "com.example.other", "-o", &out, "-s", "missing"]).failed(1, &["no device missing"]);
    bench.run(&["pull", "no/package", "-o", &out]).failed(1, &["a package is letters"]);
}

#[test]
fn startup_prints_activity_managers_figures() {
    let bench = Bench::new(Faults::default());
    let times = format!("data/app/{PACKAGE}/times");
    bench.phone.directory().write(&times, "300\n500\n400\n").unwrap();
    let figures = bench.json(&["startup", PACKAGE, "-n", "3", "--settle", "0.01", "--json"]);
    assert_eq!(figures["activity"], "com.example.shop/.MainActivity");
    let total: Vec<_> =
        figures["starts"].as_array().unwrap().iter().map(|s| s["total_ms"].as_u64().unwrap()).collect();
    assert_eq!(total, [300, 500, 400]);
    assert_eq!(figures["total"]["median_ms"], 400.0);
    assert_eq!(figures["own"]["median_ms"], Value::Null);
    bench
        .run(&["startup", PACKAGE, "--activity", "com.example.shop/.Nothing"])
        .failed(1, &["Activity class", "does not exist"]);
    bench.run(&["startup", "com.example.none"]).failed(1, &["com.example.none", "--activity"]);
}

#[test]
fn startup_has_the_figure_of_each_starts_own_recording() {
    let bench = Bench::new(Faults::default());
    bench.phone.directory().write(&format!("data/app/{PACKAGE}/times"), "300\n310\n").unwrap();
    // From its begin to the first draw: 4 ms.
    let start = b"kind=cold\nbegin=1000000\nend=9000000\nfirst_draw=5000000\n";
    let recorded = RecordingBuilder::new(4242, PACKAGE).section(SectionKind::Startup, start).build();
    bench.phone.directory().write(&format!("data/user/0/{PACKAGE}/prepared"), recorded).unwrap();
    let script = format!("data/app/{PACKAGE}/start");
    let text = "#!/bin/sh\nmkdir -p no_backup/anrscope\n\
                cp prepared no_backup/anrscope/shop-$$.anrscope\nexec sleep 1000\n";
    bench.phone.directory().write(&script, text).unwrap();
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(bench.phone.directory().path(&script), permissions).unwrap();
    let figures = bench.json(&["startup", PACKAGE, "-n", "2", "--settle", "3", "--json"]);
    let own: Vec<_> = figures["starts"].as_array().unwrap().iter().map(|start| &start["own_ms"]).collect();
    assert_eq!(own, [4.0, 4.0], "{figures}");
    assert_eq!((&figures["own"]["median_ms"], &figures["total"]["median_ms"]), (&4.0.into(), &305.0.into()));
    assert_eq!(bench.names(OWN).len(), 2, "what was recorded stays, and nothing else");
}

#[test]
fn record_writes_the_apps_trace_and_the_systems() {
    let bench = Bench::new(Faults::default());
    let running = RunningProcess::start();
    let pid = running.pid();
    bench.record(&format!("shop-{pid}.anrscope"), &recording(1, 1_000));
    bench.record("shop-1.anrscope", &recording(1, 1_000));
    bench.phone.directory().write(&format!("proc/{PACKAGE}"), format!("{pid}\n")).unwrap();
    let system: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
    bench.phone.directory().write("system.pftrace", &system).unwrap();
    let out = bench.directory.name("out/scroll.pftrace");
    let shown = bench.json(&["record", PACKAGE, "-o", &out, "--for", "0.5", "--system", "--json"]);
    assert_eq!(shown["slices"], 1_000, "one process's: {shown}");
    assert!(fs::metadata(&out).unwrap().len() > 100);
    assert_eq!(fs::read(shown["system"].as_str().unwrap()).unwrap(), system);
    assert!(bench.names("data/misc/perfetto-traces").is_empty(), "nothing is left there");
    // The file was not a Perfetto trace: the app's trace is written without it.
    assert_eq!(shown["merged"], false);

    // A valid trace is merged; an exported one stands for the system's.
    let system = RecordingBuilder::new(77, "system_server").main("main", |t| {
        for n in 0..500 {
            t.enter(1_000 + n * 10, 1).exit(1_005 + n * 10, 1);
        }
    });
    let other = bench.directory.file("other.anrscope", system.build());
    let theirs = bench.directory.name("theirs.pftrace");
    run(["export", &other, "-o", &theirs, "--merge-safe", "--level", "0"]).ok(&["500 slices"]);
    let system = fs::read(&theirs).unwrap();
    bench.phone.directory().write("system.pftrace", &system).unwrap();
    let alone = fs::metadata(&out).unwrap().len();
    let shown = bench.json(&["record", PACKAGE, "-o", &out, "--for", "0.5", "--system", "--json"]);
    assert_eq!(shown["merged"], true, "{shown}");
    assert_eq!(fs::read(shown["system"].as_str().unwrap()).unwrap(), system);
    let joined = fs::metadata(&out).unwrap().len();
    assert!(joined >= alone + system.len() as u64 / 2, "{joined} of {alone} and {}", system.len());
    fs::remove_file(bench.phone.directory().path(&format!("proc/{PACKAGE}"))).unwrap();
    bench.run(&["record", PACKAGE, "-o", &out, "--for", "1"]).failed(1, &["is not running", "--launch"]);
}

#[test]
fn ctrl_c_ends_a_record_and_its_trace_is_whole() {
    let bench = Bench::new(Faults::default());
    let running = RunningProcess::start();
    let pid = running.pid();
    bench.record(&format!("shop-{pid}.anrscope"), &recording(1, 1_000));
    bench.phone.directory().write(&format!("proc/{PACKAGE}"), format!("{pid}\n")).unwrap();
    bench.phone.directory().write("system.pftrace", "system").unwrap();
    let out = bench.directory.name("out/scroll.pftrace");
    let mut record = bench.command(&["record", PACKAGE, "-o", &out, "--system", "--json"]);
    let mut child = record.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    progress.read_line(&mut line).unwrap();
    assert!(line.contains("recording com.example.shop: Ctrl-C ends it"), "{line}");
    // SAFETY: the child was not waited for, so the pid is its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let mut rest = String::new();
    progress.read_to_string(&mut rest).unwrap();
    let shown = Shown::from(child.wait_with_output().unwrap());
    assert_eq!(shown.code, Some(0), "{shown:?} {rest}");
    let written: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(written["slices"], 1_000, "{written}");
    let alone = bench.directory.name("alone.pftrace");
    run(["export", written["recordings"][0].as_str().unwrap(), "-o", &alone]).ok(&["1000 slices"]);
    assert_eq!(fs::read(&out).unwrap(), fs::read(&alone).unwrap());
    assert_eq!(fs::read(written["system"].as_str().unwrap()).unwrap(), b"system");
    assert!(bench.names("data/misc/perfetto-traces").is_empty(), "nothing is left there");
    assert_eq!(bench.names(OWN), [format!("shop-{pid}.anrscope")]);
}

#[test]
fn trigger_needs_a_running_app() {
    let bench = Bench::new(Faults::default());
    bench.run(&["trigger", PACKAGE]).failed(1, &["is not running", "start it first"]);
}

#[test]
fn scripts_pull_report_and_export() {
    let bench = Bench::new(Faults::default());
    bench.record("shop-1.anrscope", &recording(1, 100));
    bench.record("shop-2.anrscope", &recording(1, 100));
    let out = bench.directory.name("out of there");
    let script = |name: &str, arguments: &[&str]| -> Shown {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(name);
        let mut command = Command::new(path);
        command.args(arguments).envs(bench.adb.environment()).env_remove("ANDROID_SERIAL");
        command.env("ANRSCOPE", env!("CARGO_BIN_EXE_anrscope")).output().unwrap().into()
    };
    let shown = script("pull-anr", &[PACKAGE, &out, "--quiet"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(shown.stdout.matches("com.example.shop (pid 4242)").count(), 2, "{shown:?}");
    let shown = script("export", &[&out, "--level", "0"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let traces = ["shop-1.pftrace", "shop-2.pftrace"].map(|name| Path::new(&out).join(name));
    assert!(traces.iter().all(|trace| trace.is_file()));
    fs::write(Path::new(&out).join("broken.anrscope"), "x").unwrap();
    assert_eq!(script("export", &[&out]).code, Some(1));
    for name in ["pull-anr", "export", "capture-on-anr"] {
        assert_eq!(script(name, &[]).code, Some(2), "{name}");
        let help = script(name, &["--help"]);
        assert!(help.code == Some(0) && help.stdout.contains("Exit status"), "{help:?}");
    }
}

#[test]
fn scripts_are_clean() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pending =
        ["scripts", ".ci", "tests/test-device/src/programs"].map(|name| root.join(name)).to_vec();
    let mut scripts = Vec::new();
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let text = fs::read(&path).unwrap();
            if text.starts_with(b"#!/bin/sh") || text.starts_with(b"#!/usr/bin/env bash") {
                scripts.push(path);
            }
        }
    }
    assert!(scripts.len() > 30, "{scripts:?}");
    let mut command = Command::new("shellcheck");
    // Sourced files are checked with their script; they are named from the top.
    command.args(["-x", "-P", ".", "-S", "warning"]).current_dir(&root).args(&scripts);
    let shown: Shown = command.output().expect("shellcheck: scripts/install-test-needs installs it").into();
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), ""), "{shown:?}");

    // Those of the proofs are called by the one that lists them, and share a file that they name from the root.
    let mut command = Command::new("shellcheck");
    command.args(["--shell=bash", "--external-sources", "scripts/prove"]).current_dir(&root);
    let proofs = fs::read_dir(root.join("scripts/prove.d")).unwrap().map(|entry| entry.unwrap().path());
    command.args(proofs.filter(|path| path.extension().is_none_or(|end| end == "sh")));
    let shown: Shown = command.output().unwrap().into();
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), ""), "{shown:?}");
}

/// The first line of each describes what it proves: `scripts/prove` and the page of results show it. Another names what it
/// covers.
#[test]
fn every_proof_describes_what_it_proves() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let shown: Shown =
        Command::new("bash").arg(root.join("scripts/prove")).arg("--help").output().unwrap().into();
    let mut count = 0;
    for entry in fs::read_dir(root.join("scripts/prove.d")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none() {
            let text = fs::read_to_string(&path).unwrap();
            let claim = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
            assert!(claim.len() > 10 && shown.stdout.contains(claim), "{}: {shown:?}", path.display());
            // The age of a result counts the changes of these directories.
            let covers = text.lines().find_map(|line| line.strip_prefix("# covers: ")).unwrap_or_default();
            let are_there = covers.split_whitespace().all(|covered| root.join(covered).exists());
            assert!(!covers.is_empty() && are_there, "{} covers {covers:?}", path.display());
            count += 1;
        }
    }
    assert!(count >= 20, "{count} proofs");
}

#[test]
fn control_characters_from_a_device_do_not_reach_the_terminal() {
    let bench = Bench::new(Faults::default());
    bench.record("shop-999999999.anrscope", &recording(0, 10));
    let program = "system/bin/cksum";
    let says =
        "#!/bin/sh\nprintf '\\033]0;taken\\007 \\033[2J \\302\\2332J \\342\\200\\256 no' >&2\nexit 3\n";
    bench.phone.directory().write(program, says).unwrap();
    let path = bench.phone.directory().path(program);
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let shown = bench.run(&["pull", PACKAGE, "-o", &bench.directory.name("here")]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    let all = shown.stdout + &shown.stderr;
    assert!(all.contains("]0;taken") && !all.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{all:?}");
}
