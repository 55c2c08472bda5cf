//! Chrome's JSON: the pitfalls of its readers, one by one, in the file and in the engine.

use std::collections::{BTreeSet, HashMap};
use test_support::engine;

use exporter::{ExportOptions, Format};
use serde_json::Value;
use test_support::recordings::app::app;
use test_support::recordings::collect::collect;
use test_support::recordings::{MS, S, TempFile, clocks, export_to_file, map, stalled};
use trace_format::event::{Clocks, Frame, Stage, Wait, WaitKind};
use trace_format::synth::RecordingBuilder;
use trace_format::{Event, TextId};

fn options(sorted: bool) -> ExportOptions {
    ExportOptions { sorted, ..ExportOptions::new(Format::ChromeJson, 0) }
}

fn exported(bytes: &[u8], sorted: bool) -> (TempFile, String) {
    let (file, _) = export_to_file(bytes, &options(sorted));
    let text = std::fs::read_to_string(&file.0).unwrap();
    (file, text)
}

/// The lines of the events, without their separators.
fn lines(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    lines[1..lines.len() - 1].iter().map(|line| line.trim_end_matches(',')).collect()
}

fn event(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))
}

/// ns from the digits: a double would lose precision.
fn ns(line: &str, key: &str) -> Option<u64> {
    let (_, rest) = line.split_once(&format!("\"{key}\":"))?;
    let number: &str = &rest[..rest.find([',', '}']).unwrap()];
    let (us, decimals) = number.split_once('.').unwrap_or_else(|| panic!("no decimals: {line}"));
    assert_eq!(decimals.len(), 3, "{line}");
    Some(us.parse::<u64>().unwrap() * 1000 + decimals.parse::<u64>().unwrap())
}

/// A line-based reader gets whole events; those that describe a process come before its own.
#[test]
fn an_event_a_line_with_the_descriptions_first() {
    let (_file, text) = exported(&app().build(), false);
    let whole: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(whole["displayTimeUnit"], "ns");
    assert!(
        text.starts_with("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"M\","),
        "{}",
        &text[..80]
    );
    let lines = lines(&text);
    assert_eq!(lines.len(), whole["traceEvents"].as_array().unwrap().len());
    let described: Vec<_> = lines.iter().map(|line| event(line)).take_while(|e| e["ph"] == "M").collect();
    let names: BTreeSet<_> = described.iter().map(|e| e["name"].as_str().unwrap()).collect();
    let all = ["process_name", "process_sort_index", "thread_name", "thread_sort_index"];
    assert_eq!(names.into_iter().collect::<Vec<_>>(), all);
    let of_main = described.iter().find(|e| e["name"] == "thread_sort_index").unwrap();
    assert_eq!((&of_main["tid"], &of_main["args"]["sort_index"]), (&4242.into(), &0.into()), "main is first");
    // Metadata follows the events, where a streaming reader need not wait for it.
    assert_eq!(whole["metadata"]["anrscope.system.kernel_release"], "6.1.75-android14");
    assert!(whole["metadata"]["anrscope.slices"].as_str().unwrap().parse::<u64>().unwrap() > 100);
}

/// A single X anywhere makes the engine sort ends before starts of the same time: so every slice is one, and
/// nothing is used that readers interpret differently.
#[test]
fn slices_are_x_and_nothing_is_b_or_e() {
    for bytes in [app().build(), stalled().build()] {
        let (_file, text) = exported(&bytes, false);
        let kinds: BTreeSet<String> =
            lines(&text).iter().map(|l| event(l)["ph"].as_str().unwrap().to_owned()).collect();
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["C", "M", "X", "i"]);
        for line in lines(&text).iter().filter(|line| line.starts_with("{\"ph\":\"X\"")) {
            assert!(ns(line, "dur").is_some() && ns(line, "ts").is_some(), "{line}");
        }
    }
}

/// The engine tore apart a pair without duration; an X without duration is kept, and so is what surrounds it.
#[test]
fn slices_without_length_are_kept() {
    let bytes = RecordingBuilder::new(9, "p")
        .main("main", |t| {
            t.enter(S, 1).enter(S + 10, 2).exit(S + 10, 2).exit(S + 50, 1);
        })
        .build();
    let (file, _) = exported(&bytes, false);
    let rows = engine::rows(&file.0, "select name, dur, depth from slice order by ts");
    let found: Vec<_> =
        rows.iter().map(|r| (r["dur"].as_u64().unwrap(), r["depth"].as_u64().unwrap())).collect();
    assert_eq!(found, [(50, 0), (0, 1)]);
}

