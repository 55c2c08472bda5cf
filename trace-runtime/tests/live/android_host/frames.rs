//! Frames: stages, dropped frames, frames per second, the overlay, through the shims.

use serde_json::Value;
use trace_format::Event;
use trace_format::event::Stage;
use trace_format::section::SectionKind;

use test_support::android::{Case, Run, events, main_thread, recorded_issues, sections};

/// Main's events of the first complete frame, with their times.
fn first_frame(all: &[(u64, Event)]) -> Vec<Event> {
    let begin = all.iter().position(|(_, event)| matches!(event, Event::FrameBegin(_))).expect("a frame");
    let end = begin + all[begin..].iter().position(|(_, event)| *event == Event::FrameEnd).expect("its end");
    all[begin - 1..end + 2].iter().map(|(_, event)| *event).collect()
}

/// The stages in the order of their begins, as expected on this API level.
fn stages(sdk: u32, exact: bool) -> Vec<Stage> {
    let mut stages = vec![Stage::Input, Stage::Animation, Stage::Traversal];
    if exact && sdk >= 23 {
        stages.push(Stage::Commit);
    }
    stages
}

/// All frames of a report.
fn counted(report: &Value) -> u64 {
    report["dropLevel"].as_object().unwrap().values().filter_map(Value::as_u64).sum()
}

/// `system`: a normal one, one that has `denied` its queues, or one that is `strict` with times.
fn is_in_order(sdk: u32, system: &str) {
    let case = Case::new("FrameOrder").named(&format!("{sdk}-{system}")).sdk(sdk);
    let run = case.word(system).run();
    let exact = sdk < 24 && system == "ordinary";
    let recording = run.recording();
    let all = events(&recording, main_thread(&recording));
    let frames = all.iter().filter(|(_, event)| matches!(event, Event::FrameBegin(_))).count();
    assert_eq!(frames, 5, "{sdk}");

    let frame = first_frame(&all);
    assert!(matches!(frame[0], Event::MessageBegin(_)), "{sdk}: {frame:?}");
    let Event::FrameBegin(begin) = frame[1] else { panic!("{frame:?}") };
    assert_eq!((begin.estimated, begin.intended > 0, begin.interval), (!exact, exact, 16_666_667), "{sdk}");
    let mut expected = Vec::new();
    for stage in stages(sdk, exact).into_iter().filter(|s| system != "strict" || *s != Stage::Animation) {
        expected.extend([Event::StageBegin(stage), Event::StageEnd(stage)]);
    }
    // FrameInfo's events, or from API 24 on those that the window was given.
    let input = sdk >= 23;
    let (reported, rest) = frame[2..].split_at(expected.len());
    assert_eq!(reported, expected, "{sdk}");
    match rest {
        [Event::InputEvents(events), Event::FrameEnd, Event::MessageEnd] if input => {
            assert_eq!(events.newest - events.oldest, 20_000_000, "{sdk}");
            assert!(if exact { events.intended == begin.intended } else { events.intended > 0 });
        }
        [Event::FrameEnd, Event::MessageEnd] if !input => {}
        other => panic!("{sdk}: {other:?}"),
    }

    // No vsync but those that the app requested, and nothing of the library is left.
    assert_eq!(run.lines("vsyncs").collect::<Vec<_>>(), ["5"], "{sdk}: {}", run.printed);
    assert!(run.lines("waiting").all(|waiting| waiting == "0"), "{sdk}: {}", run.printed);
    assert_eq!(run.lines("left").collect::<Vec<_>>(), ["0 0 0"], "{sdk}");

    // The observer received each, and its input latency where that is known.
    let reported: Vec<_> = run.lines("frame").collect();
    assert_eq!(reported.len(), 5, "{sdk}: {}", run.printed);
    for line in reported {
        let latency = line.strip_prefix("com.example.Page true ").expect(line).parse::<i64>().unwrap();
        // 30 ms before its INPUT stage, and 3 ms of work at least.
        assert!(if input { latency >= 33 } else { latency == 0 }, "{sdk}: {line}");
    }

    // The page's report, which has the parts' means where the system reports parts.
    let reports = run.issues();
    assert_eq!(reports.len(), 1, "{sdk}");
    assert_eq!(counted(&reports[0]), 5, "{sdk}");
    assert_eq!(reports[0]["TOTAL_DURATION"].is_u64(), sdk >= 24, "{sdk}");
    assert_eq!(reports, recorded_issues(&recording), "{sdk}");

    let by_windows = recording.threads().iter().find(|t| t.name.as_deref() == Some("anrscope-frames"));
    let metrics = by_windows.map_or(0, |thread| {
        let all = events(&recording, thread);
        all.iter().filter(|(_, event)| matches!(event, Event::FrameMetrics(_))).count()
    });
    assert_eq!(metrics, if sdk >= 24 { 5 } else { 0 }, "{sdk}");
}

