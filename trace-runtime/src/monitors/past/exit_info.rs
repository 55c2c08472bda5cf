//! How earlier processes ended: the system's account of each is appended to the recording that the process
//! left.
//!
//! A process that gave the system its recording's id (`ExitInfo.java`) is found by it. Any other is found by pid,
//! name and time.

use std::path::Path;

use trace_format::section::{SectionKind, key_values};
use trace_format::sections::exit_info::{ExitInformation, Trace};

use crate::monitors::anr::anr_listener;
use crate::monitors::config::options::{self, Setting};
use crate::monitors::config::redact;
use crate::monitors::past::{crash_loop, old_recording};

/// The system's account of a process that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit<'a> {
    pub(crate) pid: u32,
    pub(crate) process: &'a str,
    /// When it ended, ms since 1970.
    pub(crate) time_ms: u64,
    /// `ApplicationExitInfo.getReason()`.
    pub(crate) reason: i32,
    /// `key=value` lines. [`ID`] has the id of the process's recording, if the process gave it to the system.
    pub(crate) lines: &'a str,
    /// The text that goes with it.
    pub(crate) trace: Option<&'a [u8]>,
}

/// The line with the recording's id, as `ExitInfo.java` writes it.
const ID: &str = "recording";

/// The clock may have been set between the recording's start and the process's end.
const CLOCK_SET_MS: u64 = 60_000;

/// Names of the reasons, in the order of their numbers (AOSP `ApplicationExitInfo.java`, REASON_UNKNOWN 0
/// to REASON_PACKAGE_UPDATED 16).
const REASONS: [&str; 17] = [
    "unknown",
    "exit_self",
    "signaled",
    "low_memory",
    "crash",
    "crash_native",
    "anr",
    "initialization_failure",
    "permission_change",
    "excessive_resource_usage",
    "user_requested",
    "user_stopped",
    "dependency_died",
    "other",
    "freezer",
    "package_state_change",
    "package_updated",
];
/// Reasons for which a start may be to blame.
const FAULTS: [&str; 5] = ["unknown", "crash", "crash_native", "anr", "initialization_failure"];

/// Appends an exit to its recording. Returns whether there was a recording without one. Reads and writes
/// files: on a background thread.
pub(crate) fn exited(directory: &Path, own_process: &str, exit: &Exit<'_>) -> bool {
    let _search = old_recording::lock_search();
    let id = key_values(exit.lines).find(|(key, _)| *key == ID).map(|(_, id)| id);
    // Without an id, the youngest that started before: pids are reused.
    let old = old_recording::all(directory).filter(|old| match id {
        Some(id) => old.id == id,
        None => {
            old.pid == exit.pid
                && old.process == exit.process
                && old.start_ms <= exit.time_ms.saturating_add(CLOCK_SET_MS)
        }
    });
    let Some(mut old) = old.max_by_key(|old| old.start_ms).filter(|old| !old.has_exit) else { return false };
    let appended = old.append(SectionKind::ExitInformation, &section(exit)).is_ok();
    if appended && let Some(text) = exit.trace.filter(|_| trace_of(exit) == Trace::Ours) {
        anr_listener::locks(&redact::dump(text), exit.pid, reason(exit.reason) == "anr");
    }
    if appended && exit.process == own_process && !FAULTS.contains(&reason(exit.reason)) {
        crash_loop::was_no_fault(directory, own_process);
    }
    appended
}

fn reason(number: i32) -> &'static str {
    usize::try_from(number).ok().and_then(|number| REASONS.get(number)).copied().unwrap_or("unknown")
}

fn section(exit: &Exit<'_>) -> Vec<u8> {
    let trace = trace_of(exit);
    // The system's words may quote the app's.
    let more = key_values(exit.lines).map(|(key, value)| {
        let value = if key == ID { value.into() } else { redact::subject(value) };
        (key.to_owned(), value.to_string())
    });
    let section = ExitInformation {
        pid: exit.pid,
        process: exit.process.to_owned(),
        time_ms: exit.time_ms,
        reason: reason(exit.reason).to_owned(),
        reason_number: exit.reason,
        trace,
        more: more.collect(),
        text: match trace {
            Trace::Ours => redact::dump(exit.trace.unwrap_or_default()).to_vec(),
            _ => Vec::new(),
        },
    };
    section.encode()
}

