//! The first generation's rules.

use trace_rules::matrix_04::{
    FrameBeat, Matrix04Issue, Matrix04Kind, Matrix04Limits, Matrix04Methods, Matrix04Start,
    Matrix04StartTimes, matrix_04_key, matrix_04_trim,
};
use trace_rules::stack::Line;

#[test]
fn the_first_frame_and_a_frame_that_goes_back_are_only_remembered() {
    let mut beat = FrameBeat::default();
    assert_eq!(beat.frame(100), None);
    assert_eq!(beat.frame(116), Some((100, 116)));
    assert_eq!(beat.frame(90), None);
    assert_eq!(beat.frame(106), Some((90, 106)));
    beat.reset();
    assert_eq!(beat.frame(200), None);
}

#[test]
fn normal_enter_anr_and_full_are_reported() {
    let mut methods = Matrix04Methods::default();
    let issue = |kind, cost_ms, from, to| Some(Matrix04Issue { kind, cost_ms, from, to });
    // Before a page was entered, frames are not judged.
    assert_eq!(methods.frame(0, 1_500, 10), (None, true));
    methods.created(2_000, 50);
    assert_eq!(methods.frame(2_000, 2_016, 60), (None, false), "the buffer is kept");
    assert_eq!(methods.focused(5_000, 400), issue(Matrix04Kind::Enter, 3_000, 49, 399));
    assert_eq!(methods.frame(5_000, 6_000, 80), (None, true));
    assert_eq!(methods.frame(6_000, 7_001, 80), (issue(Matrix04Kind::Normal, 1_001, 0, 79), true));
    assert_eq!(methods.frame(7_001, 13_001, 80), (None, true), "6,000 ms and more are no report");
    // The timer, and the frame that ends the stall is not reported again.
    assert_eq!(methods.due_ms(), Some(18_001));
    assert_eq!(methods.tick(18_000, true, 90), None);
    assert_eq!(methods.tick(18_001, true, 90), issue(Matrix04Kind::Anr, 5_000, 0, 89));
    assert_eq!(methods.frame(13_001, 18_900, 95), (None, true));
    assert_eq!(methods.tick(23_900, false, 90), None, "not in the background");
    assert_eq!(methods.full(1_000, 2_500, 1_000_000), issue(Matrix04Kind::Full, 1_500, 0, 999_999));
    assert_eq!(methods.full(1_000, 7_000, 1_000_000), None);
    // A page that is fast, and one without a create.
    methods.created(30_000, 10);
    assert_eq!(methods.focused(32_999, 20), None);
    assert_eq!(methods.focused(40_000, 20), None);
}

#[test]
fn limits_for_slow_and_too_long_pages_can_be_set() {
    let enter = |limits, cost_ms: u64| {
        let mut methods = Matrix04Methods::new(limits);
        methods.created(1_000, 0);
        methods.focused(1_000 + cost_ms, 0).map(|issue| issue.cost_ms)
    };
    let of = |cost_ms| enter(Matrix04Limits::MATRIX, cost_ms);
    assert_eq!((of(2_999), of(3_000), of(5_999), of(6_000)), (None, Some(3_000), Some(5_999), None));
    let of = |cost_ms| enter(Matrix04Limits { enter_ms: 500, too_long_ms: 30_000 }, cost_ms);
    assert_eq!((of(499), of(500), of(29_999), of(30_000)), (None, Some(500), Some(29_999), None));
}

#[test]
fn the_buffer_is_kept_for_twenty_seconds() {
    let mut methods = Matrix04Methods::default();
    methods.created(1_000, 5);
    assert!(methods.locked(20_999) && !methods.locked(21_000));
    assert_eq!(methods.frame(20_990, 21_000, 9), (None, true));
}

#[test]
fn a_start_reports_between_and_splash() {
    let times = Matrix04StartTimes {
        application_begin: 1_000,
        application_end: 1_300,
        first_create: 1_500,
        splash_focus: 1_800,
        focus: 2_600,
    };
    let start = Matrix04Start {
        application: 300,
        between: 200,
        activity: 1_100,
        all: 1_600,
        splash: 800,
        warm: false,
    };
    assert_eq!(Matrix04Start::from_times(&times), Some(start));
    // More than 2,000 between: the process was there before.
    let warm = Matrix04StartTimes { first_create: 3_301, focus: 4_000, splash_focus: 0, ..times };
    let start =
        Matrix04Start { application: 300, between: 0, activity: 699, all: 699, splash: 0, warm: true };
    assert_eq!(Matrix04Start::from_times(&warm), Some(start));
    assert_eq!(
        Matrix04Start::from_times(&Matrix04StartTimes { first_create: 3_300, ..warm }).map(|s| s.warm),
        Some(false)
    );
    assert_eq!(Matrix04Start::from_times(&Matrix04StartTimes { application_end: 1_000, ..times }), None);
}

#[test]
fn matrix_04_stacks_have_twenty_lines_and_keys_of_many_ids() {
    let line = |depth, id, ms| Line { depth, id, count: 1, ms };
    let mut lines =
        vec![line(0, 1, 1_000), line(1, 2, 700), line(2, 3, 500), line(1, 4, 100), line(2, 5, 90)];
    assert_eq!(matrix_04_key(&lines, 1_000), "1\n2\n3");
    assert_eq!(matrix_04_key(&[line(0, 1, 299), line(1, 9, 299), line(0, 2, 200)], 1_000), "1\n2");
    assert_eq!(matrix_04_key(&[], 1_000), "");
    // Few enough: as they are.
    let before = lines.clone();
    matrix_04_trim(&mut lines, 1_000);
    assert_eq!(lines, before);
    // 17 of 50 ms go, being 5 %; then what 4 called, which took a tenth of its caller.
    lines.extend((0..17).map(|n| line(1, 100 + n, 50)));
    matrix_04_trim(&mut lines, 1_000);
    assert_eq!(lines.iter().map(|line| line.id).collect::<Vec<_>>(), [1, 2, 3, 4]);
}
