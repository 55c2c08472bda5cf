//! Dumps that the agent in a JVM takes of its own accord: when a thread does not go on, and when the program ends meanwhile.

use std::path::Path;
use std::time::Duration;

use answers::dump::{Dump, Frame, LockKind, Place, Thread};
use trace_format::section::SectionKind;

use crate::end_to_end::{busy_until, recording, traced};
use test_support::temp_dir::TempDir;

/// The dumps in the one recording of a directory, which are read without a warning.
#[track_caller]
fn dumps(kept: &str) -> Vec<Dump> {
    let recording = recording(kept.as_ref());
    let sections = recording.sections().iter().filter(|section| section.kind == Some(SectionKind::DumpText));
    let read = |section| {
        let payload = recording.payload(section).unwrap().unwrap();
        let text = String::from_utf8(payload[8..].to_vec()).unwrap();
        let dump = Dump::read(Path::new("dump"), text.as_bytes()).unwrap();
        assert_eq!(dump.warnings, Vec::<String>::new(), "{text}");
        assert!(dump.sections.len() == 1 && dump.sections[0].ended, "{text}");
        dump
    };
    sections.map(read).collect()
}

#[track_caller]
fn thread<'a>(dump: &'a Dump, name: &str) -> &'a Thread {
    let threads = &dump.sections[0].threads;
    threads
        .iter()
        .find(|thread| thread.name.as_deref() == Some(name))
        .unwrap_or_else(|| panic!("{threads:?}"))
}

/// The first frame of a method: its place.
#[track_caller]
fn place<'a>(thread: &'a Thread, class: &str, method: &str) -> &'a Place {
    let java = thread.frames.iter().filter_map(|frame| match frame {
        Frame::Java(java) => Some(java),
        Frame::Native(_) | Frame::Kernel(_) => None,
    });
    let found = java.into_iter().find(|java| java.class == class && java.method == method);
    &found.unwrap_or_else(|| panic!("{thread:?}")).place
}

fn line(file: &str, line: u32) -> Place {
    Place::in_file(file, Some(line))
}

#[test]
fn main_that_waits_for_a_lock_is_dumped_with_the_locks_owner() {
    let directory = TempDir::new();
    let (_, kept, shown) = traced(&directory, "LockWait", &[]);
    assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), ("done\n", ""));
    let dumps = dumps(&kept);
    let [dump] = &dumps[..] else { panic!("{} dumps", dumps.len()) };
    let (main, owner) = (thread(dump, "main"), thread(dump, "owner"));
    assert_eq!(main.state.as_deref(), Some("BLOCKED (on object monitor)"));
    let [lock] = &main.locks[..] else { panic!("{main:?}") };
    assert_eq!((lock.kind, lock.owner, lock.frame), (LockKind::WaitingToLock, owner.tid, Some(0)));
    assert_eq!(lock.class.as_deref(), Some("java.lang.Object"));
    assert_eq!(place(main, "LockWait", "total"), &line("LockWait.java", 16));
    assert_eq!(place(main, "LockWait", "main"), &line("LockWait.java", 12));
    assert_eq!(place(owner, "LockWait", "own"), &line("LockWait.java", 24));
    assert_eq!(place(owner, "LockWait", "pause"), &line("LockWait.java", 30));
}

#[test]
fn busy_programs_that_are_terminated_are_dumped_in_their_method() {
    let directory = TempDir::new();
    let kept = busy_until(&directory, Duration::ZERO, 15);
    let dumps = dumps(&kept);
    let main = thread(dumps.last().expect("a dump"), "main");
    assert_eq!(main.state.as_deref(), Some("RUNNABLE"));
    place(main, "Busy", "parseFeed");
}

#[test]
fn programs_that_end_at_once_are_not_dumped() {
    let directory = TempDir::new();
    let (_, kept, _) = traced(&directory, "ExitsAtOnce", &[]);
    assert!(dumps(&kept).is_empty());
}
