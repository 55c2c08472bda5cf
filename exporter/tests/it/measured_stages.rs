//! Stages of frames whose starts the recorder can only estimate: if the system measured a frame, its bounds
//! apply.

use serde_json::Value;
use test_support::recordings::{FORMS, MS, S, clocks, export_with, map};
use trace_format::Event;
use trace_format::event::{Frame, FrameMetrics, Message, Stage};
use trace_format::synth::RecordingBuilder;

const BEGUN: u64 = 20 * S;
const VSYNC: u64 = BEGUN - 2 * MS;

/// A frame in which a callback of the app's, posted during INPUT, runs 6 ms: behind the recorder's own mark of ANIMATION's end.
fn frame_with(metrics: Option<FrameMetrics>) -> Vec<u8> {
    let mut b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S));
    let target = b.text("android.view.Choreographer$FrameHandler");
    let frame = Frame { vsync: 5, intended: 0, interval: 16 * MS, estimated: true };
    let at = |tenths: u64| BEGUN + tenths * MS / 10;
    let b = b.main("main", |t| {
        t.event(BEGUN, Event::MessageBegin(Message { target, ..Message::default() }));
        t.event(BEGUN, Event::FrameBegin(frame));
        t.event(at(0), Event::StageBegin(Stage::Input)).enter(at(1), 1).exit(at(39), 1);
        t.event(at(40), Event::StageEnd(Stage::Input)).event(at(40), Event::StageBegin(Stage::Animation));
        t.event(at(41), Event::StageEnd(Stage::Animation)).event(at(41), Event::StageBegin(Stage::Traversal));
        t.enter(at(42), 2).exit(at(101), 2).enter(at(110), 5).exit(at(140), 5);
        t.event(at(150), Event::StageEnd(Stage::Traversal)).event(at(150), Event::FrameEnd);
        t.event(at(151), Event::MessageEnd);
    });
    let b = b.thread("anrscope-frames", 9, |t| {
        if let Some(metrics) = metrics {
            t.event(21 * S, Event::FrameMetrics(metrics));
        }
    });
    b.last_alive(30 * S).build()
}

fn metrics() -> FrameMetrics {
    FrameMetrics {
        intended: VSYNC,
        vsync: VSYNC,
        delay: 2 * MS,
        input: 4 * MS,
        // To the start of TRAVERSAL, 20 us before the call in it ends by main's clock.
        animation: 6 * MS + 80_000,
        layout: 3 * MS,
        draw: MS,
        total: 18 * MS,
        ..FrameMetrics::default()
    }
}

/// The slices of main, by name: start, end, arguments.
fn slices(bytes: &[u8]) -> Vec<(String, u64, u64, Value)> {
    let (file, summary) = export_with(bytes, &map(), &FORMS[2]);
    assert_eq!((summary.counts.orphan_exits, summary.counts.unbalanced), (0, 0));
    let trace: Value = serde_json::from_slice(&std::fs::read(&file.0).unwrap()).unwrap();
    let ns = |event: &Value, key: &str| (event[key].as_f64().unwrap() * 1e3).round() as u64;
    let whole = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "X" && e["tid"] == 7);
    let slice = |event: &Value| {
        let (name, begun) = (event["name"].as_str().unwrap().to_owned(), ns(event, "ts"));
        (name, begun, begun + ns(event, "dur"), event["args"].clone())
    };
    whole.map(slice).collect()
}

fn of<'a>(slices: &'a [(String, u64, u64, Value)], name: &str) -> &'a (String, u64, u64, Value) {
    slices.iter().find(|(n, ..)| n == name).unwrap_or_else(|| panic!("no {name} in {slices:?}"))
}

#[test]
fn a_callback_posted_in_input_is_in_animation_if_the_system_measured_the_frame() {
    let found = slices(&frame_with(Some(metrics())));
    let first = of(&found, "input").1;
    let stage = |name: &str| {
        let (_, begun, ended, args) = of(&found, name);
        assert!(args.get("estimated").is_none(), "{name}: {args}");
        (begun - first, ended - first)
    };
    assert_eq!(stage("input"), (0, 4 * MS));
    // The call that is open across the measured bound ends first.
    assert_eq!(stage("animation"), (4 * MS, 10 * MS + MS / 10));
    assert_eq!(stage("traversal"), (10 * MS + MS / 10, 15 * MS));
    let call = of(&found, "com.example.Sync.save");
    let animation = of(&found, "animation");
    assert!(animation.1 <= call.1 && call.2 <= animation.2);
    assert_eq!(of(&found, "animation").3["measured_ms"].as_f64(), Some(6.08));
}

#[test]
fn a_frame_that_the_system_did_not_measure_keeps_the_estimate_marked_as_such() {
    let far = FrameMetrics { intended: VSYNC - 400 * MS, ..metrics() };
    for metrics in [None, Some(far)] {
        let found = slices(&frame_with(metrics));
        for name in ["input", "animation", "traversal"] {
            assert_eq!(of(&found, name).3["estimated"], true, "{name}");
        }
        let (call, traversal) = (of(&found, "com.example.Sync.save"), of(&found, "traversal"));
        assert!(traversal.1 <= call.1 && call.2 <= traversal.2);
    }
}
