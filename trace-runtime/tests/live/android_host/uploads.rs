//! Finished recordings are passed to the app's uploader: each until it has arrived, and then not again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use trace_format::event::Clocks;
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;

use test_support::android::{Case, Run};

fn case(name: &str) -> Case {
    Case::new("AppUploads").named(name).sdk(34)
}

/// A directory of recordings, with those of three processes that have ended.
fn directory(name: &str) -> PathBuf {
    let of_case = case(name).directory();
    let _ = std::fs::remove_dir_all(&of_case);
    let directory = of_case.join("no_backup/anrscope");
    std::fs::create_dir_all(&directory).unwrap();
    let recording = |n: u32, start_ms: u64| {
        let start = Clocks { boottime: 1, monotonic: 1, realtime: start_ms * 1_000_000 };
        RecordingBuilder::new((1 << 30) + n, "com.example.app").start(start)
    };
    // Young enough to be kept.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    for (n, builder) in [
        recording(1, now - 1_000),
        recording(2, now - 9_000).section(SectionKind::ExitInformation, b"pid=2\nreason=low_memory\n\n"),
        recording(3, now - 5_000).section(SectionKind::Verdict, b"verdict=anr\n"),
    ]
    .into_iter()
    .enumerate()
    {
        std::fs::write(directory.join(format!("old-{}.anrscope", n + 1)), builder.build()).unwrap();
    }
    directory
}

/// What was offered, each with its attempt.
fn offered(run: &Run) -> Vec<(String, String)> {
    let word = |line: &str, after: &str| {
        let mut words = line.split(' ').skip_while(|word| *word != after);
        words.nth(1).unwrap_or_default().to_owned()
    };
    run.lines("offered")
        .map(|line| (line.split(' ').next().unwrap().to_owned(), word(line, "attempt")))
        .collect()
}

/// Attempts and due time by recording.
fn state(directory: &std::path::Path) -> BTreeMap<String, (u32, i64)> {
    let text = std::fs::read_to_string(directory.join("uploads")).unwrap();
    let line = |line: &str| {
        let mut fields = line.split('\t');
        let name = fields.next().unwrap().to_owned();
        (name, (fields.next().unwrap().parse().unwrap(), fields.next().unwrap().parse().unwrap()))
    };
    text.lines().map(line).collect()
}

#[test]
fn each_recording_is_uploaded_once_those_with_an_anr_first() {
    let directory = directory("once-each");
    let run = case("once-each").word("3").run_again();
    let lines: Vec<_> = run.lines("offered").collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for (line, expected) in lines.iter().zip([
        "old-3.anrscope pid 1073741827 com.example.app began",
        "old-2.anrscope pid 1073741826 com.example.app began",
        "old-1.anrscope pid 1073741825 com.example.app began",
    ]) {
        assert!(line.starts_with(expected), "{line}");
    }
    for (line, expected) in
        lines.iter().zip(["anr true reason  ", "anr false reason low_memory ", "anr false reason  "])
    {
        assert!(line.ends_with(&format!("{expected}attempt 1 whole true main false")), "{line}");
    }
    assert!(state(&directory).values().all(|(attempts, due)| (*attempts, *due) == (1, -1)));
    // The next process finds what this one left, and nothing else.
    let run = case("once-each").word("1").run_again();
    let again = offered(&run);
    assert!(again.len() == 1 && again[0].0.starts_with("com.example.app-"), "{again:?}");
    // What is removed is forgotten.
    std::fs::remove_file(directory.join("old-1.anrscope")).unwrap();
    case("once-each").word("1").run_again();
    let known = state(&directory);
    assert!(known.len() == 4 && !known.contains_key("old-1.anrscope"), "{known:?}");
}

#[test]
fn a_failed_upload_is_retried_later_and_by_a_later_process() {
    let directory = directory("later");
    let run = case("later").word("3").word("throw").run_again();
    assert_eq!(offered(&run).len(), 3);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    let failed = state(&directory);
    // A minute after the attempt, which is in the past.
    assert!(
        failed.values().all(|(attempts, due)| *attempts == 1 && (1..=now + 60_000).contains(due)),
        "{failed:?}"
    );
    // Time passes for one of them.
    let text = std::fs::read_to_string(directory.join("uploads")).unwrap();
    let due = failed["old-2.anrscope"].1.to_string();
    std::fs::write(
        directory.join("uploads"),
        text.replacen(&format!("old-2.anrscope\t1\t{due}"), "old-2.anrscope\t1\t1", 1),
    )
    .unwrap();
    let run = case("later").word("2").word("refuse").run_again();
    let again = offered(&run);
    assert!(again.contains(&("old-2.anrscope".to_owned(), "2".to_owned())), "{again:?}");
    let waits = |name: &str| !again.iter().any(|(offered, _)| offered == name);
    assert!(again.len() == 2 && waits("old-1.anrscope") && waits("old-3.anrscope"), "{again:?}");
    let after = state(&directory)["old-2.anrscope"];
    assert!(after.0 == 2 && after.1 > now + 60_000, "twice as long: {after:?}");
}

#[test]
fn a_failed_upload_is_retried_when_due_while_the_process_lives() {
    let directory = directory("due");
    let run = case("due").word("6").word("once").run_again();
    let mut all = offered(&run);
    all.sort();
    let expected: Vec<_> = (1..=3)
        .flat_map(|n| ["1", "2"].map(|attempt| (format!("old-{n}.anrscope"), attempt.to_owned())))
        .collect();
    assert_eq!(all, expected);
    assert!(state(&directory).values().all(|(attempts, due)| (*attempts, *due) == (2, -1)));
}

#[test]
fn a_process_that_dies_during_an_upload_and_a_damaged_state_lose_nothing() {
    let directory = directory("dies");
    case("dies").word("1").word("die").dies().run_again();
    assert!(!directory.join("uploads").exists());
    std::fs::write(directory.join("uploads"), b"old-2.anrscope\t-20\t1\nold-1.anrscope\tx\ty\n\xff\xfe\tq\n")
        .unwrap();
    // Three, and the one of the process that died.
    let run = case("dies").word("4").run_again();
    let all = offered(&run);
    assert!(all.len() == 4 && all.iter().all(|(_, attempt)| attempt == "1"), "{all:?}");
    assert!(state(&directory).values().all(|(_, due)| *due == -1));
}

#[test]
fn what_stands_in_the_place_of_the_state_is_neither_followed_nor_waited_for() {
    let directory = directory("planted");
    let precious = directory.join("../precious");
    std::fs::write(&precious, "the app's").unwrap();
    std::fs::create_dir(directory.join("uploads")).unwrap();
    std::os::unix::fs::symlink("../precious", directory.join("uploads.part")).unwrap();
    let pipe = directory.join("uploads.lock");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let run = case("planted").word("3").run_again();
    assert_eq!(offered(&run).len(), 3);
    assert!(state(&directory).values().all(|(attempts, due)| (*attempts, *due) == (1, -1)));
    assert_eq!(std::fs::read_to_string(precious).unwrap(), "the app's");
}

#[test]
fn an_uploader_that_interrupts_its_thread_gets_the_recording_again() {
    let directory = directory("interrupted");
    let run = case("interrupted").word("6").word("interrupt").run_again();
    assert_eq!(offered(&run).len(), 6);
    assert!(state(&directory).values().all(|(attempts, due)| (*attempts, *due) == (2, -1)));
}
