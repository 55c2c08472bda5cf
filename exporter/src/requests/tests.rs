use std::path::Path;

use proptest::prelude::*;
use trace_format::event::{Wait, WaitKind};
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::time::MS;
use trace_format::{Event, Recording};

use super::*;

const WAIT: Wait = Wait::new(WaitKind::Park);

fn map() -> MethodMap {
    let lines: Vec<String> = (1..=9).map(|id| format!("{id},1,com.example.C{id} m{id} ()V")).collect();
    MethodMap::parse(Path::new("map"), lines.join("\n").into_bytes()).unwrap()
}

fn find(builder: RecordingBuilder, threads: &str, method: Option<&str>) -> Requests {
    let watch =
        Watch { threads: vec![threads.to_owned()], method: method.map(str::to_owned), limit: 100 * MS };
    Requests::find(&Recording::open(builder.build()).unwrap(), &map(), &watch).unwrap()
}

fn worker(fill: impl FnOnce(&mut ThreadBuilder)) -> RecordingBuilder {
    RecordingBuilder::new(1, "p").thread("http-1", 7, fill)
}

#[test]
fn outermost_calls_are_requests_and_the_slow_ones_say_where_the_time_went() {
    let requests = find(
        worker(|t| {
            for n in 0..9 {
                t.enter(n * 20 * MS, 1).enter(n * 20 * MS + MS, 2).exit(n * 20 * MS + 9 * MS, 2);
                t.exit(n * 20 * MS + 10 * MS, 1);
            }
            t.enter(200 * MS, 1).enter(201 * MS, 3).event(202 * MS, Event::WaitBegin(WAIT));
            t.event(402 * MS, Event::WaitEnd).exit(403 * MS, 3).exit(410 * MS, 1);
        })
        .thread("other", 8, |t| {
            t.enter(0, 4).exit(900 * MS, 4);
        }),
        "http-*",
        None,
    );
    assert_eq!((requests.threads, requests.ended, requests.open, requests.cut), (1, 10, 0, 0));
    assert_eq!((requests.median, requests.most, requests.longest), (10 * MS, 210 * MS, 210 * MS));
    assert_eq!(requests.methods, [("com.example.C1.m1".to_owned(), 10)]);
    let [slow] = &requests.slow[..] else { panic!("{requests:?}") };
    assert_eq!((slow.method.as_str(), slow.duration, slow.waited), ("com.example.C1.m1", 210 * MS, 200 * MS));
    let names: Vec<&str> = slow.path.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["com.example.C3.m3", "park"]);
    assert_eq!(
        requests.lines(),
        [
            "10 requests on 1 thread: median 10 ms, 95 % below 210 ms, longest 210 ms",
            "       10 com.example.C1.m1",
            "1 took 100 ms or longer:",
            "    210 ms at +0.200 s on http-1 (tid 7): com.example.C1.m1, of it waiting 200 ms",
            "      200 ms  C3.m3 > park (self 200 ms)",
        ]
    );
    assert_eq!(requests.to_json()["slow"][0]["path"][1]["self_ns"], 200 * MS);
}

#[test]
fn a_loop_around_all_requests_is_passed_by_with_the_name_of_a_method() {
    let fill = |t: &mut ThreadBuilder| {
        t.enter(0, 1);
        for n in 1..5 {
            t.event(n * 100 * MS, Event::WaitBegin(WAIT)).event(n * 100 * MS + 50 * MS, Event::WaitEnd);
            t.enter(n * 100 * MS + 50 * MS, 2).enter(n * 100 * MS + 51 * MS, 2);
            t.exit(n * 100 * MS + 52 * MS, 2).exit(n * 100 * MS + 60 * MS, 2);
        }
    };
    let whole = find(worker(fill), "*", None);
    assert_eq!((whole.ended, whole.open, whole.slow_count), (0, 1, 1));
    assert!(!whole.slow[0].ended);
    for name in ["m2", "C2.m2", "com.example.C2.m2"] {
        let requests = find(worker(fill), "*", Some(name));
        assert_eq!(
            (requests.ended, requests.open, requests.longest),
            (4, 0, 10 * MS),
            "recursion counts once"
        );
        assert_eq!(requests.slow_count, 0);
    }
    assert!(find(worker(fill), "*", Some("2.m2")).lines()[0].contains("no method 2.m2"));
}

#[test]
fn a_request_whose_start_is_lost_and_one_without_an_end_are_no_durations() {
    let requests = find(
        worker(|t| {
            t.overwritten(2).exit(300 * MS, 1);
            t.enter(310 * MS, 2).exit(311 * MS, 2).enter(320 * MS, 3);
        })
        .last_alive(900 * MS),
        "http-1",
        None,
    );
    assert_eq!((requests.ended, requests.open, requests.cut), (1, 1, 1));
    assert_eq!(requests.longest, MS);
    assert_eq!(requests.slow.last().map(|slow| (slow.duration, slow.ended)), Some((580 * MS, false)));
    assert!(requests.missing > 0);
    let none = find(
        worker(|t| {
            t.enter(0, 1);
        }),
        "nio-*",
        None,
    );
    assert_eq!(none.lines(), ["requests: no thread has such a name; the recording has http-1"]);
}

#[test]
fn patterns_have_stars_for_any_characters() {
    let fits = |name: &str, pattern: &str| fits_pattern(name.as_bytes(), pattern.as_bytes());
    assert!(fits("http-nio-8080-exec-1", "http-nio-*") && fits("a", "*") && fits("", "*") && fits("", ""));
    assert!(fits("http-nio-8080-exec-1", "http*exec-*1") && fits("aXbXc", "a*b*c") && fits("aab", "a*ab"));
    assert!(!fits("http", "http-*") && !fits("xhttp", "http") && !fits("httpx", "http") && !fits("", "a"));
    assert!(!fits("abc", "a*b"));
}

proptest! {
    #[test]
    fn any_events_divide_into_requests_within_the_recording(
        events in proptest::collection::vec((1_u64..50, 0_u32..6, any::<bool>()), 1..80),
        lost: bool,
        named: bool,
    ) {
        let requests = find(
            worker(|t| {
                if lost {
                    t.overwritten(1);
                }
                let mut now = 1_000;
                for (after, id, begins) in &events {
                    now += after * MS;
                    match (id, begins) {
                        (0, true) => t.event(now, Event::WaitBegin(WAIT)),
                        (0, false) => t.event(now, Event::WaitEnd),
                        (id, true) => t.enter(now, *id),
                        (id, false) => t.exit(now, *id),
                    };
                }
            }),
            "*",
            named.then_some("m2"),
        );
        let whole: u64 = events.iter().map(|(after, ..)| after * MS).sum();
        prop_assert!(requests.median <= requests.most && requests.most <= requests.longest);
        prop_assert!(requests.longest <= whole && requests.open <= 1);
        prop_assert_eq!(requests.methods.iter().map(|(_, count)| count).sum::<u64>(), requests.ended + requests.open + requests.cut);
        prop_assert!(requests.slow.is_sorted_by(|a, b| a.duration >= b.duration));
        for slow in &requests.slow {
            prop_assert!(slow.waited <= slow.duration && slow.path.iter().all(|call| call.total <= slow.duration));
        }
        prop_assert!(lost || requests.cut == 0);
    }
}
