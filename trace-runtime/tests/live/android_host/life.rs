//! The life of an app: three processes, and a recording of each.

use trace_format::Event;
use trace_format::section::SectionKind;

use crate::android_host::app::{starts, summaries};
use test_support::android::lifetime::{app_recordings, live};
use test_support::android::{Case, events, main_thread, open, recorded_issues, sections};

#[test]
fn the_life_of_an_app_is_in_one_recording_per_process() {
    let (pid, directory) = live(|| Case::new("AppLife"));
    let files = app_recordings(&directory);
    assert_eq!(files.len(), 3, "{files:?}");
    let recording = |named: &str| {
        let file = files.iter().find(|file| file.to_string_lossy().contains(named)).unwrap();
        open(file)
    };
    let killed = recording(&format!("com.example.app-{pid}."));
    assert_eq!(killed.header().process_name, "com.example.app");

    // Starts: cold, its page, and hot after the app was in the background.
    let kinds: Vec<_> = starts(&killed).iter().map(|start| start["kind"].clone()).collect();
    assert_eq!(kinds, ["page", "cold", "hot"]);
    // Each monitor has reported.
    let reports = recorded_issues(&killed);
    let has = |detail: &str| reports.iter().filter(|issue| issue["detail"] == detail).count();
    for detail in ["NORMAL", "LAG", "ANR", "SIGNAL_ANR", "LAG_IDLE_HANDLER", "LAG_TOUCH"] {
        assert!(has(detail) > 0, "{detail}: {reports:?}");
    }
    let of_method = |detail: &str, id: u32| {
        let stack = format!(",{id},1,");
        reports.iter().any(|i| i["detail"] == detail && i["stack"].as_str().unwrap().contains(&stack))
    };
    assert!(of_method("NORMAL", 40) && of_method("ANR", 42), "{reports:?}");
    let fps: Vec<_> = reports.iter().filter(|issue| issue["tag"] == "Trace_FPS").collect();
    let dropped = |level: &str| -> u64 { fps.iter().map(|i| i["dropLevel"][level].as_u64().unwrap()).sum() };
    let levels = ["DROPPED_BEST", "DROPPED_NORMAL", "DROPPED_MIDDLE", "DROPPED_HIGH", "DROPPED_FROZEN"];
    // The level of the quick ones depends on how busy the machine is.
    assert!(dropped("DROPPED_FROZEN") >= 1 && levels.map(dropped).iter().sum::<u64>() >= 10, "{fps:?}");

    // The frame that hangs: the open stage, by both detectors.
    let snapshots: Vec<String> = sections(&killed, SectionKind::AnrSnapshot)
        .into_iter()
        .map(|s| String::from_utf8(s).unwrap())
        .collect();
    for detector in ["detector=looper\n", "detector=sigquit\n"] {
        let hangs = |text: &&String| {
            text.starts_with(detector) && text.contains("\nstage=TRAVERSAL\n") && text.contains("AppLife")
        };
        assert!(snapshots.iter().any(|text| hangs(&text)), "{detector} {snapshots:?}");
    }
    let verdicts = sections(&killed, SectionKind::Verdict);
    assert!(verdicts.iter().any(|verdict| {
        let verdict = String::from_utf8_lossy(verdict);
        verdict.contains("verdict=anr\n") && verdict.contains("error-state-ours")
    }));
    assert!(!sections(&killed, SectionKind::StackSamples).is_empty());
    // The method that hung has a begin and no end.
    let of_main = events(&killed, main_thread(&killed));
    assert!(
        of_main.iter().any(|(_, e)| *e == Event::Enter(43))
            && !of_main.iter().any(|(_, e)| *e == Event::Exit(43))
    );

    // The system's account of its death came with the next start, once.
    let exits = sections(&killed, SectionKind::ExitInformation);
    assert_eq!(exits.len(), 1);
    let exit = String::from_utf8(exits[0].clone()).unwrap();
    for line in [
        "reason=anr",
        "trace=ours",
        "anr.getTimeoutMillis=5000",
        "anr.getAnrType=2",
        "anr.getAnrId=7",
        "anr.isUserPerceptible=true",
        "\"main\" prio=5 tid=1 Sleeping",
    ] {
        assert!(exit.lines().any(|own| own == line), "{line}: {exit}");
    }
    let push = recording("com.example.app_push-");
    assert_eq!(push.header().process_name, "com.example.app:push");
    assert_eq!(summaries(&starts(&push)), ["service  unknown"]);
    assert!(sections(&push, SectionKind::ExitInformation).is_empty());
}
