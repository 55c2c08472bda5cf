//! Recording on a real JVM: both clocks and all kinds of events, compared with the program's own logs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use test_support::jdk::compile_with;
use trace_format::event::{Change, LostEnd};
use trace_format::{Event, Item, Recording, Thread};

/// Every call is recorded, and no method is switched off.
const ALL: [&str; 2] = ["-Danrscope.resolution=exact", "-Danrscope.max_overhead=0"];

/// An empty directory of this name, with the compiled program in it.
fn directory(name: &str, program: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = here.join("../android/tests/jvm").join(program).with_extension("java");
    compile_with(&here.join("../android/method-beat/classes"), &[source], &directory);
    directory
}

/// Runs a class there, recorded into that directory, and returns its stdout; stderr must be empty.
fn java(directory: &Path, properties: &[&str], words: &[&str]) -> String {
    // Cargo links the crate's library beside the test binary.
    let library = std::env::current_exe().unwrap().with_file_name("libtrace_runtime.so");
    let home = std::env::var_os("ANRSCOPE_TEST_JAVA");
    let Output { status, stdout, stderr } = Command::new(home.unwrap_or("java".into()))
        .arg(format!("-Xbootclasspath/a:{}/../android/method-beat/classes", env!("CARGO_MANIFEST_DIR")))
        .arg(format!("-Danrscope.lib={}", library.display()))
        .arg(format!("-Danrscope.dir={}", directory.display()))
        .args(properties)
        .arg("-cp")
        .arg(directory)
        .args(words)
        .output()
        .expect("java: run scripts/test, which installs a JDK");
    assert_eq!(String::from_utf8_lossy(&stderr), "", "{status}");
    assert!(status.success(), "{status}");
    String::from_utf8(stdout).unwrap()
}

fn recording(directory: &Path) -> Recording<Vec<u8>> {
    let files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|x| x == "anrscope"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let recording = Recording::open(std::fs::read(&files[0]).unwrap()).unwrap();
    assert_eq!(recording.faults(), (&[][..], 0));
    recording
}

fn events(recording: &Recording<Vec<u8>>, thread: &Thread) -> Vec<(u64, Event)> {
    recording
        .events(thread)
        .map(|item| match item.unwrap() {
            Item::Event { time, event } => (time, event),
            other => panic!("{other:?} in {thread:?}"),
        })
        // Repeated at the start of a block.
        .filter(|(_, event)| !matches!(event, Event::OpenCalls(_)))
        .collect()
}

fn thread<'a>(recording: &'a Recording<Vec<u8>>, name: &str) -> &'a Thread {
    let mut named = recording.threads().iter().filter(|t| t.name.as_deref() == Some(name));
    named.next().unwrap_or_else(|| panic!("no thread {name}"))
}

/// Runs Mixed, and compares every thread's events with its log.
fn mixed(name: &str, clock: &str, change: &str) {
    const EVENTS: usize = 200_000;
    let directory = directory(name, "Mixed");
    let logs = directory.to_str().unwrap();
    let begun = native_signal::boottime_ns();
    let properties = [clock, ALL[0], ALL[1], "-Danrscope.mainWords=4000000", "-Danrscope.poolWords=4000000"];
    let printed = java(&directory, &properties, &["Mixed", logs, "7", &EVENTS.to_string(), change]);
    let ended = native_signal::boottime_ns();
    assert_eq!(printed.trim(), "allocated 0 0 0 0");

    let recording = recording(&directory);
    assert_eq!((recording.header().dropped, recording.texts().overflow()), (0, 0));
    for name in ["main", "mixed-0", "mixed-1", "mixed-2"] {
        let log = std::fs::read(directory.join(name).with_extension("log")).unwrap();
        let log: Vec<u32> = log.chunks_exact(4).map(|b| u32::from_be_bytes(b.try_into().unwrap())).collect();
        assert_eq!(log.len(), EVENTS);
        let thread = thread(&recording, name);
        assert_eq!(thread.overwritten(), 0);
        let events = events(&recording, thread);
        // Main has written more since.
        assert!(events.len() >= EVENTS, "{name}: {}", events.len());
        for (n, ((time, event), logged)) in events.iter().zip(&log).enumerate() {
            let expected = match event {
                Event::Enter(id) => id | 1 << 31,
                Event::Exit(id) => *id,
                Event::WaitBegin(_) => 0x4000_0000,
                Event::WaitEnd => 0x4000_0001,
                Event::Concurrency(step) => 0x2000_0000 | step.method,
                other => panic!("{other:?}"),
            };
            assert_eq!(expected, *logged, "{name}, event {n}");
            // A time that went back would read as two hours later.
            assert!(
                (begun..=ended + 1_000_000).contains(time),
                "{name}, event {n}: {time} not in {begun} to {ended}"
            );
        }
    }
}