/// Partly overlapping slices are dropped by older engines, and moved to another track by newer ones.
#[test]
fn slices_of_a_track_nest() {
    for bytes in [app().build(), stalled().build()] {
        let (file, text) = exported(&bytes, false);
        let mut tracks: HashMap<String, Vec<(u64, u64)>> = HashMap::new();
        for line in lines(&text) {
            let e = event(line);
            if e["ph"] == "X" {
                let (ts, dur) = (ns(line, "ts").unwrap(), ns(line, "dur").unwrap());
                tracks.entry(format!("{}/{}", e["pid"], e["tid"])).or_default().push((ts, ts + dur));
            }
        }
        for (track, mut slices) in tracks {
            slices.sort_by_key(|(begin, end)| (*begin, u64::MAX - end));
            let mut open: Vec<u64> = Vec::new();
            for (begin, end) in slices {
                while open.last().is_some_and(|outer| *outer <= begin) {
                    open.pop();
                }
                assert!(
                    open.last().is_none_or(|outer| end <= *outer),
                    "{track}: {begin} to {end} leaves {open:?}"
                );
                open.push(end);
            }
        }
        let stats =
            engine::rows(&file.0, "select name from stats where name glob 'slice_*overlap*' and value > 0");
        assert!(stats.is_empty(), "{stats:?}");
    }
}

/// chrome://tracing and speedscope expect events sorted by time, the longest of one start first.
#[test]
fn sorted_events_come_by_time_and_the_longest_first() {
    let (_, text) = exported(&app().build(), true);
    let timed: Vec<_> = lines(&text)
        .into_iter()
        .skip_while(|line| event(line)["ph"] == "M")
        .map(|line| (ns(line, "ts").unwrap(), u64::MAX - ns(line, "dur").unwrap_or(0)))
        .collect();
    assert!(timed.len() > 100 && timed.is_sorted(), "{timed:?}");
}

/// Readers parse times as doubles. Nanoseconds are exact below 101 days of uptime; from half of that on, times
/// are relative to the trace's start, which is written beside them.
#[test]
fn nanoseconds_survive_a_year_of_uptime() {
    let day = 86_400 * S;
    for (up, rebased) in [(40 * day, false), (400 * day, true)] {
        let at = Clocks { boottime: up + 7, monotonic: up, realtime: 1_700_000_000 * S + up };
        let bytes = RecordingBuilder::new(9, "p")
            .start(at)
            .main("main", |t| {
                for i in 0..100 {
                    let begin = up + 7 + i * 1_000_003;
                    t.enter(begin, 1).enter(begin + 1, 2).exit(begin + 999_998, 2).exit(begin + 999_999, 1);
                }
            })
            .build();
        let (file, text) = exported(&bytes, false);
        let whole: Value = serde_json::from_str(&text).unwrap();
        let base = whole["metadata"]["anrscope.base_ns"].as_str().map_or(0, |base| base.parse().unwrap());
        assert_eq!(base > 0, rebased);
        let rows = engine::rows(&file.0, "select ts, dur, depth from slice order by ts, depth");
        let mut found: Vec<_> = rows
            .iter()
            .map(|row| ["ts", "dur", "depth"].map(|key| row[key].as_u64().unwrap()))
            .map(|[ts, dur, depth]| (ts + base, dur, depth))
            .collect();
        found.sort_unstable();
        let (model, _) = collect(&bytes, &map());
        let mut wanted: Vec<_> = model.slices.iter().map(|s| (s.ts, s.dur, s.depth)).collect();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
    }
}

/// The engine rejects a whole file because of one escaped surrogate.
#[test]
fn texts_are_raw_utf_8_and_only_the_syntax_is_escaped() {
    let mut b = RecordingBuilder::new(9, "p \u{1F600} \"x\"");
    let odd = ["\u{1F600}", "a\"b\\c", "Größe \u{2028}", "tab\tbell\u{7}"].map(|text| b.text(text));
    let bytes = b
        .main("main", |t| {
            for (i, text) in odd.iter().enumerate() {
                let at = S + i as u64 * MS;
                t.event(at, Event::SpanBegin(*text)).event(at + 10, Event::SpanEnd);
            }
        })
        .build();
    let (file, text) = exported(&bytes, false);
    assert!(text.contains("\"name\":\"\u{1F600}\"") && !text.to_lowercase().contains("\\ud8"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "control characters are not raw");
    let names = engine::rows(&file.0, "select name from slice order by ts");
    let names: Vec<_> = names.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["\u{1F600}", "a\"b\\c", "Größe \u{2028}", "tab\u{FFFD}bell\u{FFFD}"]);
}

