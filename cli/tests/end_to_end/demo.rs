//! `anrscope demo` against its child's own log.

use std::collections::HashMap;
use std::path::Path;

use crate::end_to_end::five_questions::answered;
use crate::end_to_end::{number, text};
use test_support::engine;
use test_support::program;
use test_support::schema;
use test_support::temp_dir::TempDir;

const ANRS: &str = "include perfetto module android.anrs; select * from android_anrs";
const SLICES: &str = "
    select thread.name as thread, thread.tid, thread.is_main_thread as main, slice.name, slice.ts, slice.dur, slice.depth,
        parent.name as parent
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
        left join slice parent on slice.parent_id = parent.id
    where thread.name not in ('anrscope recorder', 'main: processor while late', 'main: messages before an ANR',
        'MessageQueue', 'VSYNC') and thread_track.name is not 'main: processor while late' and slice.name != 'has the lock' and slice.name not glob 'Lock contention: *'
        and coalesce(thread_track.name, '') not glob 'locks of *' and coalesce(thread.name, '') not glob 'locks of *'
    order by thread.tid, slice.ts, slice.depth";

/// A slice of the log: its name and the bounds of its begin and end.
#[derive(Debug)]
struct Logged {
    name: String,
    begin: (u64, u64),
    end: Option<(u64, u64)>,
}

type Slices = HashMap<String, Vec<Logged>>;
type Instants = HashMap<String, (u64, u64)>;

/// The log by thread, slices in the order of their begins; and the parent's instants.
fn read_log(path: &Path) -> (Slices, Instants) {
    let mut threads = Slices::new();
    let mut open: HashMap<String, Vec<usize>> = HashMap::new();
    let mut instants = HashMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let [thread, kind, name, before, after] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let bounds = (before.parse().unwrap(), after.parse().unwrap());
        let slices = threads.entry(thread.to_owned()).or_default();
        let stack = open.entry(thread.to_owned()).or_default();
        match kind {
            "B" => {
                stack.push(slices.len());
                slices.push(Logged { name: name.to_owned(), begin: bounds, end: None });
            }
            "E" => {
                let begun = &mut slices[stack.pop().expect("an end has a begin")];
                assert_eq!(begun.name, name);
                begun.end = Some(bounds);
            }
            _ => {
                instants.insert(format!("{thread} {name}"), bounds);
            }
        }
    }
    threads.retain(|_, slices| !slices.is_empty());
    (threads, instants)
}

/// How far the recorder's clock may be off the one that the child's log is written by: the cycle counter is bent to it from
/// time to time, and what it is off by in between is drift up to here (trace-runtime's `cycles`).
const DRIFT_NS: u64 = 100_000;

fn within(time: u64, bounds: (u64, u64)) -> bool {
    (bounds.0 - DRIFT_NS..=bounds.1 + DRIFT_NS).contains(&time)
}