#[test]
fn coarse_and_typed_events_share_one_order_and_do_not_allocate() {
    mixed("mixed-coarse", "-Danrscope.clock=coarse", "false");
}

#[test]
fn what_is_ready_at_once_is_no_wait() {
    let directory = directory("ready", "Ready");
    java(&directory, &ALL, &["Ready"]);
    let recording = recording(&directory);
    let ids = |events: Vec<(u64, Event)>| -> Vec<Option<u32>> {
        let ids = events.iter().filter_map(|(_, event)| match event {
            Event::Enter(id) | Event::Exit(id) => Some(Some(*id)),
            Event::WaitBegin(_) | Event::WaitEnd => Some(None),
            _ => None,
        });
        ids.collect()
    };
    let plain = (1..=4).chain([6, 7]).flat_map(|id| [Some(id); 2]);
    let waiting =
        [19, 20, 21, 11, 12, 13, 14, 15, 16].into_iter().flat_map(|id| [Some(id), None, None, Some(id)]);
    let nested =
        [17, 18].map(Some).into_iter().chain([None, None, Some(18), None, Some(5), Some(5), None, Some(17)]);
    assert_eq!(
        ids(events(&recording, &recording.threads()[0])),
        plain.chain(waiting).chain(nested).collect::<Vec<_>>()
    );
}

#[test]
fn long_calls_among_very_many_blocking_ones_are_recorded() {
    let directory = directory("hurried", "Hurried");
    java(&directory, &["-Danrscope.max_overhead=0"], &["Hurried"]);
    let recording = recording(&directory);
    for name in ["main", "other"] {
        let (mut open, mut long, mut begins) = (Vec::new(), Vec::new(), 0_u64);
        for (time, event) in events(&recording, thread(&recording, name)) {
            match event {
                Event::WaitBegin(wait) => {
                    begins += 1;
                    open.push((wait, time));
                }
                Event::WaitEnd => {
                    let (wait, begun) = open.pop().expect("every end has a begin");
                    long.extend(Some(wait.call).filter(|_| time - begun >= 25_000_000));
                }
                _ => {}
            }
        }
        assert_eq!(open, []);
        let inner = long.iter().filter(|call| call.0 == 101).count();
        let outer = long.iter().filter(|call| call.0 == 100).count();
        assert!(inner >= 3 && outer >= 3, "{name}: {long:?}");
        assert!(begins < 600_000 / 10, "{name}: {begins} calls are recorded");
    }
}

#[test]
fn every_lost_end_is_recorded_before_the_next_event_and_of_many_that_there_are_others() {
    let lost = |number: u32| {
        let directory = directory(&format!("lost-{number}"), "Lost");
        java(&directory, &ALL, &["Lost", &number.to_string()]);
        let recording = recording(&directory);
        events(&recording, &recording.threads()[0]).into_iter().map(|(_, event)| event).collect::<Vec<_>>()
    };
    let all = |ends: Vec<LostEnd>| -> Vec<Event> {
        let begun = [Event::Enter(1), Event::Enter(2)];
        let after = [Event::Enter(3), Event::Exit(3), Event::Exit(1)];
        begun.into_iter().chain(ends.into_iter().map(Event::LostEnd)).chain(after).collect()
    };
    assert_eq!(lost(1), all(vec![LostEnd::Exit(2)]));
    assert_eq!(lost(3), all([2, 10, 11].map(LostEnd::Exit).to_vec()));
    let many = lost(40);
    assert!(many.contains(&Event::LostEnd(LostEnd::Any)), "{many:?}");
}

#[test]
fn the_clock_may_change_at_any_moment() {
    mixed("mixed-changing", "-Danrscope.clock=precise", "true");
}

#[test]
fn without_unsafe_coarse_events_cross_jni_and_are_the_same() {
    // As on a JVM that would print a warning.
    mixed("mixed-crossing", "-Djava.specification.version=24", "true");
}

