//! The app's side: starts, pages, foreground state, idle handlers, touch, options, the crash-loop guard.

use std::collections::BTreeMap;

use serde_json::Value;
use trace_format::event::{Change, Control};
use trace_format::section::{SectionKind, key_values};
use trace_format::sections::process::Process;
use trace_format::{Event, Recording};
use trace_runtime::monitors::options::{self, NumberOption};

use test_support::android::lifetime::app_recordings;
use test_support::android::marked;
use test_support::android::{Case, Run, events, main_thread, open, recorded_issues, sections};

pub(crate) type Lines = BTreeMap<String, String>;

/// The sections `Startup`, in order.
pub(crate) fn starts(recording: &Recording<Vec<u8>>) -> Vec<Lines> {
    let lines = |payload: Vec<u8>| {
        let text = String::from_utf8(payload).unwrap();
        key_values(&text).map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    sections(recording, SectionKind::Startup).into_iter().map(lines).collect()
}

/// Kind, class without its package, grade.
pub(crate) fn summaries(starts: &[Lines]) -> Vec<String> {
    let class = |start: &Lines| start["activity"].rsplit('$').next().unwrap().to_owned();
    starts.iter().map(|start| [&start["kind"], &*class(start), &start["grade"]].join(" ")).collect()
}

fn ns(start: &Lines, key: &str) -> u64 {
    start[key].parse().unwrap()
}

/// The time from one key to another, ms.
fn ms(start: &Lines, from: &str, to: &str) -> u64 {
    (ns(start, to) - ns(start, from)) / 1_000_000
}

fn start(kind: &str, sdk: u32) -> Run {
    Case::new("AppStarts").named(&format!("{kind}-{sdk}")).sdk(sdk).word(kind).run()
}

/// Reports of this tag.
fn issues(recording: &Recording<Vec<u8>>, tag: &str) -> Vec<Value> {
    recorded_issues(recording).into_iter().filter(|issue| issue["tag"] == tag).collect()
}

#[test]
fn a_cold_start_and_its_page_are_reported_on_every_system() {
    // The launch's message is 100, then a transaction. From 35 on its list is hidden.
    for (sdk, scene) in [(23, 100), (28, 159), (34, 159), (35, 159), (36, 159), (37, 159)] {
        let run = start("cold", sdk);
        assert_eq!(run.printed, "created 1\n", "{sdk}");
        let recording = run.recording();
        let starts = starts(&recording);
        assert_eq!(summaries(&starts), ["page Home unknown", "cold Home good"], "{sdk}");
        let cold = &starts[1];
        // 400 ms to the launch, 100 more to the focus; the JVM's own time before them is real.
        assert!(ms(cold, "begin", "application_end") >= 400, "{cold:?}");
        assert!(ms(cold, "application_end", "end") >= 100 && ns(cold, "splash_end") == 0, "{cold:?}");
        assert!((ns(cold, "begin")..=ns(cold, "end")).contains(&ns(cold, "first_draw")), "{cold:?}");
        assert_eq!(ns(&starts[0], "first_draw"), ns(cold, "first_draw"));
        let reports = issues(&recording, "Trace_StartUp");
        assert_eq!(reports.len(), 1, "the same focus again is no start");
        let report = &reports[0];
        assert_eq!(report["application_create_scene"], scene);
        assert_eq!(report["is_warm_start_up"], false);
        assert_eq!(report["process"], "com.example.app");
        assert!(
            report["startup_duration"].as_u64().unwrap()
                >= report["application_create"].as_u64().unwrap() + 100
        );
        assert_eq!(report["first_activity_create"], report["startup_duration"]);
    }
}

#[test]
fn where_messages_are_denied_the_first_create_ends_the_applications_creation() {
    let run = start("denied", 34);
    assert_eq!(run.printed, "created 1\n", "the observer is called nevertheless");
    let recording = run.recording();
    assert_eq!(summaries(&starts(&recording)), ["page Home unknown", "cold Home good"]);
    assert_eq!(issues(&recording, "Trace_StartUp")[0]["application_create_scene"], 0);
}

#[test]
fn a_splash_page_and_a_chosen_end_page_change_the_start() {
    let recording = start("splash", 34).recording();
    let with_splash = starts(&recording);
    let expected = ["page Splash unknown", "page Home unknown", "cold Home good"];
    assert_eq!(summaries(&with_splash), expected);
    assert!(ms(&with_splash[2], "application_end", "splash_end") >= 600);
    assert!(ns(&with_splash[2], "splash_end") < ns(&with_splash[2], "end"));
    let recording = start("end", 34).recording();
    let chosen = starts(&recording);
    assert_eq!(summaries(&chosen), expected);
    assert_eq!(ns(&chosen[2], "splash_end"), 0);
}

#[test]
fn services_receivers_and_processes_without_activities_have_starts() {
    let recording = start("service", 34).recording();
    let service = starts(&recording);
    assert_eq!(summaries(&service), ["service  unknown", "page Home unknown"]);
    let report = &issues(&recording, "Trace_StartUp")[0];
    // The user chose when the screen came up.
    assert_eq!(report["first_activity_create"], 0);
    assert_eq!(report["startup_duration"], report["application_create"]);
    assert_eq!(report["application_create_scene"], 114);
    assert_eq!(summaries(&starts(&start("receiver", 21).recording())), ["receiver  unknown"]);
    let recording = start("none", 34).recording();
    let none = starts(&recording);
    assert_eq!(summaries(&none), ["service  good"]);
    assert_eq!(none[0]["end"], none[0]["application_end"]);
    assert_eq!(
        issues(&recording, "Trace_StartUp")[0]["startup_duration"].as_u64().unwrap(),
        ms(&none[0], "begin", "end")
    );
    assert_eq!(
        summaries(&starts(&start("relaunch", 34).recording())),
        ["page Home unknown", "relaunch Home good"]
    );
}

#[test]
fn warm_and_hot_starts_follow_with_stacks() {
    let recording = start("again", 34).recording();
    let all = starts(&recording);
    let expected =
        ["page Home unknown", "cold Home good", "page Home unknown", "warm Home unknown", "hot Home bad"];
    assert_eq!(summaries(&all), expected);
    assert!(ms(&all[3], "begin", "end") >= 1_500 && ms(&all[4], "begin", "end") >= 600);
    assert_eq!(ns(&all[4], "application_end"), 0);
    let reports = issues(&recording, "Trace_StartUp");
    let warm: Vec<_> = reports.iter().map(|report| report["is_warm_start_up"].as_bool().unwrap()).collect();
    assert_eq!(warm, [false, true, true]);
    let stacks = issues(&recording, "Trace_EvilMethod");
    let stacks: Vec<_> = stacks.iter().filter(|issue| issue["detail"] == "STARTUP").collect();
    assert_eq!(stacks.len(), 1, "{stacks:?}");
    assert_eq!(stacks[0]["subType"], 2);
    assert!(stacks[0]["stack"].as_str().unwrap().contains(",11,1,"), "{}", stacks[0]);
}

#[test]
fn a_slow_cold_start_has_a_stack_and_one_with_the_user_away_is_dropped() {
    let recording = start("slow", 28).recording();
    assert_eq!(summaries(&starts(&recording)), ["page Home unknown", "cold Home bad"]);
    let stacks = issues(&recording, "Trace_EvilMethod");
    let slow = stacks.iter().find(|issue| issue["detail"] == "STARTUP").unwrap();
    assert_eq!(slow["subType"], 1);
    assert!(slow["cost"].as_u64().unwrap() >= 12_000);
    let stack = slow["stack"].as_str().unwrap();
    // From the process's begin: work before any message, the application, the page.
    for id in [2, 1, 11] {
        assert!(stack.contains(&format!(",{id},1,")), "{stack}");
    }
    let recording = start("away", 28).recording();
    assert_eq!(summaries(&starts(&recording)), ["page Home unknown"]);
    assert!(issues(&recording, "Trace_StartUp").is_empty());
}

#[test]
fn idle_handlers_are_reported_and_none_is_lost() {
    for sdk in [21, 34, 37] {
        let run = Case::new("AppIdle").named(&sdk.to_string()).sdk(sdk).run();
        assert_eq!(
            run.printed,
            // The previous list is not written where its lock is not readable: another one replaces it.
            format!(
                "found 1 of 2\nadded 5 has true true\nagain 5\nonce 1 threw 1 left 3\nremoved 1\n\
                 late true left 1\nrestored {} true 0\nran true\n",
                sdk < 37
            ),
            "{sdk}"
        );
        let recording = run.recording();
        let reports = issues(&recording, "Trace_EvilMethod");
        let late: Vec<_> = reports.iter().filter(|issue| issue["detail"] == "LAG_IDLE_HANDLER").collect();
        assert_eq!(late.len(), 1, "once a run");
        assert!(
            late[0]["threadStack"].as_str().unwrap().contains("dev.anrscope.AppIdle$Slow:queueIdle("),
            "{}",
            late[0]
        );
        let mut open = Vec::new();
        let mut slices = BTreeMap::new();
        for (_, event) in events(&recording, main_thread(&recording)) {
            match event {
                Event::IdleBegin(class) => open.push(recording.texts().get(class).unwrap().to_owned()),
                Event::IdleEnd => *slices.entry(open.pop().expect("a begin")).or_insert(0) += 1,
                _ => {}
            }
        }
        assert!(open.is_empty());
        let names: Vec<_> = slices.keys().map(String::as_str).collect();
        let own = |name: &str| format!("dev.anrscope.AppIdle${name}");
        assert_eq!(
            names,
            [own("Counting"), own("Slow"), own("Throwing")],
            "the library's own are not reported"
        );
        assert_eq!((slices[&own("Slow")], slices[&own("Throwing")]), (1, 1));
    }
}

#[test]
fn delayed_touch_has_the_stack_of_the_stall_and_is_reported_once() {
    let run = Case::new("AppTouch").sdk(34).run();
    assert_eq!(
        run.printed,
        "wrapped true\npasses true true false null true\nin the poll 1 in a frame 3\nkept true\nrestored true true\nreported 1\n"
    );
    let reports = issues(&run.recording(), "Trace_EvilMethod");
    let late: Vec<_> = reports.iter().filter(|issue| issue["detail"] == "LAG_TOUCH").collect();
    assert_eq!(late.len(), 1, "a gesture is reported once in four seconds");
    assert!(late[0]["threadStack"].as_str().unwrap().contains("AppTouch:stuckHere("), "{}", late[0]);
    assert_eq!(late[0]["isProcessForeground"], true);
    assert_eq!(late[0]["scene"], "dev.anrscope.AppScript$Home");
}

#[test]
fn a_pause_within_the_debounce_is_no_change_and_leaving_is_one() {
    let run = Case::new("AppForeground").sdk(34).run();
    assert_eq!(run.printed, "changes 1\nchanges 2\nfocused Home Detail \nmessages true twice false\n");
    // By the activity itself and by its window's callback: once each. The page that returned had not lost
    // focus by then.
    let recording = run.recording();
    let of_main = events(&recording, main_thread(&recording));
    let focus: Vec<_> = of_main
        .iter()
        .filter_map(|(_, e)| if let Event::Focus(_, gained) = e { Some(*gained) } else { None })
        .collect();
    assert_eq!(focus, [true, false, true, false]);
}

#[test]
fn every_option_has_a_setter_and_reaches_the_library() {
    // Both ends of each range: the flags off, then on.
    for end in ["least", "greatest"] {
        let value = |option: &NumberOption| if end == "least" { option.least } else { option.greatest };
        let mut case = Case::new("AppOptions").named(end);
        let mut expected = String::new();
        for option in options::NUMBERS {
            // With these at 0 nothing would start.
            let starts = ["installs_per_mille", "recording"].contains(&option.key);
            let value = if starts { option.greatest } else { value(option) };
            case = case.word(&format!("{}={value}", option.key));
            expected += &format!("{}={value}\n", option.key);
        }
        for option in options::TEXTS {
            case = case.word(&format!("{}=a.B;c.D", option.key));
            expected += &format!("{}=a.B;c.D\n", option.key);
        }
        let setters = format!("setters {}\n", options::NUMBERS.len() + options::TEXTS.len());
        assert_eq!(case.run().printed, setters + &expected);
    }
}

#[test]
fn the_manifest_the_code_and_the_provider_all_set_options() {
    let run = Case::new("AppOptions").named("said").run();
    let printed: Vec<_> = run.printed.lines().skip(1).collect();
    // The code's value wins over the manifest's; the provider's comes last, if it has one.
    let expected = ["slow 900 anr 7000 lag 1234 idle 2000", "set true false false 6000", "asked on main 0"];
    assert_eq!(printed, expected);
    let recording = run.recording();
    let bytes = std::fs::read(&run.files()[0]).unwrap();
    for notice in
        ["no option is called no_such", "no option is called quick", "option idle_ms cannot be set to soon"]
    {
        assert!(bytes.windows(notice.len()).any(|text| text == notice.as_bytes()), "{notice}");
    }
    let of_main = events(&recording, main_thread(&recording));
    let text = |id| recording.texts().get(id).unwrap_or_default();
    assert!(of_main.iter().any(|(_, e)| matches!(e, Event::Mark(id) if text(*id) == "basket opened")));
    assert!(of_main.iter().any(|(_, e)| matches!(e, Event::Counter(id, 2.5) if text(*id) == "basket")));
    let service = events(&recording, recording.service().unwrap());
    let precise = |e: &Event| matches!(e, Event::Control(Control { change: Change::Precise, .. }));
    assert!(service.iter().any(|(_, event)| precise(event)), "the code wants a precise clock");
}

#[test]
fn with_redact_an_apps_own_texts_are_recorded_as_numbers() {
    let said = |redact: &str| {
        let run = Case::new("AppRedact").named(redact).word(redact).run();
        let recording = run.recording();
        let text = |id| recording.texts().get(id).unwrap_or_default().to_owned();
        let of_main = events(&recording, main_thread(&recording));
        let mut marks = Vec::new();
        let mut texts = 0;
        for (_, event) in &of_main {
            match event {
                // Others are the library's own.
                Event::Mark(id)
                    if text(*id).starts_with(['a', '#']) && text(*id) != "application created" =>
                {
                    marks.push(text(*id));
                }
                Event::Counter(id, _) => texts += usize::from(text(*id).contains("alice")),
                Event::MessageBegin(message) => texts += usize::from(text(message.callback) == "alice"),
                _ => {}
            }
        }
        let bytes = std::fs::read(&run.files()[0]).unwrap();
        let anywhere = bytes.windows(5).filter(|part| *part == b"alice").count();
        (marks, texts, anywhere)
    };
    let (marks, texts, _) = said("0");
    assert_eq!((marks[0].as_str(), texts), ("alice opened the basket", 2));
    let (marks, texts, anywhere) = said("1");
    assert_eq!((texts, anywhere), (0, 0), "{marks:?}");
    assert!(marks.len() == 2 && marks[0] == marks[1] && marks[0].starts_with('#'), "{marks:?}");
}

#[test]
fn two_bad_starts_in_a_row_disarm_until_the_next_version() {
    let case = |word: &str, version: &str| {
        Case::new("AppCrash").word(word).property(&format!("android.host.version={version}"))
    };
    let printed = |run: Run| run.printed;
    let armed = "armed true recording true logged 0\n";
    assert_eq!(printed(case("dies", "1").dies().run()), armed);
    // One that settles is in between: the next starts begin with a clean record.
    assert_eq!(printed(case("lives", "1").run_again()), armed);
    assert_eq!(printed(case("dies", "1").dies().run_again()), armed);
    assert_eq!(printed(case("dies", "1").dies().run_again()), armed);
    for _ in 0..2 {
        // Each such start is one log line, and the app can query it.
        assert_eq!(printed(case("refused", "1").run_again()), "armed false recording false logged 1\n");
    }
    assert_eq!(printed(case("lives", "2").run_again()), armed);
    assert_eq!(printed(case("lives", "2").run_again()), armed);
}

#[test]
fn the_apps_version_is_recorded_if_the_package_manager_answers() {
    let recorded = |name: &str, properties: &[&str]| {
        let case = keeping(name).word("none").word("on");
        properties.iter().fold(case, |case, property| case.property(property)).run();
        let [recording] = &kept_recordings(name)[..] else { panic!("one recording") };
        let all = sections(recording, SectionKind::Process);
        let mut process = Process::default();
        all.iter().for_each(|payload| process.complete(Process::parse(payload).unwrap()));
        assert_eq!(process.name.as_deref(), Some("com.example.app"));
        (all.len(), process.app_version, process.app_version_code)
    };
    let named = ["android.host.version=7", "android.host.version.name=1.2 beta"];
    assert_eq!(recorded("version", &named), (2, Some("1.2 beta".into()), Some(7)));
    assert_eq!(recorded("version-without-name", &named[..1]), (2, None, Some(7)));
    assert_eq!(recorded("version-unknown", &["android.host.packages.fail=true"]), (1, None, None));
}

#[test]
fn a_debuggable_build_is_never_disarmed() {
    let case = |word: &str| {
        let case = Case::new("AppCrash").named("debuggable").word(word);
        case.property("android.host.debuggable=true")
    };
    let armed = "armed true recording true logged 0\n";
    assert_eq!(case("lives").run().printed, armed);
    for _ in 0..3 {
        assert_eq!(case("killed").dies().run_again().printed, armed);
    }
    assert_eq!(case("lives").run_again().printed, armed);
}

#[test]
fn the_fix_for_shared_preferences_is_an_option_of_the_systems_that_need_it() {
    for (sdk, on, waited) in [(21, "on", 0), (25, "on", 0), (25, "off", 5), (20, "on", 5)] {
        let run = Case::new("AppFix").named(&format!("{sdk}-{on}")).sdk(sdk).word(on).run();
        assert_eq!(run.printed, format!("waited {waited}\nours true\nrestored true\n"), "{sdk} {on}");
    }
}

/// Starts an app with Android's directories, in those of the previous start unless it is the first.
pub(crate) fn kept(name: &str, words: &[&str], first: bool) -> Run {
    let case = words.iter().fold(keeping(name), |case, word| case.word(word));
    if first { case.run() } else { case.run_again() }
}

fn keeping(name: &str) -> Case {
    let case = Case::new("AppOff").named(name);
    let data = case.directory().join("user/0/com.example.app");
    let case = case.property(&format!("android.host.data={}", data.display()));
    // As the system sets it: from there the library finds what it stored, before there is a Context.
    case.environment("ANDROID_DATA", &Case::new("AppOff").named(name).directory()).in_memory_first()
}

/// The recordings, the newest last.
fn kept_recordings(name: &str) -> Vec<Recording<Vec<u8>>> {
    let directory = Case::new("AppOff").named(name).directory().join("user/0/com.example.app");
    let mut files = app_recordings(&directory);
    files.sort_by_key(|file| std::fs::metadata(file).unwrap().modified().unwrap());
    files.iter().map(|file| open(file)).collect()
}

#[test]
fn an_app_that_was_switched_off_stays_off_until_it_is_switched_on() {
    let name = "off";
    // The provider switches it off: the monitors stop, and the file does not grow.
    assert_eq!(kept(name, &["0", "off"], true).printed, "at once true\nwatched false\nrecording true\n");
    let before = kept_recordings(name).len();
    // No provider is called before anything is armed; and a missing answer changes nothing.
    for answer in ["0", "none"] {
        let run = kept(name, &[answer, "off"], false);
        assert_eq!(run.printed, "at once false\nwatched false\nrecording true\n", "{answer}");
    }
    assert_eq!(kept_recordings(name).len(), before, "no file is made");
    assert_eq!(kept(name, &["1", "on"], false).printed, "at once false\nrecording true\n");
    assert_eq!(kept(name, &["none", "on"], false).printed, "at once true\nrecording true\n");
    let all = kept_recordings(name);
    assert_eq!(all.len(), before + 2);
    let marks = |recording: &Recording<Vec<u8>>| -> Vec<String> {
        let of_main = events(recording, main_thread(recording));
        let text = |id| recording.texts().get(id).unwrap().to_owned();
        of_main
            .into_iter()
            .filter_map(|(_, e)| if let Event::Mark(id) = e { Some(text(id)) } else { None })
            .collect()
    };
    for recording in &all {
        assert!(!marks(recording).contains(&"not seen".to_owned()));
    }
    assert!(all[before..].iter().all(|recording| marks(recording).contains(&"seen".to_owned())));
}

#[test]
fn sizes_apply_at_the_next_start_and_main_only_at_a_threads_first_event() {
    let name = "sizes";
    for (first, words) in [(true, "main_words=50000"), (false, "main_words=50000"), (false, "main_words=0")] {
        kept(name, &["none", "on", words, "pool_words=20000"], first);
    }
    kept(name, &["none", "on"], false);
    let all = kept_recordings(name);
    let blocks = |recording: &Recording<Vec<u8>>, key: &str| -> u64 {
        let text = String::from_utf8(sections(recording, SectionKind::Configuration)[0].clone()).unwrap();
        key_values(&text).find(|(k, _)| *k == key).unwrap().1.parse().unwrap()
    };
    let of = |key: &str| all.iter().map(|recording| blocks(recording, key)).collect::<Vec<_>>();
    // The first start does not have the sizes yet, and the fourth has those that the third set. 1,020 words
    // are a block.
    assert_eq!(of("main_blocks"), [986, 50, 50, 986]);
    assert_eq!(of("pool_blocks"), [512, 20, 20, 20]);
    let names: Vec<_> = all[0].threads().iter().filter_map(|thread| thread.name.as_deref()).collect();
    assert!(names.contains(&"Early") && !names.contains(&"Late"), "{names:?}");
}

/// All markers found in a list of files.
fn found_in_files(files: &[std::path::PathBuf]) -> Vec<u32> {
    let mut all: Vec<_> =
        files.iter().flat_map(|file| marked::found(&std::fs::read(file).unwrap())).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn only_the_documented_texts_of_an_app_are_recorded_and_none_with_redact() {
    let case = |name: &'static str| move || Case::new("MarkersLife").named(name);
    let (printed, recordings) = marked::live(case("said"), "0");
    assert!(
        recordings.len() == 2 && printed.contains("\nanr ") && printed.contains("\ndeadlock "),
        "{printed}"
    );
    assert_eq!(found_in_files(&recordings), marked::ITS_OWN);
    // The listeners get no more.
    let more = |place: &u32| !marked::ITS_OWN.contains(place);
    assert_eq!(marked::found(printed.as_bytes()).into_iter().filter(more).collect::<Vec<_>>(), [0; 0]);

    let (printed, recordings) = marked::live(case("redacted"), "1");
    assert!(
        recordings.len() == 2 && printed.contains("\nanr ") && printed.contains("\ndeadlock "),
        "{printed}"
    );
    assert_eq!(found_in_files(&recordings), [0; 0]);
    assert_eq!(marked::found(printed.as_bytes()), [0; 0], "{printed}");
}