#[test]
fn the_trace_of_a_killed_hang_is_what_its_child_logged() {
    let directory = TempDir::new();
    let shown = program::run(["demo", "--stall", "7", "--out", directory.path().to_str().unwrap()]).ok(&[]);
    for answer in [
        "CheckoutActivity$PayTask (Handler callback)",
        "com.example.shop.PriceStore",
        "SyncWorker",
        "ANR in com.example.shop (pid ",
        "): main thread blocked for ",
        "Cause: LOCK WAIT (high confidence)\n",
        ", forwarded to the Signal Catcher; ANR\n",
        // Main sleeps in the lock; the samples show it.
        "  CPU           sleeping for 100 % of ",
        "; cost ",
    ] {
        assert!(shown.contains(answer), "{answer} is not in {shown}");
    }
    answered("demo", &shown, false);
    let verbose = program::run(["report", &directory.name("demo.anrscope"), "--verbose"]).ok(&[]);
    for detail in [
        "  cost, ",
        "  SIGQUIT: 1 received, 1 forwarded, 0 not forwarded;",
        "  verdict     ANR (high confidence): main blocked for ",
        // The parent is no system by its uid; that the list names us settles it.
        "the system lists us as not responding (poll ",
    ] {
        assert!(verbose.contains(detail), "{detail} is not in {verbose}");
    }
    let json = program::run(["report", &directory.name("demo.anrscope"), "--format", "json"]).ok(&[]);
    schema::fits(&serde_json::from_str(&json).unwrap());
    let (log, instants) = read_log(&directory.path().join("demo.log"));
    let (sigquit, sigkill) = (instants["parent SIGQUIT"], instants["parent SIGKILL"]);
    // The Signal Catcher got it, after the sensor.
    let caught = instants["Signal Catcher SIGQUIT"];

    for trace in ["demo.pftrace", "demo.json"] {
        let answer = engine::ask(&directory.path().join(trace), &[ANRS, SLICES]);
        assert!(answer.problems.is_empty(), "{trace}: {:?}", answer.problems);
        let [anr] = &answer.queries[0][..] else { panic!("{trace}: {:?}", answer.queries[0]) };
        let at = number(anr, "ts");
        assert!(within(at, (sigquit.0, caught.1)), "{trace}: {at} {sigquit:?} {caught:?}");
        let subject = text(anr, "subject");
        assert!(subject.starts_with("main thread blocked ") && subject.contains("(SIGQUIT)"), "{subject}");

        let rows = &answer.queries[1];
        let end = rows.iter().map(|row| number(row, "ts") + number(row, "dur")).max().unwrap();
        assert!(
            // The last word is much older: it is the beat of the timer that says how long main hung.
            end <= sigkill.1 + DRIFT_NS && end + 2_000_000_000 > sigkill.0,
            "{trace}: ends at {end}, killed at {sigkill:?}"
        );
        let mut compared = 0;
        for (thread, logged) in &log {
            let slices: Vec<_> = rows.iter().filter(|row| text(row, "thread") == thread).collect();
            // The kill may fall between a word and the log's line for it.
            assert!(slices.len() == logged.len() || slices.len() == logged.len() + 1, "{trace}: {thread}");
            for (slice, logged) in slices.iter().zip(logged) {
                let (ts, dur) = (number(slice, "ts"), number(slice, "dur"));
                assert!(within(ts, logged.begin), "{trace}: {slice} {logged:?}");
                match logged.end {
                    Some(bounds) => assert!(within(ts + dur, bounds), "{trace}: {slice} {logged:?}"),
                    None => assert!(
                        ts + dur == end || ts + dur + DRIFT_NS >= sigkill.0,
                        "{trace}: {slice} {logged:?}"
                    ),
                }
                let name = text(slice, "name");
                if logged.name == "wait" {
                    assert!(
                        name.contains("monitor") || name == "java.io.InputStream.read",
                        "{trace}: {slice}"
                    );
                } else {
                    assert_eq!(name, logged.name, "{trace}: {slice}");
                }
                compared += 1;
            }
            assert_eq!(text(slices[0], "thread") == "main", slices[0]["main"] == 1, "{trace}");
        }
        assert_eq!(log.len(), 4, "{:?}", log.keys());
        assert!(
            rows.len() - compared <= log.len(),
            "{trace}: {} slices, {compared} of them logged",
            rows.len()
        );
        check_stages(rows);
    }
}

/// Each doFrame holds the three stages, in order.
fn check_stages(rows: &[serde_json::Value]) {
    let frames: Vec<_> =
        rows.iter().filter(|row| text(row, "name").starts_with("Choreographer#doFrame")).collect();
    assert!(frames.len() >= 150, "{} frames", frames.len());
    for frame in frames {
        let name = text(frame, "name");
        let stages: Vec<_> =
            rows.iter().filter(|row| row["parent"] == name).map(|row| text(row, "name").to_owned()).collect();
        assert_eq!(stages, ["input", "animation", "traversal"], "{name}");
    }
}

#[test]
fn without_a_hang_there_is_no_anr() {
    let directory = TempDir::new();
    let shown = program::run(["demo", "--stall", "0", "--out", directory.path().to_str().unwrap()]).ok(&[]);
    assert!(shown.starts_with("No hang in com.example.shop (pid "), "{shown}");
    for trace in ["demo.pftrace", "demo.json"] {
        assert_eq!(engine::rows(&directory.path().join(trace), ANRS), [] as [serde_json::Value; 0]);
    }
}

#[test]
fn a_hang_that_the_system_does_not_detect_is_reported() {
    let directory = TempDir::new();
    let shown = program::run(["demo", "--stall", "3", "--out", directory.path().to_str().unwrap()]).ok(&[]);
    assert!(shown.starts_with("Hang in com.example.shop (pid ") && shown.contains("SyncWorker"), "{shown}");
    assert_eq!(engine::rows(&directory.path().join("demo.pftrace"), ANRS), [] as [serde_json::Value; 0]);
}
