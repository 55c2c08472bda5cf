//! Where the recording goes: not set yet, a full disk, a directory that is gone or not writable.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use trace_format::event::Event;
use trace_format::{Item, Recording};
use trace_runtime::{Config, Destination, Threads};

use super::{DIRECTORY, ROLE, WAIT, events, only_recording, spawn};

/// Enough to fill several blocks.
const EVENTS: u32 = 5_000;

pub(super) fn child(role: &str, directory: &Path, mut config: Config) {
    config.sense_sigquit = false;
    let there = Destination::Directory(directory.to_owned());
    match role {
        "later" => {
            config.recording.destination = Destination::Later;
            trace_runtime::start(&config).unwrap();
            trace_runtime::name_thread("the first");
            write(0..EVENTS);
            let (said, heard) = std::sync::mpsc::channel();
            let (go, wait) = std::sync::mpsc::channel::<()>();
            let other = std::thread::spawn(move || {
                trace_runtime::name_thread("the second");
                write(0..EVENTS);
                said.send(()).unwrap();
                wait.recv().unwrap();
                write(EVENTS..2 * EVENTS);
            });
            heard.recv().unwrap();
            let text = trace_runtime::text("known before there was a file");
            assert_eq!(trace_runtime::wait_for_file(Duration::ZERO), None);
            trace_runtime::set_destination(there);
            assert!(trace_runtime::wait_for_file(WAIT).is_some());
            write(EVENTS..2 * EVENTS);
            trace_runtime::mark(text);
            go.send(()).unwrap();
            other.join().unwrap();
            // No orderly exit: the file has everything now.
            nix::sys::signal::raise(nix::sys::signal::SIGKILL).unwrap();
        }
        "ends-at-once" => {
            trace_runtime::start(&config).unwrap();
            trace_runtime::enter(1);
        }
        "main-only" => {
            config.recording.threads = Threads::Main;
            super::begin(&config);
            std::thread::spawn(|| trace_runtime::enter(2)).join().unwrap();
            trace_runtime::enter(1);
        }
        // The recording's directory cannot be used; the other one can.
        "fails" | "full" => {
            let bad = PathBuf::from(std::env::var_os("ANRSCOPE_TEST_BAD").unwrap());
            config.recording.destination = Destination::Directory(bad.clone());
            trace_runtime::start(&config).unwrap();
            assert_eq!(trace_runtime::wait_for_file(WAIT), None);
            write(0..EVENTS);
            let left: Vec<_> = std::fs::read_dir(&bad).into_iter().flatten().collect();
            assert!(left.is_empty(), "half a recording: {left:?}");
            trace_runtime::set_destination(there);
            assert!(trace_runtime::wait_for_file(WAIT).is_some());
        }
        "removed" => {
            let own = directory.join("own");
            config.recording.destination = Destination::Directory(own.clone());
            super::begin(&config);
            write(0..EVENTS);
            std::fs::remove_dir_all(&own).unwrap();
            write(EVENTS..40 * EVENTS);
            println!("goes on");
        }
        other => panic!("no such role: {other}"),
    }
}

fn write(numbers: std::ops::Range<u32>) {
    numbers.for_each(|number| trace_runtime::enter(number + 1));
}

fn entered(recording: &Recording<Vec<u8>>, main: bool) -> Vec<u32> {
    let thread = recording.threads().iter().find(|t| t.main == main && t.uid != 0).expect("the thread");
    let enters = events(recording, thread).into_iter().filter_map(|(_, event)| match event {
        Event::Enter(id) => Some(id),
        _ => None,
    });
    enters.collect()
}

fn notices(recording: &Recording<Vec<u8>>) -> Vec<String> {
    let service = recording.service().expect("the service ring");
    let notices = recording.events(service).filter_map(|item| match item.unwrap() {
        Item::Event { event: Event::Notice(text), .. } => {
            Some(recording.texts().get(text).expect("a text").to_owned())
        }
        _ => None,
    });
    notices.collect()
}

