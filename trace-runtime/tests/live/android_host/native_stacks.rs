//! Native stacks of threads that hang in a C library.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use trace_format::Event;
use trace_format::Recording;
use trace_format::layout::{Sizes, header};
use trace_format::native_slot::{Reason, SLOTS};
use trace_format::section::SectionKind;
use trace_format::sections::native_modules::NativeModules;
use trace_format::sections::native_stack::NativeStack;

use test_support::android::{Case, Run, events, main_thread, sections};

/// The C library, compiled once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libnative_hang.so");
        let compiled = Command::new("cc")
            .args(["-O2", "-g", "-Wall", "-Werror", "-fPIC", "-shared", "-pthread", "-Wl,--build-id", "-I"])
            .arg(here.join("include"))
            .arg(here.join("tests/live/android_host/native_hang.c"))
            .args(["-ldl", "-o"])
            .arg(&library)
            .status()
            .expect("cc: run scripts/test, which installs a C compiler");
        assert!(compiled.success());
        library
    })
}

/// Options are known before the file, as on Android.
fn case(how: &str, name: &str, ms: u32, options: &[&str]) -> Case {
    let own = std::env::current_exe().unwrap().with_file_name("libtrace_runtime.so");
    let case = Case::new("NativeHang").named(name).in_memory_first().environment("ANRSCOPE_LIBRARY", &own);
    let directory = case.directory();
    let case = case.word(directory.to_str().unwrap()).word(library().to_str().unwrap());
    options.iter().fold(case.word(how).word(&ms.to_string()), |case, option| case.word(option))
}

/// All captures, each with its whole stack, those in slots last.
fn captures(recording: &Recording<Vec<u8>>) -> Vec<(NativeStack, Vec<u8>)> {
    let mut found: Vec<(NativeStack, Vec<u8>)> = Vec::new();
    for payload in sections(recording, SectionKind::NativeStack) {
        let capture = NativeStack::parse(&payload).expect("a capture");
        let before = capture.previous.map(|(number, _)| number);
        let before =
            found.iter().find(|(capture, _)| Some(capture.number) == before).map(|found| &found.1[..]);
        let whole = capture.whole(before).expect("the capture that it shares with");
        found.push((capture, whole));
    }
    for capture in recording.native_slots().unwrap() {
        if found.iter().all(|(found, _)| found.number != capture.number) {
            let whole = capture.stack.clone();
            found.push((capture, whole));
        }
    }
    found
}

/// Checks that the library is among the modules, and returns whether `address` is its code.
fn is_in_the_library(recording: &Recording<Vec<u8>>, address: u64) -> bool {
    // A list has the modules of the stacks before it; those of a capture after the hang need not have the library.
    let lists = sections(recording, SectionKind::NativeModules);
    let all = lists.iter().flat_map(|list| NativeModules::parse(list).expect("modules").mappings);
    let all: Vec<_> = all.collect();
    let mapping = all.iter().find(|mapping| mapping.path.ends_with("/libnative_hang.so"));
    let mapping = mapping.unwrap_or_else(|| panic!("{all:?}"));
    assert!(!mapping.build_id.is_empty(), "{mapping:?}");
    (mapping.start..mapping.end).contains(&address)
}

/// How many words of a stack are addresses of the library's code.
fn returns_to_the_library(recording: &Recording<Vec<u8>>, stack: &[u8]) -> usize {
    let words = stack.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    words.filter(|word| is_in_the_library(recording, *word)).count()
}

fn notices(recording: &Recording<Vec<u8>>) -> Vec<String> {
    let service = events(recording, recording.service().unwrap());
    let notices = service.into_iter().filter_map(|(_, event)| match event {
        Event::Notice(text) => Some(recording.texts().get(text).unwrap().to_owned()),
        _ => None,
    });
    notices.collect()
}

/// The captures taken while main was in the library's call. One asked for in the call may be taken after it, when the
/// message prints; the library's function prints the times between which it hung.
fn inside<'a>(
    run: &Run,
    captures: &'a [(NativeStack, Vec<u8>)],
) -> impl Iterator<Item = &'a (NativeStack, Vec<u8>)> + Clone {
    let times = run.lines("inside").next().unwrap_or_else(|| panic!("{}", run.printed));
    let times = times.split(' ').map(|time| time.parse().unwrap());
    let [began, ended] = times.collect::<Vec<u64>>()[..] else { panic!("{}", run.printed) };
    captures.iter().filter(move |(capture, _)| (began..=ended).contains(&capture.at))
}

fn took(run: &Run) -> u64 {
    run.lines("took").next().unwrap().parse().unwrap()
}

/// Where the sections start: the length of the fixed part.
fn fixed_part(file: &Path) -> u64 {
    let bytes = std::fs::read(file).unwrap();
    u64::from_le_bytes(bytes[header::SECTIONS_AT..][..8].try_into().unwrap())
}

const ON: [&str; 2] = ["native_stacks=1", "native_stack_interval_ms=66"];

