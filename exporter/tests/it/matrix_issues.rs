//! Matrix's reports from a recording: envelope, tags, keys, types, stack lines and keys.

use std::path::Path;

use exporter::matrix::{IssueOptions, issues};
use proptest::prelude::*;
use serde_json::{Value, json};
use test_support::recordings::{MS, S, clocks, map, sigquit, stalled};
use trace_format::event::{Frame, FrameMetrics, Message, Stage, Stall};
use trace_format::section::SectionKind;
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::{Event, Recording, ids};
use trace_rules::Rules;

fn lines(builder: RecordingBuilder, options: &IssueOptions) -> Vec<String> {
    let recording = Recording::open(builder.build()).unwrap();
    issues(Path::new("a.anrscope"), &recording, &map(), options).unwrap().lines
}

fn issues_of(builder: RecordingBuilder, rules: Option<Rules>) -> Vec<Value> {
    let options = IssueOptions { rules, ..IssueOptions::default() };
    lines(builder, &options).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// One report by its detail or, where it has none, its tag.
fn one<'a>(issues: &'a [Value], what: &str) -> &'a Value {
    let mut found =
        issues.iter().filter(|i| i["detail"] == what || (i["detail"].is_null() && i["tag"] == what));
    let issue = found.next().unwrap_or_else(|| panic!("no {what} in {issues:#?}"));
    assert!(found.next().is_none(), "two of {what} in {issues:#?}");
    issue
}

/// The keys in order and their types: `cost:i scene:s`.
fn form(issue: &Value) -> String {
    let mut keys: Vec<String> = issue
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| {
            let kind = match value {
                Value::String(_) => "s",
                Value::Bool(_) => "b",
                Value::Object(_) => "o",
                Value::Number(n) if n.is_f64() => "f",
                Value::Number(_) => "i",
                _ => "?",
            };
            format!("{key}:{kind}")
        })
        .collect();
    keys.sort();
    keys.join(" ")
}

const ENVELOPE: &str = "cpu_app:f machine:s mem:i mem_free:i process:s tag:s time:i";

#[track_caller]
fn assert_form(issue: &Value, own: &str) {
    let mut expected: Vec<&str> = ENVELOPE.split(' ').chain(own.split(' ')).collect();
    expected.sort_unstable();
    assert_eq!(form(issue), expected.join(" "), "{issue:#}");
    assert_eq!(
        (&issue["machine"], &issue["mem"], &issue["cpu_app"]),
        (&json!("UN_KNOW"), &json!(-1), &json!(0.0))
    );
    assert_eq!(issue["process"], "com.example.app");
}

/// A page that is slow to start, shows frames, has a slow message and then hangs for 7 s.
fn app() -> RecordingBuilder {
    let start = 100 * S;
    let mut b = RecordingBuilder::new(4242, "com.example.app").map_id(map().map_id()).start(clocks(start));
    let page = b.text("com.example.Main");
    let handler = b.text("android.os.Handler");
    let message = |what| Event::MessageBegin(Message { target: handler, what, ..Message::default() });
    let snapshot = format!(
        "detector=looper\nat={}\nmessage_since={}\nforeground=1\nscene=com.example.Main\npriority=20\nnice=-10\n\
         dalvik_kib=2048\nnative_kib=4096\nvm_kib=1000000\n\ncom.example.Sync.save(Sync.java:31)\n\
         com.example.Main.onClick(Main.java:9)\nandroid.os.Looper.loop(Looper.java:288)\n\
         android.app.ActivityThread.main(ActivityThread.java:7842)\n\n",
        123 * S + 2 * MS,
        118 * S
    );
    let cold =
        format!("kind=cold\nbegin={}\napplication_end={}\nend={}\n", start, start + 400 * MS, start + 11 * S);
    let page_shown = format!("kind=page\nactivity=com.example.Main\nbegin={start}\nend={}\n", start + S);
    b.main("main", |t| {
        t.event(start + S, message(1)).enter(start + S, 1).exit(start + 2_900 * MS, 1);
        t.event(start + 2_900 * MS, Event::MessageEnd).event(start + 4 * S, Event::Focus(page, true));
        frames(t, start + 5 * S, 30);
        // 699 ms are not slow, 700 are.
        t.enter(112 * S, ids::DISPATCH).exit(112 * S + 699_999_999, ids::DISPATCH);
        t.event(113 * S, message(7)).enter(113 * S + 3 * MS, 5).exit(113 * S + 650 * MS, 5);
        t.event(113 * S + 700 * MS, Event::MessageEnd);
        t.event(118 * S, message(9)).enter(118 * S, 1).enter(118 * S + MS, 2);
        t.exit(125 * S, 2).exit(125 * S, 1).event(125 * S, Event::MessageEnd);
    })
    .service(|t| {
        t.event(123 * S + MS, Event::Stall(Stall { stuck_since: 118 * S }))
            .event(123 * S + 500 * MS, Event::Sigquit(sigquit(123 * S + 500 * MS, 118 * S)));
    })
    .section(SectionKind::AnrSnapshot, snapshot.as_bytes())
    .section(SectionKind::Startup, cold.as_bytes())
    .section(SectionKind::Startup, page_shown.as_bytes())
}

