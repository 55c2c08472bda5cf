//! Thread dumps of a JVM on a desktop or server: HotSpot's own (`kill -3`, `jstack`, `jcmd PID Thread.print`),
//! `jcmd PID Thread.dump_to_file` as text and as JSON, and the one that Android Studio and IntelliJ export.

pub(super) mod deadlock;
pub(super) mod first_line;
pub(super) mod owners;
pub(super) mod to_file;

use super::model::{SampledStack, Standing};

/// Parses `java.lang.Thread.State: BLOCKED (on object monitor)`, the second line of a thread (HotSpot's
/// `vmClasses`/`javaThread.cpp`, `java_lang_Thread::thread_status_name`, JDK 6 to 25).
pub(super) fn state(text: &str) -> Option<&str> {
    text.strip_prefix("java.lang.Thread.State: ").map(str::trim).filter(|state| !state.is_empty())
}

/// Parses `Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):`, the first line of a
/// dump (HotSpot `runtime/vmOperations.cpp`, `VM_PrintThreads`, and `threads.cpp`, `Threads::print_on`):
/// returns the VM's name.
pub(super) fn title(text: &str) -> Option<&str> {
    text.strip_prefix("Full thread dump").map(|rest| rest.trim().trim_end_matches(':'))
}

/// The line of a dump of the JVM agent that says where the connections of a process end.
pub(super) const CONNECTS_TO_ITSELF: &str = "All connections of this process end in it.";

/// Parses `59 of 60 threads are left out: no room or no time for them`, with which a dump of the JVM agent ends.
pub(super) fn left_out(text: &str) -> Option<u32> {
    text.split_once(" threads are left out: ")?.0.split_once(" of ")?.0.parse().ok()
}

/// Parses `Unchanged for 4.1 s: thread #13` and `Computing for 4.1 s in com.acme.Plan.run: thread #13`, which precede the
/// threads in a dump of the JVM agent (`trace-runtime/jvm-agent/src/thread_dump.rs`).
pub(super) fn standing(text: &str) -> Option<Standing> {
    let (what, tid) = text.rsplit_once(": thread #")?;
    let (how, rest) = what.split_once(" for ")?;
    let (seconds, method) = match how {
        "Unchanged" => (rest.strip_suffix(" s")?, None),
        "Computing" => {
            rest.split_once(" s in ").map(|(seconds, method)| (seconds, Some(method.to_owned())))?
        }
        _ => return None,
    };
    let seconds: f64 = seconds.parse().ok().filter(|seconds| (0.0..1e9).contains(seconds))?;
    Some(Standing {
        tid: tid.parse().ok()?,
        ns: (seconds * 1e9).round() as u64,
        computes_in: method,
        samples: Vec::new(),
    })
}

/// Parses `2 of 5 samples of thread #13: com.acme.Plan.step < com.acme.Plan.run`, which follow the line of a thread that
/// computes. Returns the thread's number, too.
pub(super) fn sampled(text: &str) -> Option<(u32, SampledStack)> {
    let (count, rest) = text.split_once(" of ")?;
    let (tid, methods) = rest.split_once(" samples of thread #")?.1.split_once(": ")?;
    let methods = methods.split(" < ").map(str::to_owned).collect();
    Some((tid.parse().ok()?, SampledStack { count: count.parse().ok()?, methods }))
}

/// Whether a line is only a time, as it precedes a dump: `2026-01-01 10:00:00`, or ISO 8601 in UTC.
pub(super) fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shape = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
    (19..=40).contains(&bytes.len())
        && shape(4, b'-')
        && shape(7, b'-')
        && (shape(10, b' ') || shape(10, b'T'))
        && shape(13, b':')
        && shape(16, b':')
        && bytes.iter().all(|b| b.is_ascii_digit() || b"-:. T+Z".contains(b))
}

/// Whether a line is only a process id: `1234:` from jcmd, `1234` from `Thread.dump_to_file`.
pub(super) fn pid(text: &str) -> Option<u32> {
    text.strip_suffix(':').unwrap_or(text).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_agent_name_threads_that_stand() {
        let standing = |tid, ns, of: Option<&str>| {
            Some(Standing { tid, ns, computes_in: of.map(str::to_owned), samples: Vec::new() })
        };
        assert_eq!(super::standing("Unchanged for 4.1 s: thread #13"), standing(13, 4_100_000_000, None));
        let computes = "Computing for 12.0 s in a.B.c: thread #1";
        assert_eq!(super::standing(computes), standing(1, 12_000_000_000, Some("a.B.c")));
        for other in [
            "Unchanged for ? s: thread #13",
            "Computing for 1.0 s: thread #1",
            "Waits for 1.0 s: thread #1",
            "",
        ] {
            assert_eq!(super::standing(other), None, "{other}");
        }
        let sampled = SampledStack { count: 2, methods: vec!["a.B.c".to_owned(), "a.B.<init>".to_owned()] };
        assert_eq!(super::sampled("2 of 5 samples of thread #7: a.B.c < a.B.<init>"), Some((7, sampled)));
        for other in ["2 of 5 samples: a.B.c", "x of 5 samples of thread #7: a.B.c", ""] {
            assert_eq!(super::sampled(other), None, "{other}");
        }
    }

    #[test]
    fn lines_around_the_threads() {
        assert_eq!(state("java.lang.Thread.State: WAITING (parking)"), Some("WAITING (parking)"));
        assert_eq!(state("java.lang.Thread.State:"), None);
        assert_eq!(title("Full thread dump OpenJDK Server VM (25+9):"), Some("OpenJDK Server VM (25+9)"));
        assert_eq!(title("Full thread"), None);
        for (text, expected) in [
            ("2026-11-23 09:45:15", true),
            ("2026-11-23T09:45:13.442602776Z", true),
            ("2026-11-23 09:45", false),
            ("2026-11-23 09:45:15 E art", false),
            ("", false),
        ] {
            assert_eq!(is_time(text), expected, "{text}");
        }
        assert_eq!((pid("3403:"), pid("3403"), pid("x:"), pid("")), (Some(3403), Some(3403), None, None));
    }
}