pub(super) fn later(directory: &Path) {
    let begin = Instant::now();
    let status = spawn("later", directory).wait().unwrap();
    assert!(!status.success(), "killed");
    let recording = only_recording(directory);
    assert_eq!(recording.faults(), (&[][..], 0), "after {:?}", begin.elapsed());
    let all: Vec<u32> = (1..=2 * EVENTS).collect();
    assert_eq!(entered(&recording, true), all);
    assert_eq!(entered(&recording, false), all);
    let names: Vec<_> = recording.threads().iter().filter_map(|t| t.name.as_deref()).collect();
    assert_eq!(names, ["the first", "the second"]);
    let main = recording.threads().iter().find(|t| t.main).unwrap();
    let Some((_, Event::Mark(text))) = events(&recording, main).pop() else { panic!("the mark") };
    assert_eq!(recording.texts().get(text), Some("known before there was a file"));
}

pub(super) fn ends_at_once(directory: &Path) {
    assert!(spawn("ends-at-once", directory).wait().unwrap().success());
    let recording = only_recording(directory);
    assert_eq!(entered(&recording, true), [1]);
    assert!(recording.sections().len() >= 2, "process and configuration: {:?}", recording.sections());
}

pub(super) fn main_only(directory: &Path) {
    assert!(spawn("main-only", directory).wait().unwrap().success());
    let recording = only_recording(directory);
    assert_eq!(entered(&recording, true), [1]);
    assert_eq!(recording.threads().len(), 1);
    assert_eq!(recording.header().dropped, 0);
}

/// Checks for one notice with the reason and one line in the log; the rest is as usual.
fn check_failed(directory: &Path, ran: &Output, saying: &str) {
    assert!(ran.status.success(), "{ran:?}");
    let logged = String::from_utf8_lossy(&ran.stderr);
    let logged: Vec<_> = logged.lines().filter(|line| line.starts_with("anrscope: ")).collect();
    assert!(logged.len() == 1 && logged[0].contains(saying), "{logged:?}");
    let recording = only_recording(directory);
    assert_eq!(recording.faults(), (&[][..], 0));
    assert_eq!(entered(&recording, true), (1..=EVENTS).collect::<Vec<_>>());
    let notices = notices(&recording);
    let about: Vec<_> = notices.iter().filter(|n| n.contains("in memory only")).collect();
    assert!(about.len() == 1 && about[0].contains(saying), "{notices:?}");
}

pub(super) fn not_a_directory(directory: &Path) {
    let bad = directory.join("a file");
    File::create(&bad).unwrap();
    check_failed(directory, &run("fails", directory, &bad.join("inside")), "Not a directory");
}

pub(super) fn read_only(directory: &Path) {
    in_a_mount(directory, "ro", "fails", "Read-only file system");
}

pub(super) fn full(directory: &Path) {
    in_a_mount(directory, "size=1m", "full", "No space left on device");
}

fn run(role: &str, directory: &Path, bad: &Path) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role).env(DIRECTORY, directory).env("ANRSCOPE_TEST_BAD", bad);
    command.output().unwrap()
}

/// Runs the role with a separate file system at the bad directory, in a mount namespace that ends with it.
fn in_a_mount(directory: &Path, options: &str, role: &str, saying: &str) {
    let bad = directory.join("mounted");
    std::fs::create_dir(&bad).unwrap();
    std::fs::set_permissions(&bad, std::fs::Permissions::from_mode(0o777)).unwrap();
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-ec", script, "sh", options]).arg(&bad);
        command.arg(std::env::current_exe().unwrap());
        command.env(ROLE, role).env(DIRECTORY, directory).env("ANRSCOPE_TEST_BAD", &bad);
        command.output()
    };
    let mount = "mount -t tmpfs -o \"$1\" none \"$2\"";
    match unshare(mount) {
        Ok(tried) if tried.status.success() => {}
        tried => {
            println!("skipped, a mount is not permitted here: {tried:?}");
            return;
        }
    }
    let ran = unshare(&format!("{mount}; exec \"$3\"")).unwrap();
    check_failed(directory, &ran, saying);
}

pub(super) fn removed(directory: &Path) {
    let mut child = spawn("removed", directory);
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    assert_eq!(super::line(&mut out), "goes on");
    assert!(child.wait().unwrap().success());
}

/// Checks the modes of the file and of the directories that were created for it, for any umask.
pub(super) fn private(directory: &Path) {
    let made = directory.join("no_backup/anrscope");
    assert!(spawn("exit", &made).wait().unwrap().success());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(made.parent().unwrap()), mode(&made)), (0o700, 0o700));
    let file = std::fs::read_dir(&made).unwrap().next().unwrap().unwrap().path();
    assert_eq!(mode(&file), 0o600);
}