fn frames(t: &mut ThreadBuilder, from: u64, count: u64) {
    for i in 0..count {
        let at = from + i * 16_666_667;
        t.event(at, Event::MessageBegin(Message::default()))
            .event(
                at,
                Event::FrameBegin(Frame { vsync: i, intended: at, interval: 16_666_667, ..Frame::default() }),
            )
            .stage(Stage::Input, at, at + MS)
            .stage(Stage::Traversal, at + 2 * MS, at + 6 * MS)
            .event(at + 6 * MS, Event::FrameEnd)
            .event(at + 6 * MS, Event::MessageEnd);
    }
}

#[test]
fn every_report_of_a_recording_has_matrix_keys_types_and_tags() {
    let issues = issues_of(app(), None);
    let epoch = 1_700_000_000_000_u64;

    // Two messages were slow; the hang was slow too, once it ended.
    let slow: Vec<&Value> = issues.iter().filter(|i| i["detail"] == "NORMAL").collect();
    let [first, second, hang] = slow[..] else { panic!("{issues:#?}") };
    for issue in [first, second, hang] {
        assert_form(issue, "cost:i detail:s scene:s stack:s stackKey:s");
        assert_eq!(issue["tag"], "Trace_EvilMethod");
    }
    assert_eq!((&first["cost"], &first["scene"]), (&json!(1900), &json!("")));
    assert_eq!((&second["cost"], &second["scene"]), (&json!(700), &json!("com.example.Main")));
    assert_eq!(
        (&second["stack"], &second["stackKey"]),
        (&json!("0,1048574,1,700\n1,5,1,647\n"), &json!("5|"))
    );
    assert_eq!(second["time"], json!(epoch + 113_700));
    assert_eq!((&hang["cost"], &hang["stackKey"]), (&json!(7000), &json!("2|")));

    let anr = one(&issues, "ANR");
    assert_form(
        anr,
        "cost:i detail:s isProcessForeground:b memory:o processNice:i processPriority:i scene:s stack:s stackKey:s \
         threadStack:s",
    );
    // Detected by the app's timer, and cut there.
    assert_eq!(
        (&anr["cost"], &anr["stack"]),
        (&json!(5002), &json!("0,1048574,1,5002\n1,1,1,5002\n2,2,1,5001\n"))
    );
    assert_eq!((&anr["processPriority"], &anr["processNice"]), (&json!(20), &json!(-10)));
    assert_eq!(anr["memory"], json!({"dalvik_heap": 2048, "native_heap": 4096, "vm_size": 1_000_000}));
    assert_eq!((&anr["isProcessForeground"], &anr["time"]), (&json!(true), &json!(epoch + 123_002)));
    let java = anr["threadStack"].as_str().unwrap();
    assert!(
        java.starts_with(" \n|*\t\tat com.example.Sync:save(31)\n|*\t\tat com.example.Main:onClick(9)\n"),
        "{java}"
    );

    let lag = one(&issues, "LAG");
    assert_form(lag, "detail:s isProcessForeground:b scene:s threadStack:s");
    assert_eq!(lag["time"], json!(epoch + 120_000));

    let signal = one(&issues, "SIGNAL_ANR");
    assert_form(signal, "detail:s isProcessForeground:b scene:s threadStack:s");
    assert_eq!(signal["time"], json!(epoch + 123_500));
    assert!(signal["threadStack"].as_str().unwrap().contains("at com.example.Sync:save(31)\n"));

    let start = one(&issues, "Trace_StartUp");
    assert_form(
        start,
        "application_create:i application_create_scene:i first_activity_create:i is_warm_start_up:b startup_duration:i",
    );
    assert_eq!((&start["application_create"], &start["startup_duration"]), (&json!(400), &json!(11000)));
    let slow_start = one(&issues, "STARTUP");
    assert_form(slow_start, "cost:i detail:s stack:s stackKey:s subType:i");
    assert_eq!((&slow_start["subType"], &slow_start["stackKey"]), (&json!(1), &json!("1048574|")));
    assert!(
        slow_start["stack"].as_str().unwrap().starts_with("0,1048574,1,1900\n1,1,1,1900\n"),
        "{slow_start}"
    );

    let fps = one(&issues, "Trace_FPS");
    assert_form(fps, "dropLevel:o dropSum:o fps:f scene:s");
    assert_eq!((&fps["scene"], &fps["dropLevel"]["DROPPED_BEST"]), (&json!("com.example.Main"), &json!(30)));
    assert!((fps["fps"].as_f64().unwrap() - 60.0).abs() < 0.6, "{fps}");
    let order: Vec<u64> = issues.iter().map(|i| i["time"].as_u64().unwrap()).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(issues.len(), 9);
}

