//! A stalled main thread: slow messages, LAG, ANR, samples, snapshots, reports.

use std::collections::BTreeMap;

use serde_json::Value;
use trace_format::section::{SectionKind, key_values};
use trace_format::{Event, Recording};

use test_support::android::{Case, Run, events, main_thread, recorded_issues, sections};

/// Limits that are reached soon.
pub(crate) const SOON: [&str; 3] = ["slow_ms=200", "lag_ms=300", "anr_ms=800"];

/// Options of the table, and `-DKEY=VALUE` for the JVM. Main hangs until `during` reports came, and then
/// for `ms`; `after` more come when it continues.
pub(crate) fn stuck(how: &str, name: &str, (during, ms, after): (u32, u32, u32), options: &[&str]) -> Run {
    // What reflection needs on a JVM with modules.
    let case =
        Case::new("StuckLife").named(name).jvm("--add-opens=java.base/java.lang=ALL-UNNAMED").word(how);
    let case = [during, ms, after].iter().fold(case, |case, number| case.word(&number.to_string()));
    let run = options.iter().fold(case, |case, option| match option.strip_prefix("-D") {
        Some(property) => case.property(property),
        None => case.word(option),
    });
    let run = run.run();
    assert!(run.printed.contains("all true\n"), "{}", run.printed);
    run
}

pub(crate) fn detail(issue: &Value) -> &str {
    issue["detail"].as_str().unwrap()
}

fn keys(issue: &Value) -> Vec<&str> {
    issue.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The only report of this detail.
#[track_caller]
pub(crate) fn only<'a>(issues: &'a [Value], wanted: &str) -> &'a Value {
    let mut found = issues.iter().filter(|issue| detail(issue) == wanted);
    let issue = found.next().unwrap_or_else(|| panic!("no {wanted} in {issues:#?}"));
    assert_eq!(found.count(), 0, "two of {wanted} in {issues:#?}");
    issue
}

/// Begin and end of the message that hung.
fn hung(recording: &Recording<Vec<u8>>) -> (u64, u64) {
    let mut bounds = events(recording, main_thread(recording)).into_iter().filter_map(|(time, event)| {
        matches!(event, Event::MessageBegin(_) | Event::MessageEnd).then_some(time)
    });
    (bounds.next().unwrap(), bounds.next().unwrap())
}

/// Keys and values, main's stack, and the waiting messages.
pub(crate) fn snapshot(payload: &[u8]) -> (BTreeMap<String, String>, String, String) {
    let text = String::from_utf8(payload.to_vec()).unwrap();
    let mut parts = text.splitn(3, "\n\n");
    let values = key_values(parts.next().unwrap()).map(|(key, value)| (key.to_owned(), value.to_owned()));
    (values.collect(), parts.next().unwrap().to_owned(), parts.next().unwrap_or("").to_owned())
}

const ENVELOPE: [&str; 7] = ["cpu_app", "machine", "mem", "mem_free", "process", "tag", "time"];

#[track_caller]
fn has_keys(issue: &Value, more: &[&str]) {
    let mut expected: Vec<_> = ENVELOPE.iter().chain(more).copied().collect();
    expected.sort_unstable();
    assert_eq!(keys(issue), expected);
}

#[test]
fn a_stalled_message_is_a_lag_an_anr_and_slow() {
    let run = stuck("lock", "anr", (2, 0, 1), &SOON);
    let recording = run.recording();
    let issues = run.issues();
    assert_eq!(recorded_issues(&recording), issues, "the recording has what the listener got");
    assert_eq!(issues.iter().map(detail).collect::<Vec<_>>(), ["LAG", "ANR", "NORMAL"]);
    for issue in &issues {
        assert_eq!(issue["tag"], "Trace_EvilMethod");
        assert_eq!(issue["process"], "com.example.app");
        assert_eq!(issue["scene"], "com.example.CheckoutActivity");
    }

    let lag = only(&issues, "LAG");
    has_keys(lag, &["detail", "isProcessForeground", "scene", "threadStack"]);
    let stack = lag["threadStack"].as_str().unwrap();
    assert!(stack.starts_with("at dev.anrscope.StuckLife:priceOf("), "{stack}");
    assert!(stack.contains("\nat android.os.Looper:loopOnce("), "{stack}");

    let anr = only(&issues, "ANR");
    let more = [
        "cost",
        "detail",
        "isProcessForeground",
        "memory",
        "processNice",
        "processPriority",
        "scene",
        "stack",
        "stackKey",
        "threadStack",
    ];
    has_keys(anr, &more);
    assert!(anr["cost"].as_u64().unwrap() >= 800, "{anr}");
    assert_eq!(keys(&anr["memory"]), ["dalvik_heap", "native_heap", "vm_size"]);
    assert_eq!(anr["memory"]["native_heap"], 12 << 10);
    assert!(anr["memory"]["dalvik_heap"].as_u64() > Some(0) && anr["memory"]["vm_size"].as_u64() > Some(0));
    // The message, and in it what is open: the slice ends in the middle of both calls.
    let ids: Vec<_> =
        anr["stack"].as_str().unwrap().lines().map(|l| l.split(',').collect::<Vec<_>>()).collect();
    let ids: Vec<_> = ids.iter().map(|line| (line[0], line[1])).collect();
    assert_eq!(ids, [("0", "1048574"), ("1", "200"), ("2", "201")]);
    assert_eq!(anr["stackKey"], "201|");

    let slow = only(&issues, "NORMAL");
    has_keys(slow, &["cost", "detail", "scene", "stack", "stackKey"]);
    assert!(slow["cost"].as_u64() >= anr["cost"].as_u64(), "{slow}");
    assert!(slow["stack"].as_str().unwrap().starts_with("0,1048574,1,"), "{slow}");
    let (begun, ended) = hung(&recording);
    let took_ms = (ended - begun) / 1_000_000;
    assert_eq!(slow["cost"].as_u64().unwrap(), took_ms, "the message's own length");
}

