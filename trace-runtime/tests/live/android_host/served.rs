//! The provider and the receivers through which `anrscope device` reaches an app that run-as does not
//! serve.

use std::path::PathBuf;
use std::process::Command;

use trace_format::Event;
use trace_format::event::Change;

use test_support::android::{Case, Run, events, open};

fn case(name: &str) -> Case {
    Case::new("AppServed").named(name).sdk(34)
}

/// The directory of that case's recordings.
fn directory(name: &str) -> PathBuf {
    case(name).directory().join("no_backup/anrscope")
}

fn lines(run: &Run, word: &str) -> Vec<String> {
    run.lines(word).map(str::to_owned).collect()
}

#[test]
fn only_permitted_callers_read_recordings() {
    let run = case("whom").run();
    // This app, the shell and that of another user for a debuggable build, and the permission's holder; no
    // other caller.
    let yes = "true 300001 0 yes";
    let no = "SecurityException SecurityException SecurityException SecurityException";
    let expected = [
        ("true 10123", yes),
        ("true 2000", yes),
        ("true 1002000", yes),
        ("true 10200", no),
        ("true 10300", yes),
        ("true 1000", no),
        ("false 10123", yes),
        ("false 2000", no),
        ("false 1002000", no),
        ("false 10200", no),
        ("false 10300", yes),
        ("false 1000", no),
    ];
    let expected: Vec<_> = expected.iter().map(|(who, what)| format!("{who} {what}")).collect();
    assert_eq!(lines(&run, "guard"), expected);
    assert_eq!(
        lines(&run, "broadcast"),
        [
            "true result=1, data=\"was recording\" signed result=1, data=\"was recording\"",
            "false result=0, data=\"this build is not debuggable\" signed result=1, data=\"was recording\"",
        ]
    );

    // Paths that lead elsewhere are not found.
    let names = lines(&run, "name");
    assert_eq!(names.len(), 12, "{names:?}");
    for line in &names {
        let refused = ["FileNotFoundException", "IllegalArgumentException"];
        assert!(refused.iter().any(|refusal| line.ends_with(refusal)), "{line}");
    }
    let expected = "IllegalArgumentException FileNotFoundException IllegalArgumentException";
    assert_eq!(lines(&run, "elsewhere"), [expected]);
}

#[test]
fn a_recording_is_listed_summed_and_streamed_and_a_live_one_copied_first() {
    let run = case("streams").run();
    let old = directory("streams").join("old-999999999.anrscope");
    let sum = Command::new("cksum").arg(&old).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    let sum = sum.split(' ').next().unwrap();
    let one = &lines(&run, "one")[0];
    assert!(one.starts_with("name=old-999999999.anrscope size=300001 modified="), "{one}");
    assert!(one.ends_with(&format!("cksum={sum} state=still")), "{one} {sum}");
    let listed = lines(&run, "listed");
    assert_eq!(listed.len(), 3, "two recordings, and what is asked later: {listed:?}");
    assert!(
        listed.iter().any(|row| row.starts_with("name=old-999999999.anrscope") && row.ends_with("live=0"))
    );
    assert!(listed.iter().any(|row| row.starts_with("name=com.example.app-") && row.ends_with("live=1")));
    assert_eq!(listed[2], "then true");
    let live = &lines(&run, "live")[0];
    assert!(live.starts_with("name=.pull-7-a ") && live.ends_with("state=copy"), "{live}");
    for line in [
        "forgotten false",
        "read true true 0",
        "copy true true changed true",
        "again 1 same true odd 1",
        "deleted 1 0",
    ] {
        assert!(run.printed.lines().any(|own| own == line), "{line}: {}", run.printed);
    }
    assert_eq!(
        lines(&run, "left"),
        ["-rf.anrscope .hidden.anrscope com.example.app-PID.anrscope link.anrscope old-999999999.anrscope"]
    );
}

#[test]
fn commands_run_and_are_answered_off_main() {
    let run = case("commands").run();
    for line in [
        "call stop yes was recording",
        "call stop yes was paused",
        "call start yes was paused",
        "call start yes was recording",
        "call reboot no the commands are start, stop, dump, flush",
        "flush true",
        "send STOP result=1, data=\"was recording\"",
        "send START result=1, data=\"was paused\"",
        "send REBOOT result=0, data=\"the commands are start, stop, dump, flush\"",
        "unordered result=0",
        "foreign result=0",
    ] {
        assert!(run.printed.lines().any(|own| own == line), "{line}: {}", run.printed);
    }
    // HotSpot writes the dump to the same stream meanwhile, at times the start of a line in front of this one.
    let dump = "dump result=1, data=\"requested\"";
    assert!(run.printed.lines().any(|own| own.ends_with(dump)), "{dump}: {}", run.printed);
    // The recording shows what was done to it, and the dump as one that was requested here.
    let mut own = std::fs::read_dir(directory("commands")).unwrap().map(|entry| entry.unwrap().path());
    let own = own.find(|path| path.to_str().unwrap().contains("com.example.app-")).unwrap();
    let recording = open(&own);
    let service = events(&recording, recording.service().unwrap());
    let change = |(_, event)| if let Event::Control(control) = event { Some(control.change) } else { None };
    let changes: Vec<_> = service.into_iter().filter_map(change).collect();
    assert_eq!(changes, [Change::Paused, Change::Resumed, Change::Paused, Change::Resumed]);
}