#[test]
fn frame_metrics_of_the_system_are_reported_as_means() {
    let mut b = RecordingBuilder::new(4242, "com.example.app").map_id(map().map_id()).start(clocks(100 * S));
    let (page, next) = (b.text("com.example.Main"), b.text("com.example.Next"));
    let metrics = |i: u64, gpu| FrameMetrics {
        intended: 100 * S + i * 16_666_667,
        vsync: 100 * S + i * 16_666_667,
        delay: MS,
        input: MS,
        layout: 3 * MS,
        draw: 2 * MS,
        total: 9 * MS,
        gpu,
        ..FrameMetrics::default()
    };
    let b = b
        .main("main", |t| {
            t.event(100 * S, Event::Focus(page, true));
            frames(t, 100 * S, 10);
            t.event(101 * S, Event::Focus(next, true));
        })
        .thread("FrameMetrics", 4250, |t| {
            for i in 0..80 {
                let m = metrics(i, if i == 3 { MS } else { 0 });
                t.event(m.intended + 20 * MS, Event::FrameMetrics(m));
            }
        });
    let issues = issues_of(b, None);
    let [first, second] = &issues[..] else { panic!("{issues:#?}") };
    assert_eq!((&first["scene"], &second["scene"]), (&json!("com.example.Main"), &json!("com.example.Next")));
    assert_form(
        first,
        "ANIMATION_DURATION:i COMMAND_ISSUE_DURATION:i DRAW_DURATION:i DROP_COUNT:i GPU_DURATION:i \
         INPUT_HANDLING_DURATION:i LAYOUT_MEASURE_DURATION:i REFRESH_RATE:i SWAP_BUFFERS_DURATION:i SYNC_DURATION:i \
         TOTAL_DURATION:i UNKNOWN_DELAY_DURATION:i dropLevel:o dropSum:o fps:f scene:s",
    );
    assert_eq!((&first["LAYOUT_MEASURE_DURATION"], &first["REFRESH_RATE"]), (&json!(3_000_000), &json!(60)));
}

#[test]
fn matrix_rules_apply_matrix_limits() {
    let issues = issues_of(app(), Some(Rules::Matrix));
    let anr = one(&issues, "ANR");
    assert_eq!(anr["cost"], 5002);
    // Its simple style lacks the three innermost frames, and there are only four.
    assert_eq!(anr["threadStack"], " \n");
    assert_eq!(one(&issues, "LAG")["scene"], "com.example.Main");
    // Thirty frames are more than twenty.
    assert_eq!(one(&issues, "Trace_FPS")["scene"], "com.example.Main");

    // The timer ran a second late, as it does without a Printer: then Matrix reports nothing.
    let late = stalled()
        .section(SectionKind::AnrSnapshot, b"detector=looper\nat=108000000000\nmessage_since=102000000000\n");
    assert!(issues_of(late, Some(Rules::Matrix)).iter().all(|i| i["detail"] != "ANR"));
    let late = stalled()
        .section(SectionKind::AnrSnapshot, b"detector=looper\nat=108000000000\nmessage_since=102000000000\n");
    assert_eq!(one(&issues_of(late, None), "ANR")["cost"], 6000);
}

