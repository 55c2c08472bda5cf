//! Options that no other test of the shims covers: each test checks what one changes.
//! `tests/configuration.rs` checks that every key is tested somewhere.

use serde_json::Value;
use trace_format::event::Clocks;
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;

use super::app::{kept, starts, summaries};
use super::stall::{SOON, detail, only, stuck};
use test_support::android::lifetime::app_recordings;
use test_support::android::{Case, recorded_issues, sections};

fn details(issues: &[Value]) -> Vec<&str> {
    issues.iter().map(detail).collect()
}

#[test]
fn priority_and_timer_slack_are_reported_when_a_message_changed_them() {
    let run = |name: &str, sdk: u32, words: &[&str]| {
        let case = Case::new("AppTuning").named(&format!("{name}-{sdk}")).sdk(sdk);
        recorded_issues(&words.iter().fold(case, |case, word| case.word(word)).run().recording())
    };
    for sdk in [21, 36] {
        let issues = run("changed", sdk, &["19", "60000"]);
        let tuned: Vec<_> = issues.iter().filter(|issue| detail(issue).ends_with("_MODIFIED")).collect();
        assert_eq!(tuned.len(), 2, "once: {issues:#?}");
        assert_eq!((detail(tuned[0]), &tuned[0]["processPriority"]), ("PRIORITY_MODIFIED", &Value::from(19)));
        let slack = &tuned[1]["processTimerSlack"];
        assert_eq!((detail(tuned[1]), slack), ("TIMERSLACK_MODIFIED", &Value::from(60_000)));
        assert!(tuned.iter().all(|issue| issue["threadStack"].is_string()), "{tuned:?}");
    }
    // 50,000 ns is the kernel's own; another limit; and off.
    let modified =
        |issues: &[Value]| issues.iter().filter(|issue| detail(issue).ends_with("_MODIFIED")).count();
    assert_eq!(modified(&run("below", 34, &["same", "49999"])), 0);
    assert_eq!(modified(&run("limit", 34, &["same", "49999", "slack_ns=40000"])), 1);
    assert_eq!(modified(&run("off", 34, &["19", "60000", "tuning=0"])), 0);
}

#[test]
fn options_switch_sigquit_reports_off_and_matrixs_policy_on() {
    let never = ["slow_ms=60000", "lag_ms=0", "anr_ms=0"];
    let run = stuck("sigquit", "no-signal-anr", (0, 4_000, 0), &[&never[..], &["signal_anr=0"]].concat());
    assert_eq!(recorded_issues(&run.recording()), [Value::Null; 0]);
    assert_eq!(sections(&run.recording(), SectionKind::AnrSnapshot).len(), 1, "it is in the recording");
    let run = stuck("sigquit", "policy", (1, 0, 0), &[&never[..], &["policy=1"]].concat());
    let verdicts = sections(&run.recording(), SectionKind::Verdict);
    let text = |verdict: &Vec<u8>| String::from_utf8_lossy(verdict).into_owned();
    assert!(verdicts.iter().all(|verdict| text(verdict).contains("policy=matrix\n")), "{verdicts:?}");
    assert!(!verdicts.is_empty());
}

#[test]
fn options_drop_a_late_anr_and_set_the_lines_and_style_of_stacks() {
    let run = stuck("lock", "too-late", (1, 1_500, 1), &[&SOON[..], &["anr_too_late_ms=100"]].concat());
    assert_eq!(details(&run.issues()), ["LAG", "NORMAL"]);
    let run = stuck("lock", "style", (2, 0, 0), &[&SOON[..], &["stack_lines=1", "stack_style=2"]].concat());
    let issues = run.issues();
    let anr = only(&issues, "ANR");
    assert_eq!(anr["stack"].as_str().unwrap().lines().count(), 1, "{anr}");
    assert!(
        anr["threadStack"].as_str().unwrap().starts_with("dev.anrscope.StuckLife.priceOf(StuckLife.java:")
    );
    // The slow message's report comes after the block of the ANR.
    let run = stuck("lock", "no-history", (2, 0, 1), &[&SOON[..], &["log=1", "history=0"]].concat());
    assert!(run.printed.contains("maybe happens ANR(") && !run.printed.contains("|* [Messages]"));
}

