//! Recordings of unusual shapes: too deep, too many, without duration, damaged, truncated.

use super::*;
use test_support::engine;

#[test]
fn extreme_shapes_are_kept_or_cut_as_the_model_says() {
    let one = |t: &mut ThreadBuilder| {
        t.enter(10 * S, 1).exit(11 * S, 1);
    };
    let mut crowd = RecordingBuilder::new(500, "crowd").main("main", one);
    for i in 0..199 {
        crowd = crowd.thread(&format!("pool-{i}"), 501 + i, one);
    }
    let deep = RecordingBuilder::new(501, "deep").main("main", |t| {
        for i in 0..600 {
            t.enter(S + i, 1 + (i as u32 % 5));
        }
        for i in (0..600).rev() {
            t.exit(2 * S - i, 1 + (i as u32 % 5));
        }
        t.enter(3 * S, 1).exit(4 * S, 1);
    });
    let mut odd_names = RecordingBuilder::new(503, "na\"me \\ ü \u{1F600}");
    let marks: Vec<_> =
        ["quote\" back\\slash", "nul\0 tab\t", "\u{1F600} smile", "\u{7f}", &"x".repeat(5000)]
            .map(|t| odd_names.text(t))
            .into();
    let odd_names = odd_names.main("main \u{1F600}", |t| {
        for (i, mark) in marks.iter().enumerate() {
            let at = S + i as u64 * 10;
            t.event(at, Event::SpanBegin(*mark))
                .event(at + 1, Event::Mark(*mark))
                .event(at + 3, Event::SpanEnd);
        }
    });
    let damaged = RecordingBuilder::new(504, "damaged")
        .main("main", |t| {
            t.overwritten(2).exit(S, 9).enter(2 * S, 1).enter(3 * S, 2).enter(4 * S, 3);
            t.exit(5 * S, 1).exit(6 * S, 3).event(7 * S, Event::MessageEnd).enter(8 * S, 4);
        })
        .thread("ended", 600, |t| {
            t.enter(S, 1).ended(5 * S);
        });
    let empty = RecordingBuilder::new(505, "empty");
    let numberless = RecordingBuilder::new(0, "").main("", one).thread("", 0, one).thread("twin", 0, one);
    let shapes = [crowd, deep, odd_names, damaged, empty, numberless].map(RecordingBuilder::build);
    for bytes in &shapes {
        for options in &FORMS {
            same_as_model(bytes, options);
        }
    }
    let (_, tally) = collect(&shapes[1], &map());
    assert_eq!((tally.slices, tally.cut_depth, tally.unbalanced), (513, 88, 0));
    let (_, tally) = collect(&shapes[3], &map());
    assert_eq!(
        (tally.began_before, tally.orphan_exits, tally.unbalanced, tally.incomplete, tally.overwritten),
        (3, 0, 2, 2, 2 * 1016)
    );
}

#[test]
fn the_deepest_displayed_slice_has_the_number_of_levels_below_it() {
    let bytes = RecordingBuilder::new(501, "deep").main("main", |t| {
        (0..600).for_each(|i| {
            t.enter(S + i, 1);
        });
    });
    let (file, _) = export_to_file(&bytes.build(), &FORMS[0]);
    let rows = engine::rows(
        &file.0,
        "select depth, extract_arg(arg_set_id, 'debug.truncated_depth') n from slice where n is not null",
    );
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0]["depth"].as_u64(), rows[0]["n"].as_u64()), (Some(511), Some(88)));
}

#[test]
fn slices_of_equal_times_keep_their_nesting() {
    let mut b = RecordingBuilder::new(9, "ties");
    let name = b.text("android.os.Handler");
    let message = Message { target: name, callback: name, what: 1, ..Message::default() };
    let bytes = b
        .main("main", |t| {
            // Parent and children begin and end together, three deep; then siblings at one time.
            t.event(S, Event::MessageBegin(message))
                .event(S, Event::FrameBegin(Frame { vsync: 1, ..Frame::default() }))
                .event(S, Event::StageBegin(Stage::Input))
                .event(2 * S, Event::StageEnd(Stage::Input))
                .event(2 * S, Event::FrameEnd)
                .event(2 * S, Event::MessageEnd)
                .enter(2 * S, 1)
                .enter(2 * S, 4)
                .exit(3 * S, 4)
                .enter(3 * S, 2)
                .exit(3 * S, 2)
                .exit(4 * S, 1)
                .enter(4 * S, 5)
                .exit(4 * S, 5);
        })
        .build();
    for options in &FORMS {
        same_as_model(&bytes, options);
    }
}

#[test]
fn without_length_json_may_lose_the_depth_and_nothing_else() {
    let bytes = RecordingBuilder::new(9, "ties")
        .main("main", |t| {
            // Inside of another without length, and beside a sibling of the same time.
            t.enter(S, 1).enter(S, 2).exit(S, 2).exit(S, 1);
            t.enter(2 * S, 1).enter(2 * S, 2).exit(2 * S, 2).enter(2 * S, 3).exit(3 * S, 3).exit(4 * S, 1);
        })
        .build();
    same_as_model(&bytes, &FORMS[0]);
    let (file, _) = export_to_file(&bytes, &FORMS[2]);
    let flat = |mut slices: Vec<ChartSlice>| {
        slices.iter_mut().for_each(|s| s.depth = 0);
        slices.sort();
        slices
    };
    assert_eq!(flat(rows_of(&file.0)), flat(collect(&bytes, &map()).0.slices));
}

#[test]
fn a_recording_cut_anywhere_gives_a_good_trace() {
    let whole = stalled().build();
    for length in [4096, 5000, 12_288, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        let cut = &whole[..length];
        assert!(Recording::open(cut).is_ok());
        same_as_model(cut, &FORMS[0]);
        same_as_model(cut, &FORMS[2]);
    }
}