#[test]
fn stages_are_in_order_and_none_stays_open_below_api_24() {
    is_in_order(21, "ordinary");
    is_in_order(23, "ordinary");
}

#[test]
fn stages_are_in_order_and_none_stays_open_from_api_24_on() {
    is_in_order(24, "ordinary");
    is_in_order(34, "ordinary");
    is_in_order(34, "strict");
}

#[test]
fn where_choreographer_denies_its_queues_public_calls_are_used() {
    is_in_order(21, "denied");
}

#[test]
fn the_stage_of_a_stall_is_recorded_and_in_the_snapshot_at_every_api_level() {
    let hangs = [
        (21, "traversal"),
        (23, "traversal"),
        (24, "traversal"),
        (28, "traversal"),
        (34, "traversal"),
        (21, "input"),
        (34, "input"),
        (23, "animation"),
        (34, "animation"),
    ];
    for (sdk, word) in hangs {
        let run = Case::new("FrameHang").named(&format!("{sdk}-{word}")).sdk(sdk).word(word).run();
        let recording = run.recording();
        let all = events(&recording, main_thread(&recording));
        let last = all.iter().rev().find(|(_, event)| !matches!(event, Event::Enter(_) | Event::Exit(_)));
        let stage = match word {
            "input" => Stage::Input,
            "animation" => Stage::Animation,
            _ => Stage::Traversal,
        };
        assert_eq!(last.unwrap().1, Event::StageBegin(stage), "{sdk} {word}");
        let snapshot = sections(&recording, SectionKind::AnrSnapshot).remove(0);
        let snapshot = String::from_utf8(snapshot).unwrap();
        let value = |key: &str| {
            let mut lines = snapshot.lines().filter_map(|line| line.split_once('='));
            lines.find(|(name, _)| *name == key).unwrap_or_else(|| panic!("{key} in {snapshot}")).1
        };
        assert_eq!(value("stage"), word.to_uppercase(), "{sdk}");
        // The running stage is in its cost: 300 ms, less main's work before it.
        let cost: u64 = value(&format!("{word}_ns")).parse().unwrap();
        assert!(cost > 100_000_000, "{sdk} {word}: {cost}");
    }
}

