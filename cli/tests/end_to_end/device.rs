//! A simulated phone, whose files are in a directory; the processes on it are real: one that hangs, and a JVM.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use test_device::{AdbServer, App, Daemon, Faults};

use crate::end_to_end::{compile, number, recordings};
use test_support::engine;
use test_support::program;
use test_support::temp_dir::TempDir;

const PACKAGE: &str = "com.example.shop";

/// A phone with an app, and an adb server.
pub(crate) struct Bench {
    pub(crate) adb: AdbServer,
    pub(crate) phone: Daemon,
    pub(crate) serial: String,
    pub(crate) directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::with(App { package: PACKAGE, debuggable: true, library: true }, Faults::default())
    }

    pub(crate) fn with(app: App<'_>, faults: Faults) -> Self {
        let directory = TempDir::new();
        let files = test_device::DeviceDirectory::create(&directory.path().join("phone")).unwrap();
        files.install(app).unwrap();
        let phone = Daemon::start(files, faults, 0).unwrap();
        let adb = AdbServer::start(&directory.path().join("adb"));
        let serial = adb.connect(&phone);
        Self { adb, phone, serial, directory }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program::command();
        command.arg("device").args(arguments).envs(self.adb.environment()).env_remove("ANDROID_SERIAL");
        command.env_remove("ADB_SERVER_SOCKET").env_remove("ANDROID_ADB_SERVER_ADDRESS");
        command
    }

    /// The directory of the app's recordings.
    fn own(&self) -> PathBuf {
        self.phone.directory().path(&format!("data/user/0/{PACKAGE}/no_backup/anrscope"))
    }
}

/// A process that is ended with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The demo: it ends by itself and takes its child along, which a kill would leave behind.
struct Demo(Child);

impl Demo {
    fn hangs_in(directory: &Path) -> Self {
        let mut demo = program::command();
        demo.args(["demo", "--stall", "7", "--out"]).arg(directory);
        Self(demo.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn watch_catches_an_anr_while_it_happens_and_ends_in_a_trace_that_opens() {
    let bench = Bench::new();
    fs::create_dir_all(bench.own()).unwrap();
    let out = bench.directory.name("anrs");
    let watch = bench
        .command(&["watch", PACKAGE, "-o", &out, "--once", "--for", "120", "--interval", "0.3", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut watch = Running(watch);
    let mut progress = BufReader::new(watch.0.stderr.take().unwrap());
    let mut line = String::new();
    progress.read_line(&mut line).unwrap();
    assert!(line.contains("watching com.example.shop"), "{line}");
    // The app: its main thread hangs, it gets SIGQUIT and is listed as not responding, then it is killed.
    let _demo = Demo::hangs_in(&bench.own());
    let mut said = String::new();
    BufReader::new(watch.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let status = watch.0.wait().unwrap();
    let mut rest = String::new();
    progress.read_to_string(&mut rest).unwrap();
    assert!(status.success(), "{said} {rest}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["new"], 1, "{said}");
    let trace = said["trace"].as_str().unwrap();
    let query = "include perfetto module android.anrs; select count(*) as n from android_anrs";
    let anrs = engine::rows(Path::new(trace), query);
    assert_eq!(number(&anrs[0], "n"), 1);
}

#[test]
fn capture_on_anr_saves_each_anr_and_runs_a_command() {
    let bench = Bench::new();
    fs::create_dir_all(bench.own()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/capture-on-anr");
    let directory = bench.directory.name("anrs");
    let mut capture = Command::new(script);
    capture.args([PACKAGE, &directory, "echo", "CAUGHT"]).envs(bench.adb.environment()).stdin(Stdio::null());
    capture.env("ANRSCOPE", env!("CARGO_BIN_EXE_anrscope")).env("COUNT", "1");
    capture.env("OPTIONS", "--for 120 --interval 0.3").env_remove("ANDROID_SERIAL");
    let capture = capture.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut capture = Running(capture);
    let mut progress = BufReader::new(capture.0.stderr.take().unwrap());
    let mut line = String::new();
    progress.read_line(&mut line).unwrap();
    assert!(line.contains("watching"), "{line}");
    let _demo = Demo::hangs_in(&bench.own());
    let mut said = String::new();
    capture.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(capture.0.wait().unwrap().success(), "{said}");
    assert!(said.contains("main thread blocked for ") || said.contains("ANR"), "{said}");
    let caught =
        said.lines().find_map(|line| line.strip_prefix("CAUGHT ")).unwrap_or_else(|| panic!("{said}"));
    assert!(caught.ends_with("demo.pftrace") && Path::new(caught).is_file(), "{caught}");
    assert!(Path::new(caught).with_file_name("report.txt").is_file());
}

#[test]
fn trigger_asks_a_real_jvm_and_pulls_its_dump() {
    let bench = Bench::new();
    let own = bench.own();
    compile("Sleeper", bench.directory.path());
    let jvm = program::command()
        .args(["jvm", "--quiet", "--keep"])
        .arg(&own)
        .args(["--", "-cp", &bench.directory.name(""), "Sleeper"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut jvm = Running(jvm);
    let mut said = BufReader::new(jvm.0.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "running\n");
    // It prints its dump there; a full pipe would stop it.
    let drain = std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    wait_for("a recording", || recordings(&own).len() == 1);
    let name = recordings(&own)[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let pid = name.rsplit_once('-').unwrap().1.to_owned();
    bench.phone.directory().write(&format!("proc/{PACKAGE}"), format!("{pid}\n")).unwrap();
    let out = bench.directory.name("now");
    let map = own.join("methodMapping.txt");
    let output = bench.command(&["trigger", PACKAGE, "-o", &out, "--method-map"]).arg(map).output().unwrap();
    let shown = program::Shown::from(output);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.contains("1 SIGQUIT for a thread dump only"), "{shown:?}");
    assert!(shown.stderr.contains(&format!("SIGQUIT sent to pid {pid}")), "{shown:?}");
    // It goes on, and ends by itself when its input does.
    drop(jvm.0.stdin.take());
    assert!(jvm.0.wait().unwrap().success());
    drain.join().unwrap().unwrap();
    let left: Vec<_> = fs::read_dir(&own).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_str().unwrap().starts_with('.')), "{left:?}");
}
