//! An app on fakes of Android's classes, with the library that the program carries, on a simulated device:
//! the device commands through the real adb server.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use test_device::{App, Faults};

use crate::end_to_end::device::{Bench, Running};
use crate::end_to_end::life::library;
use test_support::android::Case;
use test_support::android::lifetime::live;
use test_support::engine;
use test_support::program::Shown;

const PACKAGE: &str = "com.example.app";

/// A phone whose app has its files where a case has them.
fn phone(case: &Case, debuggable: bool, faults: Faults) -> Bench {
    let bench = Bench::with(App { package: PACKAGE, debuggable, library: true }, faults);
    let home = bench.phone.directory().path(&format!("data/user/0/{PACKAGE}"));
    fs::remove_dir_all(&home).unwrap();
    fs::create_dir_all(case.directory()).unwrap();
    symlink(case.directory(), home).unwrap();
    bench
}

/// The app runs on the phone and answers what its shell asks.
fn answers(bench: &Bench, case: Case, words: &[&str]) -> (Running, PathBuf) {
    let directory = case.directory();
    let served = bench.phone.directory().path(&format!("served/{PACKAGE}"));
    let case = words.iter().fold(case.sdk(34).word(served.to_str().unwrap()), |case, word| case.word(word));
    let mut app = Running(case.command().stdout(Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(app.0.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "serves\n");
    // HotSpot prints dumps there; a full pipe would stop it. The thread ends with the app.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    bench.phone.directory().write(&format!("proc/{PACKAGE}"), format!("{}\n", app.0.id())).unwrap();
    (app, directory.join("no_backup/anrscope"))
}

fn run(bench: &Bench, arguments: &[&str]) -> Shown {
    bench.command(arguments).output().unwrap().into()
}

/// What the phone's shell prints, by the real adb.
fn shell(bench: &Bench, command: &str) -> String {
    let output = bench.adb.adb(&["-s", &bench.serial, "shell", command]);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn names(directory: &Path) -> Vec<String> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn watch_catches_the_anr_of_an_app_and_ends_in_a_trace_that_opens() {
    let libraries = test_support::temp_dir::TempDir::new();
    let library = library(&libraries);
    let case = || Case::new("AppLife").named("watched").library(&library);
    let bench = phone(&case(), true, Faults::default());
    let out = bench.directory.name("anrs");
    let mut watch =
        bench.command(&["watch", PACKAGE, "-o", &out, "--count", "2", "--for", "300", "--interval", "0.3"]);
    let mut watch =
        Running(watch.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut progress = BufReader::new(watch.0.stderr.take().unwrap());
    let mut line = String::new();
    progress.read_line(&mut line).unwrap();
    assert!(line.contains("watching com.example.app"), "{line}");
    let (pid, said, rest) = std::thread::scope(|scope| {
        // A frame hangs, SIGQUIT comes and the system lists the app as not responding; later it is killed and starts again.
        let app = scope.spawn(|| live(case).0);
        let errors = scope.spawn(move || {
            let mut rest = String::new();
            progress.read_to_string(&mut rest).map(|_| rest)
        });
        let mut said = String::new();
        watch.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        (app.join().unwrap(), said, errors.join().unwrap().unwrap())
    });
    assert!(watch.0.wait().unwrap().success(), "{said} {rest}");
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let trace = Path::new(last["trace"].as_str().unwrap());
    let query = "include perfetto module android.anrs; \
                 select process_name, pid, subject from android_anrs order by ts";
    let answer = engine::ask(trace, &[query]);
    assert!(answer.problems.is_empty(), "{:?}", answer.problems);
    let anr = answer.queries[0].last().expect("an ANR");
    assert_eq!((anr["process_name"].as_str(), anr["pid"].as_u64()), (Some(PACKAGE), Some(pid.into())));
}

#[test]
fn without_run_as_a_running_app_sends_its_recording_by_its_provider_over_a_broken_link() {
    let libraries = test_support::temp_dir::TempDir::new();
    let library = library(&libraries);
    let case = || Case::new("AppAnswers").named("provider").library(&library);
    let bench = phone(&case(), false, Faults { cut_after: 1 << 20, ..Faults::default() });
    let (mut app, own) = answers(&bench, case(), &[]);
    let out = bench.directory.name("out");
    let shown = run(&bench, &["pull", PACKAGE, "-o", &out, "--json"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let pulled: Value = serde_json::from_str(&shown.stdout).unwrap();
    let pulled = &pulled["pulled"][0];
    assert_eq!((&pulled["live"], &pulled["checked"]), (&true.into(), &true.into()), "{pulled}");
    assert!(pulled["lost"].as_u64().unwrap() > 0, "{pulled}");
    let left = names(&own);
    assert!(left.iter().all(|name| !name.starts_with(".pull")), "{left:?}");
    let recording = crate::end_to_end::recording(Path::new(&out));
    assert_eq!(recording.header().process_name, PACKAGE);
    assert_eq!(recording.faults(), (&[][..], 0));
    app.0.kill().unwrap();
    app.0.wait().unwrap();
}

#[test]
fn the_apps_own_commands_trigger_a_dump_and_record_a_while() {
    let libraries = test_support::temp_dir::TempDir::new();
    let library = library(&libraries);
    let case = || Case::new("AppAnswers").named("commands").library(&library);
    let bench = phone(&case(), false, Faults::default());
    let (_app, own) = answers(&bench, case(), &[]);
    let out = bench.directory.name("out");
    let shown = run(&bench, &["trigger", PACKAGE, "-o", &out]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown.stderr.contains("asked pid")
            && shown.stdout.contains("1 SIGQUIT from the process itself, for a thread dump only"),
        "{shown:?}"
    );

    // It gets the stop command, as any script can send it; a recorded stretch then leaves it paused.
    let said = shell(
        &bench,
        "am broadcast -n com.example.app/dev.anrscope.ControlReceiver -a dev.anrscope.action.STOP",
    );
    assert!(said.contains("Broadcast completed: result=1, data=\"was recording\""), "{said}");
    let trace = bench.directory.name("out/stretch.pftrace");
    let shown = run(&bench, &["record", PACKAGE, "-o", &trace, "--seconds", "1", "--json"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let written: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert!(written["slices"].as_u64().unwrap() > 0, "{written}");
    let said = shell(&bench, "content call --uri content://com.example.app.anrscope --method start");
    assert!(said.contains("done=yes") && said.contains("said=was paused"), "{said}");
    let pauses =
        engine::rows(Path::new(&trace), "select count(*) as n from slice where name = 'recording paused'");
    assert!(crate::end_to_end::number(&pauses[0], "n") >= 1, "{pauses:?}");
    let left = names(&own);
    assert!(left.iter().all(|name| !name.starts_with(".pull")), "{left:?}");
}

#[test]
fn an_app_with_a_blocked_main_thread_can_be_triggered_with_and_without_the_signal() {
    let libraries = test_support::temp_dir::TempDir::new();
    let library = library(&libraries);
    let case = || Case::new("AppAnswers").named("stuck").library(&library);
    let bench = phone(&case(), true, Faults::default());
    let (app, _) = answers(&bench, case(), &["stuck"]);
    let out = bench.directory.name("out");
    let shown = run(&bench, &["trigger", PACKAGE, "-o", &out]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains("asked pid"), "{shown:?}");
    let shown = run(&bench, &["trigger", PACKAGE, "-o", &out, "--anr"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains(&format!("SIGQUIT sent to pid {}", app.0.id())), "{shown:?}");
}