#[test]
fn a_main_that_computes_in_a_library_has_native_stacks_there() {
    let run = case("spin", "native-spin", 2_000, &ON).run();
    let recording = run.recording();
    let captures = captures(&recording);
    let main = main_thread(&recording).tid;
    assert!(captures.len() >= 2, "{captures:?} {:?}", notices(&recording));
    for (capture, stack) in &captures {
        assert_eq!((capture.tid, capture.reason), (main, Some(Reason::Stall)));
        assert!(!stack.is_empty());
    }
    let mut inside = inside(&run, &captures);
    assert!(inside.clone().count() >= 2, "{captures:?} {}", run.printed);
    assert!(inside.clone().any(|(capture, _)| is_in_the_library(&recording, capture.pc())));
    // It may be in the C library, which reads the clock, or in the vDSO.
    assert!(inside.all(|(capture, stack)| {
        is_in_the_library(&recording, capture.pc()) || returns_to_the_library(&recording, stack) > 0
    }));
    // Later captures are differences.
    assert!(captures.iter().any(|(capture, _)| capture.previous.is_some()), "{captures:?}");
    let fixed = Sizes { native_slots: SLOTS as u32, ..Sizes::DEFAULT }.regions().1;
    assert_eq!(fixed_part(&run.files()[0]), fixed);
}

#[test]
fn without_the_option_nothing_is_captured_and_the_fixed_part_is_no_longer() {
    let run = case("spin", "native-off", 1_500, &[]).run();
    let recording = run.recording();
    assert_eq!(captures(&recording), []);
    assert!(sections(&recording, SectionKind::NativeModules).is_empty());
    assert_eq!(fixed_part(&run.files()[0]), Sizes::DEFAULT.regions().1);
}

#[test]
fn a_sleep_of_the_app_is_not_cut_short_and_has_native_stacks() {
    let run = case("sleep", "native-sleep", 1_500, &ON).run();
    assert!(took(&run) >= 1_500, "{}", run.printed);
    let recording = run.recording();
    let captures = captures(&recording);
    let mut inside = inside(&run, &captures);
    assert!(inside.clone().count() > 0, "{captures:?} {} {:?}", run.printed, notices(&recording));
    assert!(inside.all(|(_, stack)| returns_to_the_library(&recording, stack) > 0), "{captures:?}");
}

#[test]
fn the_owner_of_the_mutex_that_main_waits_for_is_captured() {
    let run = case("mutex", "native-mutex", 2_000, &ON).run();
    let recording = run.recording();
    let captures = captures(&recording);
    let main = main_thread(&recording).tid;
    let of_main = captures.iter().find(|(capture, _)| capture.tid == main && capture.mutex.1 != 0);
    let owner = of_main.unwrap_or_else(|| panic!("{captures:?}")).0.mutex.1;
    let mut of_owner = captures.iter().filter(|(capture, _)| capture.reason == Some(Reason::LockOwner));
    assert!(of_owner.clone().count() > 0 && of_owner.clone().all(|(capture, _)| capture.tid == owner));
    assert!(of_owner.any(|(capture, stack)| {
        is_in_the_library(&recording, capture.pc()) || returns_to_the_library(&recording, stack) > 0
    }));
}

#[test]
fn the_interval_and_the_signal_are_options() {
    let options = ["native_stacks=1", "native_stack_interval_ms=500", "native_stack_signal=50"];
    let run = case("spin", "native-options", 2_000, &options).run();
    let recording = run.recording();
    let count = captures(&recording).len() as u64;
    assert!((1..=took(&run) / 500 + 1).contains(&count), "{count} in {} ms", took(&run));
    let caught = u64::from_str_radix(run.lines("caught").next().unwrap(), 16).unwrap();
    assert!(caught & 1 << (50 - 1) != 0, "{caught:x} {:?}", notices(&recording));
}

#[test]
fn a_kill_during_the_stall_leaves_the_captures() {
    let case = case("spin", "native-kill", 60_000, &ON);
    let directory = case.directory();
    let mut process = case.command().stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "hangs"), "{:?}", process.wait());
    let recording = || {
        let file = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).next().unwrap();
        Recording::open(std::fs::read(file).unwrap()).unwrap()
    };
    let end = Instant::now() + Duration::from_secs(60);
    let known = |recording: &Recording<Vec<u8>>| {
        captures(recording).len() >= 3 && !sections(recording, SectionKind::NativeModules).is_empty()
    };
    while !known(&recording()) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(100));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let recording = recording();
    let captures = captures(&recording);
    assert!(captures.len() >= 3, "{captures:?} {:?}", notices(&recording));
    assert!(captures.iter().any(|(capture, _)| is_in_the_library(&recording, capture.pc())));
}

#[test]
fn a_thread_that_misses_its_beat_is_recorded_with_its_native_stack() {
    for how in ["beats", "game"] {
        let run = case(how, &format!("native-{how}"), 1_500, &ON).run();
        let recording = run.recording();
        let notices = notices(&recording);
        assert!(notices.iter().any(|text| text.contains("thread Game (tid ") && text.contains(" missed its heartbeat for ")), "{how}: {notices:?} {}", run.printed);
        let captures = captures(&recording);
        assert!(!captures.is_empty(), "{how}: {notices:?}");
        let main = main_thread(&recording).tid;
        for (capture, _) in &captures {
            assert_eq!(capture.reason, Some(Reason::MissedBeat));
            assert_ne!(capture.tid, main);
        }
        // On a busy machine a beat can be missed outside of the library as well.
        assert!(
            captures.iter().any(|(_, stack)| returns_to_the_library(&recording, stack) > 0),
            "{captures:?}"
        );
        if how == "game" {
            assert_eq!(run.lines("watched").collect::<Vec<_>>(), ["1"]);
        } else {
            assert!(took(&run) >= 1_500, "its sleep is as long as it asked for");
        }
    }
}