fn trace_of(exit: &Exit<'_>) -> Trace {
    match exit.trace {
        Some(_) if options::is_enabled(Setting::Redact) && reason(exit.reason) != "anr" => Trace::Redacted,
        text => text.map_or(Trace::None, |text| whose(text, exit.pid)),
    }
}

/// Whose trace it is, by `sysTid` of the thread called main, which is the process's pid. A tombstone, which
/// is not text, has none and is accepted; so is a text without main.
fn whose(trace: &[u8], pid: u32) -> Trace {
    if trace.is_empty() {
        return Trace::None;
    }
    let text = String::from_utf8_lossy(trace);
    let mut in_main = false;
    for line in text.lines() {
        if line.starts_with('"') {
            in_main = line.starts_with("\"main\"");
        }
        if in_main && let Some((_, behind)) = line.split_once("sysTid=") {
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            return if behind[..digits].parse() == Ok(pid) { Trace::Ours } else { Trace::Foreign };
        }
    }
    Trace::Ours
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use trace_format::Recording;
    use trace_format::event::Clocks;
    use trace_format::section;
    use trace_format::synth::RecordingBuilder;

    const ANR: &str = "----- pid 4242 at 2026-01-01 00:00:00 -----\n\"Signal Catcher\" daemon prio=10 tid=2 Runnable\n  \
        | sysTid=4250 nice=-20\n\"main\" prio=5 tid=1 Blocked\n  | group=\"main\" sCount=1\n  | sysTid=4242 nice=-10\n";

    fn exit(pid: u32, time_ms: u64) -> Exit<'static> {
        Exit {
            pid,
            process: "com.example",
            time_ms,
            reason: 6,
            lines: "importance=100\n",
            trace: Some(ANR.as_bytes()),
        }
    }

    fn directory(name: &str) -> std::path::PathBuf {
        let directory = std::env::temp_dir().join(format!("anrscope-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    /// A recording of this process that began at this time.
    fn recording(pid: u32, start_ms: u64) -> Vec<u8> {
        let start = Clocks { boottime: 1, monotonic: 1, realtime: start_ms * 1_000_000 };
        RecordingBuilder::new(pid, "com.example").start(start).build()
    }

    fn exits(path: &Path) -> Vec<String> {
        let recording = Recording::open(fs::read(path).unwrap()).unwrap();
        assert_eq!(recording.faults(), (&[][..], 0));
        let exits = recording.sections().iter().filter(|s| s.kind == Some(SectionKind::ExitInformation));
        exits.map(|s| String::from_utf8(recording.payload(s).unwrap().unwrap()).unwrap()).collect()
    }

    #[test]
    fn an_exit_goes_to_the_recording_of_its_process_and_only_once() {
        let directory = directory("exit");
        let write = |name: &str, bytes: &[u8]| fs::write(directory.join(name), bytes).unwrap();
        write("before.anrscope", &recording(4242, 1_000_000));
        write("its.anrscope", &recording(4242, 5_000_000));
        write("after.anrscope", &recording(4242, 9_000_000));
        write("other.anrscope", &recording(4243, 5_000_000));
        write("none.anrscope", b"ANRSCOPE, but for the rest");
        assert!(exited(&directory, "", &exit(4242, 6_000_000)));
        assert!(!exited(&directory, "", &exit(4242, 6_000_000)), "reported again");
        assert!(!exited(&directory, "", &exit(7, 6_000_000)) && !exited(&directory, "", &exit(4242, 100)));
        let recorded = exits(&directory.join("its.anrscope"));
        let keys = "pid=4242\nprocess=com.example\ntime_ms=6000000\nreason=anr\nreason_number=6\ntrace=ours\nimportance=100\n\n";
        assert_eq!(recorded, [format!("{keys}{ANR}")]);
        for name in ["before", "after", "other"] {
            assert_eq!(exits(&directory.join(name).with_extension("anrscope")), [""; 0], "{name}");
        }
        // Retention sees that this recording has an ANR.
        let has_anr = |name: &str| old_recording::OldRecording::open(&directory.join(name)).unwrap().has_anr;
        assert!(has_anr("its.anrscope") && !has_anr("other.anrscope"));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn an_exit_with_an_id_goes_to_that_recording_alone() {
        let directory = directory("exit-id");
        let write = |name: &str, bytes: &[u8]| fs::write(directory.join(name), bytes).unwrap();
        write("its.anrscope", &recording(4242, 5_000_000));
        // By pid, name and time it is this one: the clock was set forward between the two starts.
        write("later.anrscope", &recording(4242, 5_500_000));
        let exited = |id: String| {
            let lines = format!("importance=100\nrecording={id}\n");
            exited(&directory, "", &Exit { lines: &lines, ..exit(4242, 6_000_000) })
        };
        let id = |start_ms: u64| trace_format::recording_id(4242, start_ms * 1_000_000);
        assert!(!exited(id(4_000_000)), "its recording is gone: no other one takes its place");
        assert!(!exited("anrscope-4242-".into()) && !exited(String::new()));
        assert!(exited(id(5_000_000)) && !exited(id(5_000_000)), "only once");
        let recorded = exits(&directory.join("its.anrscope"));
        assert!(recorded[0].contains(&format!("\nrecording={}\n", id(5_000_000))), "{recorded:?}");
        assert_eq!(exits(&directory.join("later.anrscope")), [""; 0]);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_section_torn_by_a_kill_is_replaced() {
        let directory = directory("exit-torn");
        let path = directory.join("torn.anrscope");
        let whole = section::encode(SectionKind::Process, 1, b"name=x\n");
        let torn = section::encode(SectionKind::DumpText, 1, &[7; 1_000]);
        for kept in [0, 5, 31, 32, 500, 1_031] {
            let mut bytes = recording(4242, 5_000_000);
            bytes.extend_from_slice(&whole);
            bytes.extend_from_slice(&torn[..kept]);
            fs::write(&path, bytes).unwrap();
            assert!(exited(&directory, "", &exit(4242, 6_000_000)), "{kept}");
            assert_eq!(exits(&path).len(), 1, "{kept}");
        }
        // Cut inside of its fixed part: it is left alone.
        let bytes = recording(4242, 5_000_000);
        fs::write(&path, &bytes[..bytes.len() - 8]).unwrap();
        assert!(!exited(&directory, "", &exit(4242, 6_000_000)));
        assert_eq!(fs::read(&path).unwrap().len(), bytes.len() - 8);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_recording_that_is_being_written_is_left_alone() {
        use std::os::fd::AsRawFd;
        let directory = directory("exit-living");
        let path = directory.join("living.anrscope");
        fs::write(&path, recording(4242, 5_000_000)).unwrap();
        let file = fs::File::open(&path).unwrap();
        // SAFETY: flock takes a descriptor that is open and touches no memory.
        assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }, 0);
        assert!(!exited(&directory, "", &exit(4242, 6_000_000)));
        drop(file);
        assert!(exited(&directory, "", &exit(4242, 6_000_000)));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_trace_of_another_process_is_noted_and_left_out() {
        assert_eq!(whose(ANR.as_bytes(), 4242), Trace::Ours);
        assert_eq!(whose(ANR.as_bytes(), 4250), Trace::Foreign);
        assert_eq!(whose(b"", 1), Trace::None);
        assert_eq!(whose(b"\x0a\x05native", 1), Trace::Ours);
        assert_eq!(whose(b"\"main\"\nsysTid=99999999999999", 1), Trace::Foreign);
        let foreign = String::from_utf8(section(&exit(4250, 1))).unwrap();
        assert!(
            foreign.contains("\ntrace=foreign\n") && foreign.ends_with("importance=100\n\n"),
            "{foreign}"
        );
        let none = section(&Exit { trace: None, lines: "a=b\n\nc=d", ..exit(1, 1) });
        assert!(String::from_utf8(none).unwrap().ends_with("trace=none\na=b\nc=d\n\n"));
    }
}