#[test]
fn limits_of_starts_are_options() {
    let older = |name: &str, words: &[&str]| {
        let case = Case::new("AppMatrix04").named(name);
        recorded_issues(&words.iter().fold(case, |case, word| case.word(word)).run().recording())
    };
    let startup = |issues: &[Value]| issues.iter().filter(|issue| issue["detail"] == "STARTUP").count();
    assert_eq!(startup(&older("cold-default", &[])), 0);
    assert_eq!(startup(&older("cold-limit", &["cold_ms=1000"])), 1);
    // A page that took that long is dropped, and the start with it.
    let dropped = older("page-limit", &["page_ms=3000"]);
    assert!(!dropped.iter().any(|issue| issue["tag"] == "Trace_StartUp"), "{dropped:?}");
    let run = Case::new("AppStarts").named("good-hot").word("again").word("good_hot_ms=5000").run();
    assert!(summaries(&starts(&run.recording())).contains(&"hot Home good".to_owned()));
}

#[test]
fn options_limit_old_recordings_and_the_share_of_installs() {
    let count = |name: &str| {
        let directory = Case::new("AppOff").named(name).directory().join("user/0/com.example.app");
        app_recordings(&directory).len()
    };
    // The one that is being written does not count.
    for (name, option, left) in [("keep-two", "keep_recordings=2", 3), ("keep-kib", "keep_kib=1024", 1)] {
        for start in 0..4 {
            kept(name, &["none", "on", option], start == 0);
        }
        assert_eq!(count(name), left, "{option}");
    }
    let old = Clocks { boottime: 1, monotonic: 1, realtime: 1_600_000_000_000_000_000 };
    for (name, option, left) in [("keep-day", "keep_days=3650", 3), ("keep-days", "keep_days=1", 2)] {
        kept(name, &["none", "on"], true);
        let directory =
            Case::new("AppOff").named(name).directory().join("user/0/com.example.app/no_backup/anrscope");
        let recording = RecordingBuilder::new(7, "com.example.app").start(old).build();
        std::fs::write(directory.join("of-2020.anrscope"), recording).unwrap();
        kept(name, &["none", "on", option], false);
        assert_eq!(count(name), left, "{option}");
    }
    let run = kept("none-of-all", &["none", "refused", "installs_per_mille=0"], true);
    assert_eq!(run.printed, "at once true\nrecording false\n");
}

#[test]
fn optional_tracers_start_and_stop_while_the_app_runs() {
    for (word, kept) in [("density", true), ("without", false)] {
        let run = Case::new("AppTracers").named(word).word(word).run();
        assert_eq!(run.printed, format!("kept {kept}\nshown false\nshown false\n"));
    }
}

#[test]
fn methods_over_the_overhead_limit_are_switched_off_and_the_recording_names_them() {
    let off = |max: &str| {
        let run = Case::new("OverheadLife").named(&format!("overhead-{max}")).word(max).run();
        let recording = run.recording();
        let reported: Vec<String> = recording
            .sections()
            .iter()
            .filter(|section| section.kind == Some(SectionKind::Overhead))
            .map(|section| String::from_utf8(recording.payload(section).unwrap().unwrap()).unwrap())
            .collect();
        let lines: Vec<Vec<String>> =
            reported.concat().lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect();
        assert!(lines.iter().any(|line| line[1] == "cost" && line.len() == 5), "{lines:?}");
        let off: Vec<String> =
            lines.into_iter().filter(|line| line[1] == "off").map(|line| line[2].clone()).collect();
        off
    };
    assert_eq!(off("1").first().map(String::as_str), Some("301"));
    assert_eq!(off("0"), Vec::<String>::new());
}
