//! The app's side: starts, pages, foreground, idle handlers, touch, options, and the life of an app.

use std::collections::BTreeMap;

use serde_json::Value;
use trace_format::Recording;
use trace_format::section::{SectionKind, key_values};

use crate::harness::{Case, Run, recorded_issues, sections};

type Lines = BTreeMap<String, String>;

/// The sections `Startup`, in order.
fn starts(recording: &Recording<Vec<u8>>) -> Vec<Lines> {
    let lines = |payload: Vec<u8>| {
        let text = String::from_utf8(payload).unwrap();
        key_values(&text).map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    sections(recording, SectionKind::Startup).into_iter().map(lines).collect()
}

/// Kind, class without its package, grade.
fn told(starts: &[Lines]) -> Vec<String> {
    let class = |start: &Lines| start["activity"].rsplit('$').next().unwrap().to_owned();
    starts.iter().map(|start| [&start["kind"], &*class(start), &start["grade"]].join(" ")).collect()
}

fn ns(start: &Lines, key: &str) -> u64 {
    start[key].parse().unwrap()
}

/// How long from one key to another, ms.
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
fn item_30_a_cold_start_and_its_page_on_every_system() {
    // The launch's message is 100, then a transaction whose entries are under two names.
    for (sdk, scene) in [(23, 100), (28, 159), (34, 159), (36, 159)] {
        let run = start("cold", sdk);
        assert_eq!(run.printed, "created 1\n", "{sdk}");
        let recording = run.recording();
        let starts = starts(&recording);
        assert_eq!(told(&starts), ["page Home unknown", "cold Home good"], "{sdk}");
        let cold = &starts[1];
        // 400 ms to the launch, 100 more to the focus; what the JVM took before them is real.
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
fn item_30_where_messages_are_denied_the_first_create_ends_the_application() {
    let recording = start("denied", 34).recording();
    assert_eq!(told(&starts(&recording)), ["page Home unknown", "cold Home good"]);
    assert_eq!(issues(&recording, "Trace_StartUp")[0]["application_create_scene"], 0);
}

#[test]
fn item_30_a_splash_page_and_a_chosen_end_page() {
    let recording = start("splash", 34).recording();
    let with_splash = starts(&recording);
    let expected = ["page Splash unknown", "page Home unknown", "cold Home good"];
    assert_eq!(told(&with_splash), expected);
    assert!(ms(&with_splash[2], "application_end", "splash_end") >= 600);
    assert!(ns(&with_splash[2], "splash_end") < ns(&with_splash[2], "end"));
    let recording = start("end", 34).recording();
    let chosen = starts(&recording);
    assert_eq!(told(&chosen), expected);
    assert_eq!(ns(&chosen[2], "splash_end"), 0);
}

#[test]
fn item_30_services_receivers_and_processes_without_activities() {
    let recording = start("service", 34).recording();
    let service = starts(&recording);
    assert_eq!(told(&service), ["service  unknown", "page Home unknown"]);
    let report = &issues(&recording, "Trace_StartUp")[0];
    // The screen came whenever the user wanted it.
    assert_eq!(report["first_activity_create"], 0);
    assert_eq!(report["startup_duration"], report["application_create"]);
    assert_eq!(report["application_create_scene"], 114);
    assert_eq!(told(&starts(&start("receiver", 21).recording())), ["receiver  unknown"]);
    let recording = start("none", 34).recording();
    let none = starts(&recording);
    assert_eq!(told(&none), ["service  good"]);
    assert_eq!(none[0]["end"], none[0]["application_end"]);
    assert_eq!(
        issues(&recording, "Trace_StartUp")[0]["startup_duration"].as_u64().unwrap(),
        ms(&none[0], "begin", "end")
    );
    assert_eq!(
        told(&starts(&start("relaunch", 34).recording())),
        ["page Home unknown", "relaunch Home good"]
    );
}

#[test]
fn item_30_warm_and_hot_starts_follow_and_their_stacks_are_not_empty() {
    let recording = start("again", 34).recording();
    let all = starts(&recording);
    let expected =
        ["page Home unknown", "cold Home good", "page Home unknown", "warm Home unknown", "hot Home bad"];
    assert_eq!(told(&all), expected);
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
fn item_30_a_slow_cold_start_has_a_stack_and_one_that_the_user_was_away_from_is_dropped() {
    let recording = start("slow", 28).recording();
    assert_eq!(told(&starts(&recording)), ["page Home unknown", "cold Home bad"]);
    let stacks = issues(&recording, "Trace_EvilMethod");
    let slow = stacks.iter().find(|issue| issue["detail"] == "STARTUP").unwrap();
    assert_eq!(slow["subType"], 1);
    assert!(slow["cost"].as_u64().unwrap() >= 12_000);
    let stack = slow["stack"].as_str().unwrap();
    // From the process's begin on: what ran before any message, the application, the page.
    for id in [2, 1, 11] {
        assert!(stack.contains(&format!(",{id},1,")), "{stack}");
    }
    let recording = start("away", 28).recording();
    assert_eq!(told(&starts(&recording)), ["page Home unknown"]);
    assert!(issues(&recording, "Trace_StartUp").is_empty());
}
