//! What the next start learns of a process that has ended.

use std::path::{Path, PathBuf};

use trace_format::section::SectionKind;

use test_support::android::lifetime::app_recordings;
use test_support::android::{Case, Run, open, sections};

fn case(name: &str) -> Case {
    Case::new("AppExits").named(name).sdk(36)
}

/// Runs a process that is killed; returns its pid.
fn killed(name: &str) -> u32 {
    let run = case(name).word("dies").dies().run();
    run.lines("pid").next().unwrap_or_else(|| panic!("{}", run.printed)).parse().unwrap()
}

/// Runs the next start, at which the system has this trace of it.
fn next(name: &str, pid: u32, trace: &str) -> Run {
    let file: PathBuf = case(name).directory().join("trace.txt");
    std::fs::write(&file, trace).unwrap();
    case(name).word("next").word(&pid.to_string()).word(file.to_str().unwrap()).run_again()
}

#[test]
fn a_deadlock_in_the_trace_of_an_earlier_process_reaches_the_listener() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exporter/answers/tests/data/deadlock");
    let pid = killed("deadlock");
    let trace = std::fs::read_to_string(data.join("tail_into_cycle.txt")).unwrap();
    // A tail into the cycle: main waits for one of the two and is not part of it.
    let run = next("deadlock", pid, &trace);
    let expected = format!(
        "deadlock of {pid} [2, 3] [L2, L3]\n\
         text \"main\" prio=5 tid=1 Blocked of 5\n\
         text \"a\" prio=5 tid=2 Blocked of 5\n\
         text \"b\" prio=5 tid=3 Blocked of 5\n"
    );
    assert_eq!(run.printed, expected);
}

#[test]
fn an_idle_main_in_the_trace_of_its_anr_reaches_the_listener() {
    let pid = killed("idle");
    let trace =
        "\"main\" prio=5 tid=1 Native\n  at android.os.MessageQueue.nativePollOnce(Native method)\n\n";
    assert_eq!(next("idle", pid, trace).printed, format!("idle of {pid} 2\n"));
}

/// Runs a start at which the platform has a profile of this trigger and error; returns the sections of all
/// recordings.
fn profile(name: &str, sdk: u32, pid: &str, trigger: u32, error: u32) -> (String, Vec<(String, String)>) {
    let case = || Case::new("AppExits").named(name).sdk(sdk);
    let file = case().directory().join("profile_trigger_anr.perfetto-trace");
    std::fs::write(&file, "a profile").unwrap();
    let words = ["profile", pid, file.to_str().unwrap(), &trigger.to_string(), &error.to_string()];
    let run = words.into_iter().fold(case(), |case, word| case.word(word)).run_again();
    let all = app_recordings(&case().directory()).into_iter().flat_map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = |section| String::from_utf8(section).unwrap();
        sections(&open(&path), SectionKind::PlatformProfile).into_iter().map(move |s| (name.clone(), text(s)))
    });
    (run.printed.replace(&*file.to_string_lossy(), "FILE"), all.collect())
}

#[test]
fn a_profile_from_the_platform_is_noted_in_the_recording_of_its_process() {
    let pid = killed("profile").to_string();
    let (printed, noted) = profile("profile", 36, &pid, 2, 0);
    assert_eq!(printed, "trigger 2\nwaiting 0\n");
    assert_eq!(noted.len(), 1, "{noted:?}");
    let (name, text) = &noted[0];
    assert_eq!(*name, format!("com.example.app-{pid}"), "the system says that it had an ANR");
    let begin = "trigger=anr\noutcome=stored\npath=/";
    assert!(text.starts_with(begin) && text.contains("perfetto-trace\nbytes=9\ntime_ms="), "{text}");
}

#[test]
fn profiles_of_other_triggers_and_older_systems_are_left_alone() {
    for (name, sdk, trigger, printed) in
        [("profile-other", 36, 1, "trigger 2\nwaiting 0\n"), ("profile-older", 35, 2, "waiting 1\n")]
    {
        let pid = killed(name).to_string();
        assert_eq!(profile(name, sdk, &pid, trigger, 0), (printed.to_owned(), Vec::new()), "{name}");
    }
}

#[test]
fn a_profile_that_the_platform_denies_is_noted_with_the_reason() {
    let pid = killed("profile-failed").to_string();
    let (_, noted) = profile("profile-failed", 36, &pid, 2, 1);
    let [(_, text)] = &noted[..] else { panic!("{noted:?}") };
    assert!(text.starts_with("trigger=anr\noutcome=rate_limit_system\ntime_ms="), "{text}");
}
