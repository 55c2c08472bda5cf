//! A program with contended locks: who waited for whom, for which lock, and for how long.

use exporter::MethodMap;
use trace_format::event::WaitKind;
use trace_format::{Event, Recording, Thread};

use crate::end_to_end::model_rows::same_in_all_forms;
use crate::end_to_end::{events, number, recording, recordings, text, traced};
use test_support::engine;
use test_support::temp_dir::TempDir;

/// Kind, owner's uid, lock, class and nanoseconds of each wait of a thread.
fn waits(recording: &Recording<Vec<u8>>, thread: &Thread) -> Vec<(WaitKind, u32, u64, String, u64)> {
    let mut open = Vec::new();
    let mut waits = Vec::new();
    for (time, event) in events(recording, thread) {
        match event {
            Event::WaitBegin(wait) => open.push((time, wait)),
            Event::WaitEnd => {
                let (begun, wait) = open.pop().expect("an end behind each begin");
                let class = recording.texts().get(wait.class).unwrap_or_default().to_owned();
                waits.push((wait.kind, wait.owner, wait.lock, class, time - begun));
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    waits
}

/// Of a real program on a real virtual machine, its locks and their owners among them.
#[test]
fn every_row_of_a_jvms_trace_matches_the_model() {
    let directory = TempDir::new();
    let (_, kept, _) = traced(&directory, "Contention", &[]);
    let map = MethodMap::load(&std::path::Path::new(&kept).join("methodMapping.txt")).unwrap();
    let slices: u64 = recordings(kept.as_ref()).iter().map(|path| same_in_all_forms(path, &map)).sum();
    assert!(slices > 10, "{slices}");
}

#[test]
fn the_recording_has_who_waited_for_whom() {
    let directory = TempDir::new();
    let (trace, kept, shown) = traced(&directory, "Contention", &[]);
    assert_eq!(shown.stderr, "");
    let (hashes, rest) = shown.stdout.split_once('\n').unwrap();
    assert_eq!(rest, "mine\nsize 1\nnull\n", "as without our calls");
    let hashes: Vec<u64> = hashes.split(' ').map(|hash| hash.parse().unwrap()).collect();

    let recording = recording(kept.as_ref());
    let named = |name: &str| {
        let threads = recording.threads().iter();
        let mut found = threads.filter(|thread| thread.name.as_deref() == Some(name));
        found.next().unwrap_or_else(|| panic!("no thread {name}"))
    };
    let main = waits(&recording, named("main"));
    let of = |kind: WaitKind, lock: u64| {
        let found: Vec<_> = main.iter().filter(|wait| wait.0 == kind && wait.2 == lock).collect();
        assert_eq!(found.len(), 1, "{main:?}");
        found[0].clone()
    };
    for (lock, owner, class) in
        [(hashes[0], "holder", "java.lang.StringBuilder"), (hashes[1], "writer", "Contention$Store")]
    {
        let (_, by, _, of_class, lasted) = of(WaitKind::Monitor, lock);
        assert_eq!((by, of_class.as_str()), (named(owner).uid, class), "{main:?}");
        // The holder sleeps 300 ms, of which a busy machine may take some before main gets to the lock.
        assert!(lasted > 50_000_000, "{main:?}");
    }
    let mut kinds: Vec<WaitKind> = main.iter().map(|wait| wait.0).collect();
    let (join, monitor) = (WaitKind::Join, WaitKind::Monitor);
    // await, the lock, join; await, the method's lock, join; poll. A latch that is open already is no wait.
    assert_eq!(kinds.pop(), Some(WaitKind::Park));
    kinds.retain(|kind| *kind != WaitKind::Park);
    assert_eq!(kinds, [monitor, join, monitor, join]);
    assert!(main.last().is_some_and(|poll| poll.4 >= 50_000_000), "{main:?}");
    assert!(waits(&recording, named("holder")).iter().any(|wait| wait.0 == WaitKind::Sleep));

    // And what a user sees: Perfetto's own page for locks reads these names.
    let rows = engine::rows(
        trace.as_ref(),
        "select name, dur from slice where name like '%monitor contention%' order by ts",
    );
    assert_eq!(rows.len(), 2, "{rows:?}");
    for (row, owner) in rows.iter().zip(["holder", "writer"]) {
        assert!(text(row, "name").contains(owner) && number(row, "dur") > 50_000_000, "{row}");
    }
}
