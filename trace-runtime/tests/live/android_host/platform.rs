//! The platform's own evidence: the process state summary, the profiling triggers, the running system trace, and the
//! warnings of an imminent ANR.

use std::path::Path;

use trace_format::section::SectionKind;
use trace_format::sections::profile::{Outcome, PlatformProfile};
use trace_format::{Event, Recording};

use test_support::android::lifetime::app_recordings;
use test_support::android::{Case, Run, events, open, sections};

/// The update of the app in `AppPlatform`, ms since 1970.
const UPDATED_MS: u64 = 1_700_000_000_000;

fn case(name: &str, sdk: u32, words: &[&str]) -> Case {
    words.iter().fold(Case::new("AppPlatform").named(name).sdk(sdk), |case, word| case.word(word))
}

/// The only recording of the app's.
fn recording(case: &Case) -> Recording<Vec<u8>> {
    let files = app_recordings(&case.directory());
    assert_eq!(files.len(), 1, "{files:?}");
    open(&files[0])
}

fn profiles(recording: &Recording<Vec<u8>>) -> Vec<PlatformProfile> {
    let all = sections(recording, SectionKind::PlatformProfile);
    all.iter().map(|payload| PlatformProfile::parse(payload).unwrap()).collect()
}

fn notices(recording: &Recording<Vec<u8>>) -> Vec<String> {
    let service = events(recording, recording.service().unwrap()).into_iter();
    let texts = service.filter_map(|(_, event)| match event {
        Event::Notice(text) => Some(recording.texts().get(text).unwrap().to_owned()),
        _ => None,
    });
    texts.collect()
}

/// Runs a process that is killed, with what the system knows of earlier ones; returns the summary that it gave the system.
fn summary(name: &str, sdk: u32, words: &[&str]) -> String {
    let run = case(name, sdk, words).dies().run();
    given(&run)
}

fn given(run: &Run) -> String {
    run.lines("summary").next().unwrap_or_else(|| panic!("{}", run.printed)).to_owned()
}

#[test]
fn a_process_gives_the_system_the_id_of_its_recording() {
    let name = "summary";
    // An earlier process of this version ended without a summary.
    let given = summary(name, 36, &["summary", "77,com.example.app,5,-"]);
    let header = recording(&case(name, 36, &[])).header().clone();
    assert_eq!(given, trace_format::recording_id(header.pid, header.start.realtime));
    assert!(given.len() <= 128);
}

#[test]
fn a_summary_that_may_be_the_apps_is_left_alone() {
    for (name, sdk, words) in [
        // Nothing is known of what the app does.
        ("first-start", 36, &["summary"][..]),
        // What the version before did says nothing of this one, nor does another process.
        ("updated", 36, &["summary", "77,com.example.app,-5,-"]),
        ("other-process", 36, &["summary", "77,com.example.app:push,5,-"]),
        // The app, or another library, has its own.
        ("app-own", 36, &["summary", "77,com.example.app,5,-", "78,com.example.app:push,6,level 3"]),
        ("app-own-once", 36, &["summary", "77,com.example.app,5,anrscope-77-0", "76,com.example.app,1,mine"]),
        ("off", 36, &["exit_id=0", "summary", "77,com.example.app,5,-"]),
    ] {
        assert_eq!(summary(name, sdk, words), "-", "{name}");
    }
}

#[test]
fn an_exit_is_joined_by_the_recordings_id_where_pid_and_time_do_not_suffice() {
    let name = "joined";
    let id = summary(name, 36, &["summary", "77,com.example.app,5,-"]);
    let pid: u32 = id.split('-').nth(1).unwrap().parse().unwrap();
    // By its time it ended before its recording started: the clock was set back.
    let exit = format!("{pid},com.example.app,9,{id}");
    let next = case(name, 36, &["summary", &exit]).dies().run_again();
    assert!(given(&next).starts_with("anrscope-"), "{}", next.printed);
    let path =
        case(name, 36, &[]).directory().join(format!("no_backup/anrscope/com.example.app-{pid}.anrscope"));
    let exits = sections(&open(&path), SectionKind::ExitInformation);
    assert_eq!(exits.len(), 1);
    let text = String::from_utf8(exits[0].clone()).unwrap();
    assert!(text.contains(&format!("\nrecording={id}\n")), "{text}");
    assert!(text.contains(&format!("\ntime_ms={}\n", UPDATED_MS + 9)), "{text}");
}

