//! SIGQUIT in processes that simulate ART: every thread blocks it, and a thread "Signal Catcher" takes it
//! by sigwait.

use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::begin;
use nix::libc;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use trace_format::event::{Event, Forward, Message};
use trace_format::section::SectionKind;
use trace_format::verdict::{Confidence, Counters, Outcome, Sender, Verdict};
use trace_format::{Item, Recording};
use trace_runtime::{Config, Destination, Limits, ProcessInError, Target, TraceTextSource, Writer};

use super::{line, only_recording, spawn};

unsafe extern "C" {
    fn anrscope_watch(limit_ms: u32) -> libc::c_int;
}

/// How many SIGQUITs the catcher has taken.
static CAUGHT: AtomicU32 = AtomicU32::new(0);

/// Blocks SIGQUIT here and in all later threads, and starts the catcher, which calls `answer` for each
/// signal.
fn simulate_art(answer: impl Fn(u32) + Send + 'static) {
    let mut sigquit = SigSet::empty();
    sigquit.add(Signal::SIGQUIT);
    sigquit.thread_block().unwrap();
    let (named, ready) = std::sync::mpsc::channel();
    let catch = move || {
        // A thread sets its own name, by which the sensor identifies it.
        named.send(()).unwrap();
        loop {
            sigquit.wait().unwrap();
            answer(CAUGHT.fetch_add(1, Ordering::SeqCst) + 1);
        }
    };
    thread::Builder::new().name("Signal Catcher".to_owned()).spawn(catch).unwrap();
    ready.recv().unwrap();
}

/// Waits until `done` returns true.
pub(super) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what} did not come");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Prints `word` and waits until the parent kills this child.
fn say_and_wait(word: &str) -> ! {
    println!("{word}");
    loop {
        thread::park();
    }
}

fn own_recording(config: &Config) -> Recording<Vec<u8>> {
    let Destination::Directory(directory) = &config.recording.destination else { panic!() };
    only_recording(directory)
}

fn in_a_message() {
    let target = trace_runtime::text("com.example.Handler");
    trace_runtime::message_begin(&Message { target, ..Message::default() });
}