#[test]
fn both_detectors_give_the_anr_listener_what_was_known() {
    for (how, detector, listed) in [("lock", "looper", "false"), ("sigquit", "sigquit", "true")] {
        let (reports, options) = match how {
            "lock" => (2, &SOON[..]),
            _ => (1, &["slow_ms=60000", "lag_ms=0", "anr_ms=0"][..]),
        };
        let run = stuck(how, &format!("listener-{how}"), (reports, 0, 0), options);
        let only = |word: &str| -> String {
            let mut lines = run.lines(word);
            let line = lines.next().unwrap_or_else(|| panic!("no {word}: {}", run.printed)).to_owned();
            assert_eq!(lines.next(), None, "{}", run.printed);
            line
        };
        // No activity was reported.
        let is_foreground =
            run.issues().iter().find(|i| detail(i).ends_with("ANR")).unwrap()["isProcessForeground"].clone();
        assert_eq!(only("anr"), format!("{detector} BLOCKED {is_foreground} com.example.CheckoutActivity"));
        assert!(detector == "sigquit" || only("age").parse::<u64>().unwrap() >= 800, "{}", run.printed);
        assert!(only("message").contains("StuckLife$Pay"), "{}", run.printed);
        assert_eq!((only("thread"), only("memory")), ("anrscope-reports".into(), "true".into()));
        assert!(
            only("stack").starts_with("dev.anrscope.StuckLife.priceOf(StuckLife.java:"),
            "{}",
            run.printed
        );
        // The waiting message is due in ten minutes.
        let head = only("head");
        let (when, message) = head.split_once(' ').unwrap();
        assert!(
            (500_000..=600_000).contains(&when.parse::<i64>().unwrap()) && message.contains("what=77"),
            "{head}"
        );
        assert_eq!(only("listed"), listed);
        assert!(only("cgroup").starts_with("0::") || only("cgroup").contains(':'), "{}", run.printed);
    }
}

#[test]
fn a_slow_messages_slice_is_complete_where_java_writes_the_methods_itself() {
    let run = stuck(
        "lock",
        "coarse",
        (0, 400, 1),
        &["-Danrscope.clock=coarse", "slow_ms=200", "lag_ms=0", "anr_ms=0"],
    );
    let issues = run.issues();
    let slow = only(&issues, "NORMAL");
    let lines =
        slow["stack"].as_str().unwrap().lines().map(|line| line.split(',').take(3).collect::<Vec<_>>());
    assert_eq!(lines.collect::<Vec<_>>(), [["0", "1048574", "1"], ["1", "200", "1"], ["2", "201", "1"]]);
    let (begun, ended) = hung(&run.recording());
    assert_eq!(slow["cost"].as_u64().unwrap(), (ended - begun) / 1_000_000);
}