#[test]
fn a_method_switched_off_is_not_recorded_and_the_recording_has_the_time() {
    for clock in ["coarse", "precise"] {
        let directory = directory(&format!("controlled-{clock}"), "Controlled");
        let clock_property = format!("-Danrscope.clock={clock}");
        java(
            &directory,
            &[&clock_property, ALL[0], ALL[1], "-Xshare:off", "-Djava.system.class.loader=Controlled"],
            &["Controlled"],
        );
        let recording = recording(&directory);
        let main = events(&recording, &recording.threads()[0]);
        // The class loader's own calls, which began while MethodBeat was being initialized, come in pairs.
        let mut depth = 0;
        for (_, event) in &main {
            match event {
                Event::Enter(9) => depth += 1,
                Event::Exit(9) => depth -= 1,
                _ => {}
            }
            assert!(depth >= 0, "an end without a start");
        }
        assert_eq!(depth, 0);
        let calls: Vec<_> =
            main.iter().map(|(_, e)| *e).filter(|e| !matches!(e, Event::Enter(9) | Event::Exit(9))).collect();
        let expected: Vec<_> =
            [5, 6, 8, 5, 10].into_iter().flat_map(|id| [Event::Enter(id), Event::Exit(id)]).collect();
        assert_eq!(calls, expected, "{clock}");

        let service = events(&recording, recording.service().expect("a service ring"));
        let changes: Vec<_> = service
            .iter()
            .filter_map(|(_, e)| if let Event::Control(c) = e { Some((c.change, c.method)) } else { None })
            .collect();
        let expected = [
            (Change::MethodOff, 5),
            (Change::Paused, 0),
            (Change::Resumed, 0),
            (Change::MethodOn, 5),
            (Change::Precise, 0),
        ];
        assert_eq!(changes, expected);
    }
}

/// By how much CLOCK_BOOTTIME, a recording's clock, is ahead of CLOCK_MONOTONIC, Java's clock, on a machine
/// that has slept, ns.
fn slept() -> i64 {
    let read = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes the one structure it is given.
        assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut time) }, 0);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    read(libc::CLOCK_BOOTTIME) - read(libc::CLOCK_MONOTONIC)
}

/// A long call as the program logs it: its thread, its method, when it began by CLOCK_BOOTTIME, and how
/// long it took, ns.
struct Long {
    thread: String,
    id: u32,
    begun: u64,
    took: u64,
}

#[test]
fn in_a_busy_program_long_calls_are_recorded_and_short_ones_are_counted() {
    let directory = directory("short-calls", "ShortCalls");
    let printed = java(&directory, &["-Danrscope.max_overhead=0"], &["ShortCalls", "3", "1500"]);
    let mut calls = 0;
    let mut long = Vec::new();
    for line in printed.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["calls", count] => calls += count.parse::<u64>().unwrap(),
            [thread, id, begun, took] => long.push(Long {
                thread: thread.to_owned(),
                id: id.parse().unwrap(),
                begun: begun.parse::<u64>().unwrap().saturating_add_signed(slept()),
                took: took.parse().unwrap(),
            }),
            _ => panic!("{line}"),
        }
    }
    assert!(calls > 100_000 && long.len() > 20, "{calls} calls, {} of them long", long.len());
    let recording = recording(&directory);
    // Without it, nothing may be reported.
    let service = recording.service().map_or_else(Vec::new, |service| events(&recording, service));
    // Where the ticker was not scheduled, shorter calls are unknown.
    let stood: Vec<_> = service
        .iter()
        .filter_map(
            |(_, event)| if let Event::Standstill(s) = event { Some((s.since, s.until)) } else { None },
        )
        .collect();
    let (mut words, mut folded) = (0, 0);
    for name in ["main", "short-0", "short-1"] {
        let thread = thread(&recording, name);
        assert_eq!(thread.overwritten(), 0);
        let events = events(&recording, thread);
        words += events.len();
        let mut open = Vec::new();
        let mut ended = std::collections::BTreeMap::new();
        for (time, event) in &events {
            match event {
                Event::Enter(id) => open.push((*id, *time)),
                Event::Exit(id) => {
                    let (opened, begun) = open.pop().expect("every end has a start");
                    assert_eq!(opened, *id);
                    ended.insert(*id, time - begun);
                }
                Event::Folded(short) => folded += short.calls,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(open, []);
        for call in long.iter().filter(|call| call.thread == name) {
            let late =
                stood.iter().any(|(since, until)| call.begun < *until && *since < call.begun + call.took);
            assert!(
                late || ended.contains_key(&call.id),
                "{} of {name}, {} ns, is not there",
                call.id,
                call.took
            );
        }
    }
    assert!((words as u64) < calls / 10, "{words} words of {calls} calls");
    assert!(folded > calls / 4 && folded < calls * 2, "{folded} were counted of {calls}");
}