/// The keys of a report of frames, which are Matrix's.
fn keys(report: &Value) -> Vec<&str> {
    report.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn levels_change_at_2_3_8_9_23_24_41_42_at_60_90_120_hz_and_at_rate_changes() {
    for (sdk, rates) in [(26, "60"), (34, "90"), (34, "120"), (34, "60,120")] {
        let case = Case::new("FrameLevels").named(&format!("{sdk}-{rates}")).sdk(sdk);
        let run = case.word("fps_window_ms=600000").word("tell_dropped=9").word(rates).run();
        let recording = run.recording();
        let reports = recorded_issues(&recording);
        assert_eq!(reports.len(), 1, "{rates}");
        assert_eq!(run.issues(), reports, "the listener got the same");
        let report = &reports[0];
        let times = rates.split(',').count() as u64;
        let levels = |key: &str| {
            ["BEST", "NORMAL", "MIDDLE", "HIGH", "FROZEN"]
                .map(|level| report[key][format!("DROPPED_{level}")].as_u64().unwrap() / times)
        };
        assert_eq!(levels("dropLevel"), [2, 2, 2, 2, 1], "{rates}");
        assert_eq!(levels("dropSum"), [2, 3 + 8, 9 + 23, 24 + 41, 42], "{rates}");
        assert_eq!((&report["tag"], &report["scene"]), (&"Trace_FPS".into(), &"com.example.Page".into()));
        assert_eq!(keys(report).contains(&"GPU_DURATION"), sdk >= 31, "{rates}");
        for key in ["UNKNOWN_DELAY_DURATION", "SWAP_BUFFERS_DURATION", "TOTAL_DURATION", "DROP_COUNT"] {
            assert!(report[key].is_u64(), "{key} in {report}");
        }
        if times == 1 {
            assert_eq!(report["REFRESH_RATE"].to_string(), rates);
        }
        // Observers of 9 dropped frames at 60 Hz, which is 18 at 120.
        let dropped: Vec<_> = run.lines("dropped").map(|line| line.rsplit(' ').next().unwrap()).collect();
        let expected: &[&str] = match rates {
            "60" => &["9", "23", "24", "41", "42"],
            "60,120" => &["9", "23", "24", "41", "42", "23", "24", "41", "42"],
            _ => &["23", "24", "41", "42"],
        };
        assert_eq!(dropped, expected, "{rates}");
    }
}

#[test]
fn levels_a_threshold_and_an_allow_list_of_scenes_are_options() {
    let run = |name: &str, words: &[&str]| {
        let case = Case::new("FrameLevels").named(name).sdk(30);
        words.iter().fold(case, |case, word| case.word(word)).word("60").run()
    };
    let own = run("own", &["dropped_normal=2", "dropped_middle=3", "dropped_high=8", "dropped_frozen=9"]);
    let report = &own.issues()[0];
    assert_eq!(report["dropLevel"]["DROPPED_FROZEN"], 5);
    assert_eq!(report["dropLevel"]["DROPPED_BEST"], 1);
    let few = run("few", &["fps_threshold=24"]);
    assert_eq!(counted(&few.issues()[0]), 3);
    assert_eq!(run("others", &["care_scenes=com.example.Other;x"]).issues(), [] as [Value; 0]);
    assert_eq!(run("named", &["care_scenes=x; com.example.Page"]).issues().len(), 1);
    assert_eq!(run("off", &["fps=0"]).issues(), [] as [Value; 0]);
}

fn rates(name: &str, sdk: u32, words: &[&str]) -> Run {
    let case = Case::new("FrameRates").named(name).sdk(sdk);
    words.iter().fold(case, |case, word| case.word(word)).run()
}

/// The fake's own count of frames and vsync periods.
fn truth(run: &Run) -> (f64, u64) {
    let line = run.lines("truth").next().unwrap().split(' ').collect::<Vec<_>>();
    (line[0].parse().unwrap(), line[2].parse().unwrap())
}

#[test]
fn fps_through_the_shims_is_within_one_percent_of_the_truth() {
    for (sdk, hz, pipeline) in [(26, "60", "0"), (30, "90", "1"), (34, "120", "2"), (34, "60", "2")] {
        let words = [hz, pipeline, "6", "fps_window_ms=600000"];
        let run = rates(&format!("{sdk}-{hz}-{pipeline}"), sdk, &words);
        let (truth, frames) = truth(&run);
        let reports = run.issues();
        assert_eq!(reports.len(), 1);
        let fps = reports[0]["fps"].as_f64().unwrap();
        assert!((fps / truth - 1.0).abs() <= 0.01, "{fps} instead of {truth:.2} at {hz} Hz");
        assert_eq!(counted(&reports[0]), frames);
    }
}

#[test]
fn below_api_24_frames_are_counted_by_what_main_recorded() {
    for sdk in [21, 23] {
        let run = Case::new("FrameBelowApi24").named(&sdk.to_string()).sdk(sdk).run();
        assert_eq!(run.lines("frames").next(), Some("120 reported 120 shorter 0"), "{sdk}: {}", run.printed);
        let truth: f64 = run.lines("truth").next().unwrap().parse().unwrap();
        let reports = run.issues();
        assert_eq!((reports.len(), counted(&reports[0])), (1, 120), "{sdk}");
        let fps = reports[0]["fps"].as_f64().unwrap();
        assert!((fps / truth - 1.0).abs() <= 0.01, "{fps} instead of {truth:.2} at API {sdk}");
        // Six took 120 ms, seven intervals and more; no window reported parts of frames.
        let slow = ["MIDDLE", "NORMAL", "HIGH", "FROZEN"]
            .map(|level| &reports[0]["dropLevel"][format!("DROPPED_{level}")]);
        assert!(slow.iter().map(|count| count.as_u64().unwrap()).sum::<u64>() >= 6, "{}", reports[0]);
        assert!(reports[0].get("TOTAL_DURATION").is_none(), "{}", reports[0]);
    }
}

#[test]
fn a_report_covers_ten_seconds_and_a_matrix_04_report_two_minutes() {
    let run = rates("older", 30, &["60", "0", "36", "older_fps=1"]);
    let reports = run.issues();
    let (older, ours): (Vec<_>, Vec<_>) =
        reports.iter().partition(|report| report["TOTAL_DURATION"].is_null());
    // 36 bursts of some 5 s, with their pauses.
    assert!(ours.len() >= 10, "{}", ours.len());
    assert!(!older.is_empty());
    for report in older {
        assert_eq!(report["scene"], "com.example.Page");
        assert!(keys(report).contains(&"dropSum") && report["fps"].as_f64().unwrap() > 20.0, "{report}");
    }
}

#[test]
fn the_overlay_changes_every_200_ms_at_every_rate() {
    for (sdk, hz) in [(26, "60"), (34, "90"), (34, "120")] {
        let run = Case::new("FrameOverlay").named(&format!("{sdk}-{hz}")).sdk(sdk).word(hz).word("5").run();
        let apart: Vec<u64> = run.lines("apart").map(|ms| ms.parse().unwrap()).collect();
        assert!(apart.len() >= 44, "{} changes at {hz} Hz", apart.len());
        // Each is noticed at the next frame that is drawn, so two of them may be two frames nearer or
        // farther.
        assert!(apart.iter().all(|ms| (160..=250).contains(ms)), "{apart:?} at {hz} Hz");
        let drawn: Vec<_> = run.lines("drawn").collect();
        // Frames per second with two decimals, in green; no drops; 50 bars, and the means after 5 s and 10
        // s.
        let has = |end: &str| drawn.iter().any(|line| line.ends_with(end));
        assert!(
            drawn
                .iter()
                .any(|line| line.starts_with("text ff43a047") && line.ends_with(&format!(" {hz}.00")))
        );
        for end in ["sum 0.0", "page 0.0", " 50", " 30", &format!("5s {hz}"), &format!("10s {hz}")] {
            assert!(has(end), "{end:?} in {drawn:#?}");
        }
        let bars = drawn.iter().filter(|line| line.starts_with("rect ff43a047")).count();
        assert_eq!(bars, 50, "{drawn:#?}");
        assert_eq!(drawn.iter().filter(|line| line.starts_with("dashes")).count(), 4);
        assert_eq!(run.lines("windows").collect::<Vec<_>>(), ["0"]);
    }
}

#[test]
fn the_overlay_has_colours_counts_and_shares_of_slow_frames() {
    // Frames of 80 ms: 12.5 per second, 3 dropped by each (at 60 Hz 80 ms are 4.8 intervals).
    let run = Case::new("FrameOverlay").named("slow").sdk(30).word("60").word("80").run();
    let drawn: Vec<_> = run.lines("drawn").collect();
    let red = "ffc62828";
    assert!(drawn.iter().any(|line| line.starts_with(&format!("text {red}")) && line.contains(" 12.")));
    // All are NORMAL: the share's bar is as wide as the row.
    assert!(drawn.iter().any(|line| line.starts_with("rect ff768a1e 4,46 136,50")), "{drawn:#?}");
    assert!(drawn.iter().any(|line| line.ends_with("sum 1.0")));
}

#[test]
fn an_overlay_that_is_not_allowed_is_only_a_notice() {
    let case = Case::new("FrameOverlay").named("refused").sdk(30).word("60").word("5").word("refused");
    let run = case.run();
    assert_eq!(run.printed, "shown false\n");
    let recording = run.recording();
    let service = recording.service().expect("a service ring");
    let reported = events(&recording, service).iter().any(|(_, event)| match event {
        Event::Notice(text) => {
            recording.texts().get(*text).is_some_and(|text| text.starts_with("no overlay"))
        }
        _ => false,
    });
    assert!(reported);
}

/// Frames of main: the numbers of those that ran, and how many were skipped.
fn numbers(all: &[(u64, Event)]) -> (Vec<u64>, usize) {
    let (mut numbers, mut skipped, mut open) = (Vec::new(), 0, 0);
    for (_, event) in all {
        match event {
            Event::FrameBegin(frame) => open = frame.vsync,
            Event::FrameEnd => numbers.push(open),
            Event::FrameSkipped => skipped += 1,
            _ => {}
        }
    }
    (numbers, skipped)
}

/// Checks that a page that stands still for 2 s under unrequested vsyncs makes the library request at most
/// `most` vsyncs.
fn asks_for_no_vsync(sdk: u32, hz: &str, how: &str, most: u64) {
    let name = format!("{sdk}-{hz}-{how}");
    let run = Case::new("FrameVsync").named(&name).sdk(sdk).word(hz).word("2000").word(how).run();
    let asked: u64 = run.lines("asked").next().unwrap().parse().unwrap();
    assert!(asked <= most, "{name}: asked for {asked} vsyncs");
    let recording = run.recording();
    let (numbers, skipped) = numbers(&events(&recording, main_thread(&recording)));
    // What the library requested was run; otherwise only what was drawn is a frame. The numbers have no
    // gaps.
    assert_eq!(numbers, (1..=20 + asked).collect::<Vec<_>>(), "{name}");
    assert_eq!(skipped > 0, sdk >= 24, "{name}: {skipped}");
}

#[test]
fn an_unrequested_vsync_does_not_request_another() {
    std::thread::scope(|threads| {
        for (sdk, hz, how) in [
            (23, "60", "still"),
            (24, "60", "still"),
            (27, "60", "late"),
            (28, "60", "still"),
            (34, "120", "still"),
            (35, "60", "timers"),
            (37, "60", "timers"),
        ] {
            threads.spawn(move || asks_for_no_vsync(sdk, hz, how, 0));
        }
    });
}

#[test]
fn where_scheduling_is_hidden_a_vsync_right_after_an_animation_costs_one_more() {
    asks_for_no_vsync(34, "60", "late", 1);
}

#[test]
fn frames_that_only_a_dialog_or_a_popup_draws_are_frames_with_all_their_stages() {
    // Before API 26 a dialog's metrics have no vsync; a popup has none.
    for (sdk, what, listeners) in
        [(24, "dialog", 0), (26, "dialog", 1), (34, "dialog", 1), (24, "popup", 0), (34, "popup", 0)]
    {
        let run = Case::new("FrameDialog").named(&format!("{what}-{sdk}")).sdk(sdk).word(what).run();
        assert_eq!(run.printed, format!("listeners {listeners}\n"), "{what} {sdk}");
        let recording = run.recording();
        let all = events(&recording, main_thread(&recording));
        let from = all.iter().position(
            |(_, event)| matches!(event, Event::Mark(id) if recording.texts().get(*id) == Some("dialog")),
        );
        let dialogs = &all[from.expect("the mark")..];
        let count = |of: Event| dialogs.iter().filter(|(_, event)| *event == of).count();
        assert_eq!((count(Event::FrameEnd), count(Event::FrameSkipped)), (20, 0), "{what} {sdk}");
        assert_eq!(count(Event::StageBegin(Stage::Animation)), 20, "{what} {sdk}");
    }
}

#[test]
fn a_frame_allocates_nothing_on_main() {
    for sdk in [21, 23, 24, 34] {
        let run = Case::new("FrameAllocation").named(&sdk.to_string()).sdk(sdk).run();
        let bytes: Vec<i64> = run.lines("bytes").map(|bytes| bytes.parse().unwrap()).collect();
        // Main is measured: the frames with the monitor, less the frames without, per frame. A class that
        // is loaded meanwhile is a few hundred bytes in 2,000 frames.
        assert_eq!(bytes.len(), 1);
        assert!(bytes[0] < 4, "{sdk}: {bytes:?} bytes a frame");
    }
}