#[test]
fn each_trigger_is_registered_by_its_name_and_only_if_it_is_listed() {
    let registers = |name: &str, words: &[&str]| {
        assert_eq!(case(name, 37, words).run().printed, "all triggers\n", "{name}");
    };
    registers("triggers-default", &["triggers", "[2]"]);
    let nine = "profile_triggers=app_request_running_trace;kill_force_stop;kill_recents;kill_task_manager;oom;anomaly;\
                kill_excessive_cpu_usage;cold_start;app_compat";
    let all = "[2, 3, 4, 5, 6, 7, 8, 9, 10, 11]";
    let words = [nine, "triggers", all, "Cold_Start ; app_fully_drawn", "[1, 2, 10]", "", "[2]"];
    registers("triggers-all", &words);
    registers("triggers-alone", &["anr_profile=0", "profile_triggers=oom", "triggers", "[7]"]);
}

#[test]
fn a_trigger_that_the_platform_does_not_have_is_a_notice() {
    for (name, sdk, minor, listed, registered, missing) in [
        ("triggers-36", 36, 0, "kill_recents;oom", "[2]", ["kill_recents", "oom"]),
        ("triggers-36-1", 36, 1, "kill_recents;oom;soon", "[2, 5]", ["oom", "soon"]),
        ("triggers-37", 37, 0, "none;oom;soon", "[2, 7]", ["none", "soon"]),
    ] {
        let words = [&format!("profile_triggers={listed}"), "triggers", registered];
        let case = case(name, sdk, &words).property(&format!("android.host.sdk.minor={minor}"));
        let recordings = case.directory();
        assert_eq!(case.run().printed, "all triggers\n", "{name}");
        let files = app_recordings(&recordings);
        let mut found: Vec<_> =
            notices(&open(&files[0])).into_iter().filter(|n| n.contains("trigger")).collect();
        found.sort();
        let text = "the platform has no profiling trigger of this name, or not at this API level: ";
        assert_eq!(found, missing.map(|name| format!("{text}{name}")), "{name}");
    }
}

/// Main hangs until a trace is requested; returns what the platform's part of its recording says.
fn stall(name: &str, trace: &str) -> (Run, Recording<Vec<u8>>) {
    let words = ["system_trace_ms=300", "sample_ms=0", "stall", trace];
    let case = || case(name, 36, &words).property("android.host.sdk.minor=1");
    let run = case().run();
    (run, recording(&case()))
}

#[test]
fn a_stall_requests_the_running_system_trace_and_its_file_is_joined_by_the_recordings_id() {
    let base = case("stall", 36, &[]).directory();
    let file = base.with_extension("perfetto-trace");
    std::fs::create_dir_all(base.parent().unwrap()).unwrap();
    std::fs::write(&file, "a trace").unwrap();
    let (run, recording) = stall("stall", file.to_str().unwrap());
    let header = recording.header();
    let id = trace_format::recording_id(header.pid, header.start.realtime);
    assert_eq!(run.printed, format!("requests [{id}]\n"), "one request for one stall");
    let [asked, stored] = &profiles(&recording)[..] else { panic!("{recording:?}") };
    assert_eq!((asked.outcome, asked.tag.as_str(), asked.path.as_str()), (Outcome::Requested, &*id, ""));
    assert!(asked.asked_ns.unwrap() > header.start.boottime + 300_000_000, "{asked:?}");
    assert_eq!(Path::new(&stored.path), file);
    assert_eq!((stored.outcome, stored.bytes, stored.tag.as_str()), (Outcome::Stored, 7, &*id));
    assert_eq!(stored.trigger, "app_request_running_trace");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_platform_that_does_not_answer_leaves_the_request_in_the_recording() {
    let (_, recording) = stall("silent", "-");
    let outcomes: Vec<_> = profiles(&recording).into_iter().map(|profile| profile.outcome).collect();
    assert_eq!(outcomes, [Outcome::Requested]);
}

#[test]
fn a_refused_profile_is_recorded_with_its_reason() {
    // The path that the platform gives a result without a file.
    let words = [
        "profile_triggers=anomaly",
        "result",
        "8",
        "memory_limit",
        "6",
        "/data/user/0/com.example.app/filesnull",
    ];
    case("refused", 37, &words).run();
    let [refused] = &profiles(&recording(&case("refused", 37, &[])))[..] else { panic!("one profile") };
    let found = (refused.trigger.as_str(), refused.outcome, refused.tag.as_str(), refused.path.as_str());
    assert_eq!(found, ("anomaly", Outcome::NoDiskSpace, "memory_limit", ""));
}

#[test]
fn the_systems_warning_of_an_anr_is_a_notice() {
    case("warned", 37, &["warn"]).run();
    let notices = notices(&recording(&case("warned", 37, &[])));
    let warning =
        "the system warns of an ANR in a process of this app: input_dispatch, id 7, after 2500 of 5000 ms";
    assert_eq!(notices.iter().filter(|notice| notice.contains("warns")).collect::<Vec<_>>(), [warning]);
}