#[test]
fn the_snapshot_has_what_was_known_when_the_anr_was_found() {
    let run = stuck("lock", "snapshot", (2, 0, 0), &[&SOON[1..], &["slow_ms=60000", "log=1"]].concat());
    let recording = run.recording();
    let (begun, ended) = hung(&recording);
    let snapshots = sections(&recording, SectionKind::AnrSnapshot);
    assert_eq!(snapshots.len(), 1);
    let (values, stack, pending) = snapshot(&snapshots[0]);
    let number = |key: &str| values[key].parse::<u64>().unwrap_or_else(|_| panic!("{key} in {values:?}"));
    assert_eq!(values["detector"], "looper");
    assert_eq!(number("message_since"), begun);
    assert!(number("at") - begun >= 800_000_000 && number("at") < ended, "{values:?}");
    assert!(number("age_ns") >= 800_000_000, "{values:?}");
    assert_eq!(
        (values["state"].as_str(), values["scene"].as_str()),
        ("BLOCKED", "com.example.CheckoutActivity")
    );
    assert!(number("vm_kib") > 0 && number("dalvik_kib") > 0 && number("native_kib") == 12 << 10);
    assert!(!values.contains_key("stage"), "no frame was open: {values:?}");
    assert!(stack.starts_with("dev.anrscope.StuckLife.priceOf(StuckLife.java:"), "{stack}");
    assert!(pending.contains("what=77") && pending.contains("(Total messages: 1,"), "{pending}");
    // Main's CPU time was sampled too.
    let service = events(&recording, recording.service().unwrap());
    assert!(service.iter().any(|(_, event)| matches!(event, Event::Usage(_))));
    // And the log has the block.
    let log: Vec<_> = run.lines("log").collect();
    let at = log.iter().position(|line| line.contains("maybe happens ANR(")).expect("the block");
    assert!(log[at..].contains(&"W/anrscope: |*\t\tState: BLOCKED"), "{log:#?}");
    let messages = log.iter().position(|line| *line == "W/anrscope: |* [Messages]").expect("the history");
    assert!(log[messages + 1].ends_with(" open}"), "the message that hangs: {log:#?}");
    assert!(log.iter().any(|line| line.starts_with("E/anrscope: the listener threw")), "{log:#?}");
}

#[test]
fn main_is_sampled_only_while_it_is_stalled() {
    let run = stuck(
        "lock",
        "samples",
        (2, 2_000, 0),
        &["slow_ms=60000", "lag_ms=300", "anr_ms=900", "sample_ms=50"],
    );
    let recording = run.recording();
    let (begun, ended) = hung(&recording);
    let mut times = Vec::new();
    for section in sections(&recording, SectionKind::StackSamples) {
        let text = String::from_utf8(section).unwrap();
        let mut first = true;
        for line in text.lines() {
            if let Some(head) = line.strip_prefix('@') {
                let (time, keep) = head.split_once(' ').unwrap();
                times.push(time.parse::<u64>().unwrap());
                assert!(!first || keep == "0", "{text}");
                first = false;
            } else {
                assert!(line.ends_with(')') && line.contains('('), "{line}");
            }
        }
        assert!(text.contains("dev.anrscope.StuckLife.priceOf(StuckLife.java:"), "{text}");
    }
    assert!(times.len() >= 2, "{times:?}");
    assert!(times.is_sorted() && times.iter().all(|time| (begun..ended).contains(time)), "{times:?}");
    assert!(times[0] - begun >= 300_000_000, "not before it is suspect");
}

#[test]
fn a_long_message_is_sampled_without_a_report() {
    for (from_ms, option) in [(300, "sample_ms=66"), (700, "sample_from_ms=700")] {
        let options = ["slow_ms=60000", "lag_ms=0", "anr_ms=0", option];
        let run = stuck("lock", "long", (0, 2_500, 0), &options);
        let recording = run.recording();
        let (begun, _) = hung(&recording);
        let sections = sections(&recording, SectionKind::StackSamples);
        let text: String = sections.into_iter().map(|section| String::from_utf8(section).unwrap()).collect();
        assert!(text.contains("dev.anrscope.StuckLife.priceOf(StuckLife.java:"), "{text}");
        let at = |line: &str| line.strip_prefix('@')?.split(' ').next()?.parse::<u64>().ok();
        let first = text.lines().find_map(at).unwrap();
        assert!(first - begun >= from_ms * 1_000_000, "{text}");
        assert_eq!(recorded_issues(&recording), [Value::Null; 0]);
    }
}

#[test]
fn a_debugger_and_a_dying_process_suppress_lags() {
    for how in ["debugger", "dying"] {
        // Only the slow message is reported.
        let run = stuck(how, how, (0, 1_500, 1), &SOON);
        assert_eq!(run.issues().iter().map(detail).collect::<Vec<_>>(), ["NORMAL"], "{how}");
        assert_eq!(recorded_issues(&run.recording()).len(), 1);
    }
}

#[test]
fn without_a_sampler_reports_come_without_a_stack() {
    let run = stuck("without", "without", (2, 0, 1), &SOON);
    let issues = run.issues();
    assert_eq!(only(&issues, "LAG")["threadStack"], "");
    assert_eq!(only(&issues, "ANR")["stackKey"], "201|");
    assert!(sections(&run.recording(), SectionKind::StackSamples).is_empty());
}

/// Begin and end of the method that hung.
fn hung_call(recording: &Recording<Vec<u8>>) -> (u64, u64) {
    let all = events(recording, main_thread(recording));
    let at = |wanted: Event| all.iter().find(|(_, event)| *event == wanted).unwrap().0;
    (at(Event::Enter(200)), at(Event::Exit(200)))
}