pub(super) fn child(role: &str, mut config: Config) {
    match role {
        "judged" => {
            simulate_art(|_| {});
            begin(&config);
            trace_runtime::set_foreground(true);
            let (mut polls, me) = (0, (std::process::id() as i32, nix::unistd::getuid().as_raw()));
            trace_runtime::set_error_state_source(Some(Box::new(move || {
                assert_eq!(thread::current().name(), Some("anrscope-polls"));
                let before = verdicts(&own_recording(&config));
                assert_eq!(before.len(), 1, "what is known is in the file before the system is asked");
                polls += 1;
                let not_responding = |pid, uid| ProcessInError { pid, uid, not_responding: true };
                if polls < 2 { vec![not_responding(1, 1)] } else { vec![not_responding(me.0, me.1)] }
            })));
            in_a_message();
            say_and_wait("ready");
        }
        "frozen" => {
            simulate_art(|_| {});
            begin(&config);
            trace_runtime::set_foreground(true);
            in_a_message();
            say_and_wait("ready");
        }
        "panics" => {
            simulate_art(|_| {});
            begin(&config);
            trace_runtime::set_error_state_source(Some(Box::new(|| -> Vec<ProcessInError> {
                // A panic without its message on stderr.
                std::panic::resume_unwind(Box::new("a fault of the embedder's"))
            })));
            in_a_message();
            say_and_wait("ready");
        }
        "own-dump" => {
            simulate_art(|_| {});
            assert_eq!(trace_runtime::dump(), Err(trace_runtime::DumpError::NotRecording));
            begin(&config);
            in_a_message();
            trace_runtime::message_end();
            trace_runtime::dump().unwrap();
            wait_until("the catcher's answer", || CAUGHT.load(Ordering::SeqCst) == 1);
            wait_until("the verdict", || !verdicts(&own_recording(&config)).is_empty());
        }
        "storm" => {
            simulate_art(|_| {});
            begin(&config);
            // On a busy machine the sensor's thread is delayed, and reports several at once.
            let mut caught = 0;
            while !has_notice(&own_recording(&config)) {
                assert!(caught < 20_000, "no notice after {caught} requests");
                for _ in 0..100 {
                    trace_runtime::dump().unwrap();
                    caught += 1;
                    wait_until("the catcher's answer", || CAUGHT.load(Ordering::SeqCst) >= caught);
                }
            }
            // The notice takes another path than the sections.
            wait_until("the last verdict", || verdicts(&own_recording(&config)).len() == 1_000);
        }
        "passive" => {
            simulate_art(|_| {});
            config.limits = Limits { suspect_ms: 50, anr_ms: 200, tick_ms: 5, ..Limits::default() };
            // Not on the group leader, which keeps SIGQUIT blocked: no handler can run.
            let recorded_main = thread::spawn(move || {
                begin(&config);
                in_a_message();
                say_and_wait("ready");
            });
            recorded_main.join().unwrap();
        }
        "displaced" => {
            simulate_art(|_| {});
            begin(&config);
            in_a_message();
            trace_runtime::message_end();
            extern "C" fn theirs(_: libc::c_int) {}
            // SAFETY: a handler that does nothing, for a signal that is not sent here.
            let before = unsafe { libc::signal(libc::SIGQUIT, theirs as *const () as libc::sighandler_t) };
            assert_ne!(before, libc::SIG_ERR);
            wait_until("the notice", || {
                in_a_message();
                trace_runtime::message_end();
                has_notice(&own_recording(&config))
            });
            // Once is enough: two more checks, a second apart.
            for _ in 0..3 {
                thread::sleep(Duration::from_millis(1_050));
                in_a_message();
                trace_runtime::message_end();
            }
        }
        "handler-removed" => {
            simulate_art(|number| println!("dump {number}"));
            begin(&config);
            in_a_message();
            trace_runtime::message_end();
            // SAFETY: no handler, for a signal that main has unblocked at this moment.
            let before = unsafe { libc::signal(libc::SIGQUIT, libc::SIG_DFL) };
            assert_ne!(before, libc::SIG_ERR);
            wait_until("the notice", || {
                in_a_message();
                trace_runtime::message_end();
                has_notice(&own_recording(&config))
            });
            // From here on it is observed as in passive mode: while main is stalled.
            say_and_wait("ready");
        }
        "texts" => {
            simulate_art(|number| {
                let mut out = std::io::stdout();
                for part in ["dump ", &number.to_string(), "\n"] {
                    out.write_all(part.as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
            begin(&config);
            let source = TraceTextSource { target: Target::Program, writer: Writer::SignalCatcher };
            trace_runtime::capture_trace_text(source);
            for dump in 1..=2 {
                trace_runtime::dump().unwrap();
                wait_until("the dump's text", || texts(&own_recording(&config)).len() == dump);
                // The hook is placed again after the text was passed on.
                thread::sleep(Duration::from_millis(500));
            }
        }
        "open-signals" => {
            simulate_art(|_| {});
            begin(&config);
            let source = TraceTextSource { target: Target::Program, writer: Writer::SignalCatcher };
            trace_runtime::capture_trace_text(source);
            // SAFETY: as declared in include/anrscope.h; any thread may call it.
            assert_eq!(unsafe { anrscope_watch(600_000) }, 1);
            let source = || -> Vec<ProcessInError> { say_and_wait("asked") };
            trace_runtime::set_error_state_source(Some(Box::new(source)));
            in_a_message();
            say_and_wait("ready");
        }
        other => panic!("no role {other}"),
    }
}

fn payloads(recording: &Recording<Vec<u8>>, kind: SectionKind) -> Vec<Vec<u8>> {
    let sections = recording.sections().iter().filter(|section| section.kind == Some(kind));
    sections.map(|section| recording.payload(section).unwrap().unwrap()).collect()
}

fn verdicts(recording: &Recording<Vec<u8>>) -> Vec<Verdict> {
    payloads(recording, SectionKind::Verdict).iter().map(|p| Verdict::parse(p).expect("a verdict")).collect()
}

fn texts(recording: &Recording<Vec<u8>>) -> Vec<(u64, Vec<u8>)> {
    let split = |payload: Vec<u8>| {
        let (time, text) = payload.split_first_chunk().unwrap();
        (u64::from_le_bytes(*time), text.to_owned())
    };
    payloads(recording, SectionKind::DumpText).into_iter().map(split).collect()
}

fn service_events(recording: &Recording<Vec<u8>>) -> Vec<Event> {
    let Some(ring) = recording.service() else { return Vec::new() };
    let event = |item| if let Ok(Item::Event { event, .. }) = item { Some(event) } else { None };
    recording.events(ring).filter_map(event).collect()
}

/// For a file that is being written: the text is stored before the events, so one that came while the file
/// was read has none.
fn has_notice(recording: &Recording<Vec<u8>>) -> bool {
    service_events(recording).iter().any(|event| matches!(event, Event::Notice(_)))
}

fn notices(recording: &Recording<Vec<u8>>) -> Vec<String> {
    let text = |event| match event {
        Event::Notice(text) => Some(recording.texts().get(text).unwrap().to_owned()),
        _ => None,
    };
    service_events(recording).into_iter().filter_map(text).collect()
}

fn codes(verdict: &Verdict) -> Vec<&str> {
    verdict.reasons.iter().map(|reason| reason.code.as_str()).collect()
}

/// Starts a child and waits until it prints that it is ready.
fn ready(role: &str, directory: &Path) -> Child {
    let mut child = spawn(role, directory);
    assert_eq!(line(&mut BufReader::new(child.stdout.as_mut().unwrap())), "ready");
    child
}

fn send_sigquit(child: &Child) {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGQUIT).unwrap();
}

/// Waits until the recording in `directory` is as required, then kills the child.
fn when(directory: &Path, mut child: Child, what: &str, done: impl Fn(&Recording<Vec<u8>>) -> bool) {
    wait_until(what, || {
        assert_eq!(child.try_wait().unwrap(), None, "the child lives");
        done(&only_recording(directory))
    });
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Runs a child until it ends, and returns its output.
fn to_its_end(role: &str, directory: &Path) -> (u32, Vec<u8>) {
    let mut child = spawn(role, directory);
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    assert!(child.wait().unwrap().success());
    (child.id(), output)
}

pub(super) fn judged(directory: &Path) {
    let child = ready("judged", directory);
    send_sigquit(&child);
    when(directory, child, "the second verdict", |recording| verdicts(recording).len() == 2);
    let recording = only_recording(directory);
    let signals: Vec<_> = service_events(&recording)
        .into_iter()
        .filter_map(|event| if let Event::Sigquit(signal) = event { Some(signal) } else { None })
        .collect();
    let [first, second] = &verdicts(&recording)[..] else { panic!() };
    assert_eq!(signals, [first.sigquit], "the section says what the event says");
    assert_eq!(second.sigquit, first.sigquit);
    assert_eq!(
        (first.sigquit.si_pid, first.sigquit.forward, first.sender, first.foreground),
        (std::process::id(), Forward::Catcher, Sender::OwnApp, Some(true))
    );
    assert!(first.sigquit.stuck_since > 0 && first.sigquit.stuck_since <= first.sigquit.sensed);
    assert_eq!((first.reconsidered, first.outcome), (false, Outcome::DumpRequested));
    assert_eq!(codes(first), ["sent-by", "main-in-time", "error-state-not-asked"]);
    assert_eq!(first.counters, Counters { sensed: 1, forwarded: 1, ..Counters::default() });
    assert_eq!((second.reconsidered, second.outcome), (true, Outcome::Anr));
    assert_eq!(second.confidence, Confidence::High);
    assert_eq!(codes(second), ["sent-by", "main-in-time", "error-state-ours"]);
    assert!(second.reasons[2].text.ends_with("(poll 2)"), "{second:?}");
}

pub(super) fn frozen(directory: &Path) {
    let child = ready("frozen", directory);
    // The timer's thread has seen the message.
    thread::sleep(Duration::from_millis(300));
    let stop = |signal| kill(Pid::from_raw(child.id() as i32), signal).unwrap();
    stop(Signal::SIGSTOP);
    thread::sleep(Duration::from_secs(3));
    stop(Signal::SIGCONT);
    // Until main has run again, the catcher may take a signal instead.
    wait_until("a signal that main takes", || {
        send_sigquit(&child);
        thread::sleep(Duration::from_millis(100));
        !verdicts(&only_recording(directory)).is_empty()
    });
    when(directory, child, "the verdict", |recording| !verdicts(recording).is_empty());
    let verdict = &verdicts(&only_recording(directory))[0];
    assert!(verdict.sigquit.sensed - verdict.sigquit.stuck_since >= 3_000_000_000);
    assert_eq!(verdict.outcome, Outcome::DumpRequested);
    assert_eq!(codes(verdict), ["sent-by", "main-in-time", "frozen", "error-state-not-asked"], "{verdict:?}");
}

pub(super) fn source_that_panics(directory: &Path) {
    let mut child = ready("panics", directory);
    send_sigquit(&child);
    wait_until("the notice", || has_notice(&only_recording(directory)));
    assert_eq!(child.try_wait().unwrap(), None);
    send_sigquit(&child);
    when(directory, child, "the second signal's verdict", |recording| verdicts(recording).len() == 2);
    let recording = only_recording(directory);
    assert!(verdicts(&recording).iter().all(|verdict| !verdict.reconsidered));
    let notices = notices(&recording);
    assert!(matches!(&notices[..], [only] if only.contains("panicked")), "{notices:?}");
}

pub(super) fn own_dump(directory: &Path) {
    let (pid, _) = to_its_end("own-dump", directory);
    let [verdict] = &verdicts(&only_recording(directory))[..] else { panic!() };
    assert_eq!((verdict.sigquit.si_pid, verdict.sender), (pid, Sender::Ourselves));
    assert_eq!((verdict.outcome, verdict.confidence), (Outcome::DumpRequested, Confidence::High));
    assert_eq!(codes(verdict), ["sent-by", "asked-by-us"]);
}

pub(super) fn storm(directory: &Path) {
    to_its_end("storm", directory);
    let recording = only_recording(directory);
    assert_eq!(verdicts(&recording).len(), 1_000);
    let notices = notices(&recording);
    assert!(matches!(&notices[..], [only] if only.contains("there were 1000")), "{notices:?}");
}

pub(super) fn seen_passively(directory: &Path) {
    let child = ready("passive", directory);
    // The first tick of the stall polls the catcher, and the next poll is a second later.
    thread::sleep(Duration::from_millis(600));
    send_sigquit(&child);
    when(directory, child, "the verdict", |recording| !verdicts(recording).is_empty());
    let recording = only_recording(directory);
    assert!(notices(&recording)[0].contains("the main thread blocks SIGQUIT"), "{:?}", notices(&recording));
    let [verdict] = &verdicts(&recording)[..] else { panic!() };
    assert_eq!((verdict.sigquit.forward, verdict.sender), (Forward::Passive, Sender::Unknown));
    assert!(service_events(&recording).contains(&Event::Sigquit(verdict.sigquit)));
    // With an unknown sender and a main stalled for a second or two, the confidence is low.
    assert_eq!(verdict.confidence, Confidence::Low);
    assert_eq!((verdict.counters.sensed, verdict.sigquit.si_pid), (0, 0));
    assert!(verdict.sigquit.stuck_since > 0);
}

pub(super) fn displaced(directory: &Path) {
    to_its_end("displaced", directory);
    let notices = notices(&only_recording(directory));
    let program = std::env::current_exe().unwrap();
    let program = program.file_name().unwrap().to_string_lossy();
    let wanted = format!("SIGQUIT was taken over by a handler in {program} (at +0x");
    assert!(matches!(&notices[..], [only] if only.starts_with(&wanted)), "{notices:?}");
}

pub(super) fn handler_removed(directory: &Path) {
    let mut child = spawn("handler-removed", directory);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    assert_eq!(line(&mut output), "ready");
    for number in 1..=3 {
        send_sigquit(&child);
        assert_eq!(line(&mut output), format!("dump {number}"));
    }
    assert_eq!(child.try_wait().unwrap(), None, "the app lives");
    child.kill().unwrap();
    child.wait().unwrap();
    let recording = only_recording(directory);
    let wanted = "SIGQUIT was taken over by the default action, which ends the process: main blocks it again, so the Signal \
                  Catcher gets it, and it is not captured from here on";
    assert_eq!(notices(&recording), [wanted]);
    assert!(verdicts(&recording).is_empty());
}

pub(super) fn dump_texts(directory: &Path) {
    let (_, output) = to_its_end("texts", directory);
    let recording = only_recording(directory);
    let texts = texts(&recording);
    let signals: Vec<_> = verdicts(&recording).iter().map(|verdict| verdict.sigquit.sensed).collect();
    let found: Vec<_> = texts.iter().map(|(time, text)| (*time, text.as_slice())).collect();
    assert_eq!(found, [(signals[0], &b"dump 1\n"[..]), (signals[1], &b"dump 2\n"[..])]);
    assert_eq!(output, b"dump 1\ndump 2\n");
    assert_eq!(notices(&recording), [] as [String; 0]);
}

pub(super) fn open_signals(directory: &Path) {
    const ALL: [&str; 7] = [
        "anrscope-polls",
        "anrscope-signal",
        "anrscope-stacks",
        "anrscope-text",
        "anrscope-ticker",
        "anrscope-timer",
        "anrscope-worker",
    ];
    let mut child = spawn("open-signals", directory);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    assert_eq!(line(&mut output), "ready");
    send_sigquit(&child);
    assert_eq!(line(&mut output), "asked");
    // Each of the library's threads with the signals that it blocks: signal n is bit n - 1.
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        let mut threads: Vec<(String, u64)> = tasks
            .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok())
            .map(|status| {
                let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
                (field("Name:").to_owned(), u64::from_str_radix(field("SigBlk:"), 16).unwrap())
            })
            .filter(|(name, _)| name.starts_with("anrscope-"))
            .collect();
        threads.sort();
        threads
    };
    wait_until("all threads", || threads().iter().map(|(name, _)| name.as_str()).eq(ALL));
    let that = |is: fn(u64) -> bool| -> Vec<String> {
        threads().into_iter().filter(|(_, blocked)| is(*blocked)).map(|(name, _)| name).collect()
    };
    let none: [&str; 0] = [];
    assert_eq!(that(|blocked| blocked >> 31 != 0), none, "block signals from 32 on");
    assert_eq!(that(|blocked| blocked & 1 << (libc::SIGQUIT - 1) == 0), none, "take SIGQUIT");
    child.kill().unwrap();
    child.wait().unwrap();
}