/// The engine changes numbers beyond i64; identities of 64 bits lose digits in JavaScript.
#[test]
fn large_numbers_and_identities_are_texts_and_nothing_is_null() {
    let mut b = RecordingBuilder::new(9, "p").start(clocks(10 * S));
    let class = b.text("com.example.Store");
    let wait = Wait { lock: u64::MAX - 1, class, ..Wait::new(WaitKind::Park) };
    let bytes = b
        .main("main", |t| {
            t.event(10 * S, Event::FrameBegin(Frame { vsync: 5, intended: u64::MAX, ..Frame::default() }))
                .event(10 * S + 10, Event::WaitBegin(wait))
                .event(10 * S + 20, Event::WaitEnd)
                .event(10 * S + 30, Event::FrameEnd)
                // An unknown text and a value that is not a number.
                .event(10 * S + 40, Event::SpanBegin(TextId(4711)))
                .event(10 * S + 50, Event::SpanEnd)
                .event(10 * S + 60, Event::Counter(class, f64::NAN));
        })
        .build();
    let (file, text) = exported(&bytes, false);
    assert!(!text.contains("null") && !text.contains("NaN"), "{text}");
    assert!(text.contains("\"intended_vsync_ns\":\"18446744073709551615\""), "{text}");
    let lock = engine::rows(
        &file.0,
        "select extract_arg(arg_set_id, 'args.lock') lock from slice where name = 'park'",
    );
    assert_eq!(lock[0]["lock"], "0xfffffffffffffffe");
}

/// A frame that Choreographer skipped after it began.
#[test]
fn a_skipped_frame_is_not_shown_and_the_next_one_has_its_number() {
    let frame = |vsync| Event::FrameBegin(Frame { vsync, estimated: true, ..Frame::default() });
    let bytes = RecordingBuilder::new(9, "p")
        .start(clocks(10 * S))
        .main("main", |t| {
            for (at, vsync, end) in
                [(0, 7, Event::FrameEnd), (1, 8, Event::FrameSkipped), (2, 8, Event::FrameEnd)]
            {
                let at = 10 * S + at * 20 * MS;
                t.event(at, frame(vsync))
                    .event(at + 1, Event::StageBegin(Stage::Input))
                    .event(at + 2, Event::StageEnd(Stage::Input))
                    .event(at + 3, end);
            }
        })
        .build();
    let (_file, text) = exported(&bytes, false);
    let count = |name: &str| {
        let names =
            lines(&text).into_iter().map(event).filter(|event| event["ph"] == "B" || event["ph"] == "X");
        names.filter(|event| event["name"] == name).count()
    };
    assert_eq!((count("Choreographer#doFrame 7"), count("Choreographer#doFrame 8")), (1, 1), "{text}");
    assert_eq!(count("input"), 2, "{text}");
}

/// An instant without a scope belongs to its thread for some readers and is global for others.
#[test]
fn instants_are_of_their_thread() {
    let (_file, text) = exported(&app().build(), false);
    let instants: Vec<_> = lines(&text).into_iter().map(event).filter(|e| e["ph"] == "i").collect();
    assert!(
        instants.len() > 5 && instants.iter().all(|e| e["s"] == "t" && e["tid"].is_u64()),
        "{instants:?}"
    );
}

/// Several keys of one counter are stacked by one reader and are several tracks for another.
#[test]
fn a_counter_has_one_key() {
    let (file, text) = exported(&app().build(), false);
    let counters: Vec<_> = lines(&text).into_iter().map(event).filter(|e| e["ph"] == "C").collect();
    assert!(counters.iter().all(|e| e["args"].as_object().unwrap().len() == 1), "{counters:?}");
    let tracks = engine::rows(&file.0, "select name from counter_track where name glob 'Java heap*'");
    let [track] = &tracks[..] else { panic!("{tracks:?}") };
    assert_eq!(track["name"], "Java heap value");
}
