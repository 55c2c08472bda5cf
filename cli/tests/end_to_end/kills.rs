//! `kill -9` of a JVM at random instants: what it wrote is in the recording, or was overwritten by newer words.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use trace_format::event::ConcurrencyStep;
use trace_format::layout::State;
use trace_format::{Event, Recording};

use crate::end_to_end::{compile, events, recording, recordings, runtime_classes};
use test_support::program;
use test_support::temp_dir::TempDir;

/// Number of kills; `scripts/prove jvm-kills` has more.
fn kills() -> u64 {
    std::env::var("ANRSCOPE_KILLS").map_or(32, |kills| kills.parse().expect("a number"))
}

#[test]
fn kills_lose_no_word() {
    let directory = TempDir::new();
    compile("Counter", directory.path());
    // Any traced run lays the library out.
    compile("DeepThrow", directory.path());
    let kept = directory.name("kept");
    let shown =
        program::run(["jvm", "--quiet", "--keep", &kept, "--", "-cp", &directory.name(""), "DeepThrow"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let library = Path::new(&kept).join("runtime/libanrscope.so");

    // Two at a time: most of each is the JVM's start.
    std::thread::scope(|scope| {
        for half in 0..2 {
            let (directory, library) = (&directory, &library);
            scope.spawn(move || {
                for kill in (half..kills()).step_by(2) {
                    // Spread over the first tenth of a second of writing by a fixed sequence.
                    let micros = (kill.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % 100_000;
                    kill_after(directory, library, kill, Duration::from_micros(micros));
                }
            });
        }
    });
}

fn kill_after(directory: &TempDir, library: &Path, kill: u64, after: Duration) {
    let own = directory.path().join(format!("kill-{kill}"));
    std::fs::create_dir(&own).unwrap();
    let mut java = Command::new("java")
        .arg(format!("-Xbootclasspath/a:{}", runtime_classes().display()))
        .arg(format!("-Danrscope.lib={}", library.display()))
        .arg(format!("-Danrscope.dir={}", own.display()))
        .arg(format!("-Danrscope.clock={}", if kill % 4 < 2 { "precise" } else { "coarse" }))
        .args(["-Danrscope.resolution=exact", "-Danrscope.max_overhead=0"])
        // In coarse mode the compiled code writes the words and keeps the position: both compilers' code.
        .arg(format!("-XX:TieredStopAtLevel={}", if kill % 8 < 4 { 1 } else { 4 }))
        // Small rings, so that most kills fall on words that overwrite others.
        .args(["-Danrscope.mainWords=65536", "-Danrscope.poolWords=65536", "-cp"])
        .arg(directory.path())
        .arg("Counter")
        .arg(own.join("page"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(java.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "running\n");
    // The recording begins in memory; that it is in its file is said inside of the program alone. From then on it takes
    // less than this until every thread that runs writes there.
    while !is_there(&own) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(200) + after);
    java.kill().unwrap();
    java.wait().unwrap();
    check(&recording(&own), &std::fs::read(own.join("page")).unwrap(), kill);
    std::fs::remove_dir_all(&own).unwrap();
}

fn is_there(directory: &Path) -> bool {
    let mut magic = [0; 8];
    let Some(path) = recordings(directory).pop() else { return false };
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == trace_format::layout::MAGIC
}

fn check(recording: &Recording<Vec<u8>>, page: &[u8], kill: u64) {
    assert_eq!(recording.faults(), (&[][..], 0), "kill {kill}");
    assert_eq!(recording.header().state, Some(State::Open), "kill {kill}");
    assert_eq!((recording.header().dropped, recording.header().clamped), (0, 0), "kill {kill}");
    for place in 0..4 {
        let counted = u64::from_le_bytes(page[place * 8..place * 8 + 8].try_into().unwrap());
        let name = if place == 0 { "main".to_owned() } else { format!("counter-{place}") };
        let Some(thread) = recording.threads().iter().find(|t| t.name.as_deref() == Some(&name)) else {
            assert_eq!(counted, 0, "kill {kill}: {name} wrote, and is not there");
            continue;
        };
        assert_eq!(thread.main, place == 0);
        // Main wrote two words before it began to count.
        let before = if place == 0 { 2 } else { 0 };
        let written = thread.written() - before;
        // Killed before or after it counted its last event.
        let Some(recorded) = [counted, counted + 1].into_iter().find(|calls| words(*calls) == written) else {
            panic!("kill {kill}: {name} counted {counted}, {written} words");
        };
        // An event is overwritten whole.
        let overwritten = thread.overwritten().saturating_sub(before);
        let first = overwritten / words(7) * 7;
        let first = (first..first + 7).find(|calls| words(*calls) == overwritten);
        let first = first.unwrap_or_else(|| panic!("kill {kill}: {name} lost {overwritten} words"));
        let mut events = events(recording, thread).into_iter().map(|(_, event)| event);
        if thread.overwritten() == 0 {
            (0..before).for_each(|_| assert!(events.next().is_some()));
        }
        for call in first..recorded {
            let method = (call % 0xFE000) as u32 + 1;
            let found = events.next();
            let is_right = match found {
                Some(Event::Concurrency(step)) => {
                    call % 7 == 6 && step.step == ConcurrencyStep::Acquired && step.method == method
                }
                Some(Event::Exit(id)) => call % 7 != 6 && id == method,
                _ => false,
            };
            assert!(is_right, "kill {kill}: event {call} of {name}, after {first}: {found:?}");
        }
        assert_eq!(events.next(), None, "kill {kill}: {name}");
    }
}

/// Words of so many events: each seventh is a step, of four words.
fn words(calls: u64) -> u64 {
    calls + calls / 7 * 3
}