#[test]
fn without_a_printer_mains_outermost_calls_stand_for_its_messages() {
    let run = stuck("lock", "no-printer", (2, 0, 1), &[&SOON[..], &["printer=0", "log=1"]].concat());
    let recording = run.recording();
    let issues = run.issues();
    assert_eq!(issues.iter().map(detail).collect::<Vec<_>>(), ["LAG", "ANR", "NORMAL"]);
    let all = events(&recording, main_thread(&recording));
    assert!(!all.iter().any(|(_, event)| matches!(event, Event::MessageBegin(_))), "no message was reported");
    let lag = only(&issues, "LAG")["threadStack"].as_str().unwrap();
    assert!(lag.starts_with("at dev.anrscope.StuckLife:priceOf("), "{lag}");
    for kind in ["ANR", "NORMAL"] {
        let issue = only(&issues, kind);
        let lines = issue["stack"].as_str().unwrap().lines();
        let ids: Vec<Vec<&str>> = lines.map(|line| line.split(',').take(3).collect()).collect();
        assert_eq!(ids, [["0", "200", "1"], ["1", "201", "1"]], "{issue}");
        assert_eq!(issue["stackKey"], "201|");
    }
    let (begun, ended) = hung_call(&recording);
    assert_eq!(only(&issues, "NORMAL")["cost"].as_u64().unwrap(), (ended - begun) / 1_000_000);
    let snapshots = sections(&recording, SectionKind::AnrSnapshot);
    let (values, stack, _) = snapshot(&snapshots[0]);
    assert_eq!((snapshots.len(), values["message"].as_str()), (1, "method 200"));
    assert_eq!(values["message_since"].parse::<u64>().unwrap(), begun);
    assert!(values["age_ns"].parse::<u64>().unwrap() >= 800_000_000, "{values:?}");
    assert!(stack.starts_with("dev.anrscope.StuckLife.priceOf("), "{stack}");
    let log: Vec<_> = run.lines("log").collect();
    let messages = log.iter().position(|line| *line == "W/anrscope: |* [Messages]").expect("the history");
    assert!(log[messages + 1].starts_with("W/anrscope: {method 200 -> "), "{log:#?}");
    assert!(log[messages + 1].ends_with(" open}"), "{log:#?}");
}

#[test]
fn without_a_printer_only_slow_calls_are_reported_where_java_writes_them_itself() {
    let limits = ["-Danrscope.clock=coarse", "slow_ms=200", "lag_ms=0", "anr_ms=0", "printer=0"];
    let run = stuck("lock", "no-printer-coarse", (0, 400, 1), &limits);
    assert_eq!(only(&run.issues(), "NORMAL")["stackKey"], "201|");
    let off = ["slow_ms=60000", "lag_ms=0", "anr_ms=0", "sample_ms=0", "printer=0"];
    let run = stuck("lock", "no-printer-off", (0, 400, 0), &off);
    assert_eq!(recorded_issues(&run.recording()), [Value::Null; 0]);
}

#[test]
fn below_the_threshold_or_switched_off_nothing_is_reported() {
    let run = stuck("lock", "off", (0, 1_000, 0), &["slow_ms=60000", "lag_ms=0", "anr_ms=0", "sample_ms=0"]);
    assert_eq!(recorded_issues(&run.recording()), [Value::Null; 0]);
    let run =
        stuck("lock", "flags", (0, 1_000, 0), &["slow=0", "anr=0", "slow_ms=1", "lag_ms=100", "anr_ms=200"]);
    let recording = run.recording();
    assert_eq!(recorded_issues(&recording), [Value::Null; 0]);
    assert!(sections(&recording, SectionKind::AnrSnapshot).is_empty());
    assert!(sections(&recording, SectionKind::StackSamples).is_empty());
}

#[test]
fn an_anr_by_its_signal_has_a_snapshot_and_a_report() {
    // Sent by root: the system's list makes it certain.
    let options = ["slow_ms=60000", "lag_ms=0", "anr_ms=0"];
    let run = stuck("sigquit", "sigquit", (1, 0, 0), &options);
    let issues = run.issues();
    let signal = only(&issues, "SIGNAL_ANR");
    has_keys(signal, &["detail", "isProcessForeground", "scene", "threadStack"]);
    assert!(signal["threadStack"].as_str().unwrap().starts_with("at dev.anrscope.StuckLife:priceOf("));
    let recording = run.recording();
    let snapshots = sections(&recording, SectionKind::AnrSnapshot);
    assert_eq!(snapshots.len(), 1);
    let (values, _, _) = snapshot(&snapshots[0]);
    assert_eq!((values["detector"].as_str(), values["verdict"].as_str()), ("sigquit", "anr"));
    assert_eq!(values["message_since"].parse::<u64>().unwrap(), hung(&recording).0);
    assert_eq!(values["state"], "BLOCKED");
}
