//! The table of thresholds: the last value on one side, the first on the other.

use trace_format::time::MS;
use trace_rules::foreground::{DEBOUNCE_MS, Foreground};
use trace_rules::idle;
use trace_rules::looper::{HISTORY, Limits, Messages, Poll, SLOW_MS, Tag, Watch};
use trace_rules::startup::{CreatedBy, StartConfig, Starts};
use trace_rules::touch::TouchWatch;

/// Whether a message of this length is slow.
fn slow(ms: u64) -> bool {
    let mut messages = Messages::new(HISTORY);
    messages.begin(5, Tag::default(), 0);
    messages.end(5 + ms * MS, None).unwrap().slow_ms(SLOW_MS.into()).is_some()
}

/// What a message that has been running for so long is: a LAG, an ANR.
fn stuck(limits: Limits, ms: u64) -> (bool, bool) {
    let poll = Poll { now_ns: 7 + ms * MS, begun_ns: 7, ..Poll::default() };
    let seen = Watch::new(limits).poll(poll);
    (seen.lag.is_some(), seen.anr.is_some_and(|anr| anr.reported))
}

#[test]
fn durations() {
    let matrix = |ms| stuck(Limits::MATRIX, ms).1;
    let idle = |ms| stuck(idle::LIMITS, ms).0;
    let touch = |ms| TouchWatch::new().dispatched(1_000, 1_000 + ms, 2_000).is_some();
    type Rule<'a> = &'a dyn Fn(u64) -> bool;
    let table: [(&str, u64, Rule<'_>); 6] = [
        ("slow message", 700, &slow),
        ("LAG", 2_000, &|ms| stuck(Limits::default(), ms).0),
        ("ANR", 5_000, &|ms| stuck(Limits::default(), ms).1),
        ("idle handler", 2_000, &idle),
        ("touch", 2_000, &touch),
        ("too late for Matrix", 6_000, &|ms| !matrix(ms)),
    ];
    for (name, from, rule) in table {
        assert_eq!((rule(from - 1), rule(from)), (false, true), "{name}: {} and {from} ms", from - 1);
    }
    // Ours reports late ones too.
    assert_eq!(stuck(Limits::default(), 60_000), (true, true));
    assert_eq!(stuck(idle::LIMITS, 60_000), (true, false));
}

#[test]
fn foreground() {
    let gone = |after_ms| {
        let mut app = Foreground::new();
        app.started(1);
        app.resumed(1);
        app.paused(1, 1_000);
        app.stopped(1);
        app.tick(1_000 + after_ms).is_some()
    };
    assert_eq!((gone(DEBOUNCE_MS - 1), gone(DEBOUNCE_MS), DEBOUNCE_MS), (false, true, 500));
}

#[test]
fn starts() {
    let start = |create_ms: u64, cost_ms: u64| {
        let mut starts = Starts::new(StartConfig::default(), 1_000 * MS);
        starts.message(CreatedBy::LAUNCH, 1_000 * MS);
        starts.created(1, (1_000 + cost_ms - create_ms) * MS);
        starts.focus(1, 1, true, (1_000 + cost_ms) * MS).1
    };
    let bad = |ms| start(10, ms).unwrap().bad;
    let stack = |ms| start(10, ms).unwrap().with_stack;
    // "At most 2,000 ms" is what is recommended.
    assert_eq!((bad(2_000), bad(2_001)), (false, true));
    assert_eq!((stack(9_999), stack(10_000)), (false, true));
    assert_eq!((start(29_999, 40_000).is_some(), start(30_000, 40_000).is_some()), (true, false));
}