#[test]
fn a_hang_that_never_ended_is_a_lag_and_an_anr_and_no_slow_message() {
    let issues = issues_of(stalled(), None);
    let details: Vec<_> = issues.iter().map(|i| i["detail"].as_str().unwrap_or("FPS")).collect();
    assert_eq!(details, ["FPS", "LAG", "ANR", "SIGNAL_ANR"], "{issues:#?}");
    // No stack was taken: the recorded methods stand for it.
    let stack = one(&issues, "LAG")["threadStack"].as_str().unwrap().to_owned();
    assert_eq!(stack, "at com.example.Sync:save(-1)\nat com.example.Main:onClick(-1)\n");
}

#[test]
fn reports_of_the_app_are_returned_unchanged_unless_rules_are_requested() {
    let issue = |at: u64, json: &str| [&at.to_le_bytes()[..], json.as_bytes()].concat();
    let with = || {
        app()
            .section(SectionKind::Issue, &issue(9, "{\"tag\":\"Trace_FPS\",\"x\":[1, 2]}"))
            .section(SectionKind::Issue, &issue(8, "{\"tag\":\"own\"}"))
    };
    let own = lines(with(), &IssueOptions::default());
    assert_eq!(own, ["{\"tag\":\"own\"}", "{\"tag\":\"Trace_FPS\",\"x\":[1, 2]}"]);
    assert_eq!(issues_of(with(), Some(Rules::Anrscope)).len(), 9);
}

#[test]
fn thresholds_and_lines_can_be_chosen() {
    let slow = |slow_ms, lines_kept| {
        let options = IssueOptions { slow_ms, lines: lines_kept, ..IssueOptions::default() };
        let found = lines(app(), &options);
        let slow: Vec<Value> = found.iter().map(|l| serde_json::from_str(l).unwrap()).collect();
        let slow = slow.into_iter().filter(|i: &Value| i["detail"] == "NORMAL");
        slow.map(|i| i["stack"].as_str().unwrap().lines().count()).collect::<Vec<_>>()
    };
    assert_eq!(slow(699, 30), [2, 1, 2, 3]);
    assert_eq!(slow(1_901, 30), [3]);
    assert_eq!(slow(1_901, 1), [1]);
}

#[test]
fn an_idle_handler_that_takes_two_seconds_is_a_lag_of_its_own_kind() {
    let mut b = RecordingBuilder::new(4242, "com.example.app").start(clocks(100 * S));
    let class = b.text("com.example.Idle");
    let b = b.main("main", |t| {
        t.event(101 * S, Event::IdleBegin(class)).enter(101 * S, 3);
        t.exit(104 * S, 3).event(104 * S, Event::IdleEnd);
    });
    let issues = issues_of(b, None);
    assert_eq!(one(&issues, "LAG_IDLE_HANDLER")["tag"], "Trace_EvilMethod");
    assert_eq!(issues.len(), 1);
}

fn event() -> impl Strategy<Value = Event> {
    let id = prop_oneof![Just(ids::DISPATCH), 1..9_u32];
    prop_oneof![
        id.clone().prop_map(Event::Enter),
        id.prop_map(Event::Exit),
        Just(Event::MessageBegin(Message::default())),
        Just(Event::MessageEnd),
        Just(Event::IdleBegin(trace_format::TextId(1))),
        Just(Event::IdleEnd),
        Just(Event::FrameBegin(Frame { intended: 5, interval: 1, ..Frame::default() })),
        Just(Event::FrameEnd),
        Just(Event::StageBegin(Stage::Input)),
        Just(Event::StageEnd(Stage::Input)),
        any::<[u64; 2]>().prop_map(|[total, intended]| Event::FrameMetrics(FrameMetrics {
            total,
            intended,
            ..FrameMetrics::default()
        })),
    ]
}

proptest! {
    #[test]
    fn any_events_give_reports_that_are_json(
        events in proptest::collection::vec((0..8_000 * MS, event()), 0..60),
        matrix: bool,
    ) {
        let b = RecordingBuilder::new(1, "p").main("main", |t| {
            let mut at = S;
            for (gap, event) in events {
                at += gap;
                t.event(at, event);
            }
        });
        let rules = if matrix { Rules::Matrix } else { Rules::Anrscope };
        for issue in issues_of(b, Some(rules)) {
            prop_assert!(issue["tag"].is_string() && issue["time"].is_i64(), "{}", issue);
        }
    }
}
