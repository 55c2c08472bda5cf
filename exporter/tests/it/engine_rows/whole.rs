//! Compares every row of whole traces, a large one and random ones, and of parts of them.

use super::*;
use test_support::engine;
use test_support::recordings;

/// Three slices a message; of those that are methods two thirds have no argument.
fn many(messages: u64) -> Vec<u8> {
    let mut b = RecordingBuilder::new(7, "large").start(recordings::clocks(10 * S));
    let (target, callback) = (b.text("android.os.Handler"), b.text("com.example.Task"));
    let b = b.main("main", |t| {
        for i in 0..messages {
            let at = 10 * S + i * 50_000;
            let id = 1 + (i % 700) as u32;
            let message = Message { target, callback, what: i as i32 % 9, due: at - 9, ..Message::default() };
            t.event(at, Event::MessageBegin(message))
                .enter(at, id)
                .enter(at + 100, id + 1)
                .exit(at + 900, id + 1)
                .exit(at + 4_000, id)
                .event(at + 4_000, Event::MessageEnd);
        }
    });
    b.build()
}

fn large_is_the_same(messages: u64) {
    let bytes = many(messages);
    for options in &FORMS {
        let file = same_as_model(&bytes, options);
        let rows = engine::rows(&file.0, "select count() n, max(depth) depth from slice");
        assert_eq!((&rows[0]["n"], &rows[0]["depth"]), (&(3 * messages).into(), &2.into()));
    }
}

#[test]
fn every_row_of_a_large_trace_is_the_models() {
    large_is_the_same(40_000);
}

/// The same with more than a million slices, which takes minutes and gigabytes: `cargo test -p anrscope-exporter engine_rows --
/// --ignored`.
#[test]
#[ignore = "minutes and gigabytes: scripts/prove export runs it"]
fn every_row_of_a_trace_with_a_million_slices_is_the_models() {
    large_is_the_same(340_000);
}

/// Pseudo-random numbers from a fixed seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Threads with random events, with starts without ends and ends without starts.
fn restless(seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    let mut b = RecordingBuilder::new(900 + seed as u32, "restless").start(recordings::clocks(50 * S));
    let texts = [b.text("a \"quoted\" one"), b.text("com.example.Übung"), b.text("tab\tand \u{1F600}")];
    for thread in 0..3 {
        let fill = |t: &mut ThreadBuilder| {
            let mut now = 50 * S + 1;
            for _ in 0..400 {
                now += 1 + dice.below(2_000_000);
                let text = texts[dice.below(3) as usize];
                let id = 1 + dice.below(6) as u32;
                let message = Message {
                    target: text,
                    callback: text,
                    what: 5,
                    due: now - dice.below(300 * MS),
                    ..Message::default()
                };
                let (intended, interval) = (now - dice.below(60 * MS), 16_666_667);
                let frame = Frame { vsync: dice.below(9), intended, interval, estimated: id == 3 };
                let stage = Stage::ALL[dice.below(5) as usize];
                t.event(
                    now,
                    match dice.below(16) {
                        0..=4 => Event::Enter(id),
                        5..=8 => Event::Exit(id),
                        9 => Event::MessageBegin(message),
                        10 => Event::MessageEnd,
                        11 => Event::FrameBegin(frame),
                        12 => Event::FrameEnd,
                        13 => Event::StageBegin(stage),
                        14 => Event::StageEnd(stage),
                        _ => Event::Mark(text),
                    },
                );
            }
            // What is open has a length: without one JSON loses the depth.
            t.event(now + MS, Event::Mark(texts[0]));
        };
        let name = format!("thread {thread}");
        b = if thread == 0 { b.main("main", fill) } else { b.thread(&name, 7000 + thread, fill) };
    }
    b.build()
}

#[test]
fn every_row_of_ten_small_traces_is_the_models() {
    // From the builder: an ANR, the life of an app, a recorder that changes its settings, threads with random
    // events.
    let made = [stalled().build(), app().build(), recorder::controlled()];
    let made = made.into_iter().chain((0..6).map(restless)).map(|bytes| (bytes, map()));
    // Written by a recorder on a JVM, with times that are coarse.
    let recorded = [recordings::recorded::shop()];
    let sorted = ExportOptions { sorted: true, ..FORMS[2].clone() };
    let joinable = ExportOptions { merge_safe: true, ..FORMS[0].clone() };
    let mut count = 0;
    for (i, (bytes, map)) in made.chain(recorded).enumerate() {
        for options in FORMS.iter().chain([&sorted, &joinable]) {
            let coarse = i == 9 && options.format == Format::ChromeJson;
            let depths = if coarse { rows::Depths::Lost } else { rows::Depths::Kept };
            same_with_map(&bytes, &map, options, depths);
        }
        count += 1;
    }
    assert_eq!(count, 10);
}

fn part_of(bytes: &[u8], options: &ExportOptions) -> Result<ExportSummary, ExportError> {
    let (recording, map) = (Recording::open(bytes).unwrap(), map());
    let input = ExportInput { file: Path::new("test.anrscope"), recording: &recording, map: &map };
    export(&[input], options, &mut Vec::new())
}

#[test]
fn a_part_of_a_trace_is_the_models_part() {
    let part = |from, to, min_duration, threads: &[&str]| {
        let threads = threads.iter().map(|t| (*t).to_owned()).collect();
        Selection { from, to, min_duration, threads }
    };
    // The other thread is one that the recording has: any other is an error.
    for (bytes, other) in [(app().build(), "4250"), (stalled().build(), "main"), (restless(99), "thread 1")] {
        let parts = [
            part(Some(3 * S), Some(7 * S), 0, &[]),
            part(None, None, 5 * MS, &["main"]),
            part(Some(100 * MS), Some(500 * MS), MS, &[other]),
        ];
        let whole = export_to_file(&bytes, &FORMS[0]).1.counts;
        for selection in &parts {
            let counts = collect_part(&bytes, &map(), selection).1;
            for form in &FORMS {
                let options = ExportOptions { selection: selection.clone(), ..form.clone() };
                if counts.slices == 0 {
                    assert!(matches!(part_of(&bytes, &options), Err(ExportError::EmptyPart { .. })));
                } else {
                    same_as_model(&bytes, &options);
                }
            }
            assert!(counts.slices < whole.slices, "{selection:?}");
            let threads_only = selection.threads.is_empty();
            assert!(!threads_only || counts.slices + counts.filtered == whole.slices, "{counts:?}");
        }
    }
}
