//! The first generation's rules.

use trace_rules::matrix_04::{Matrix04Start, Matrix04StartTimes, matrix_04_key, matrix_04_trim};
use trace_rules::stack::Line;

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
