//! Faults of the command line and of the program. For a panic it prints what happened, where, and the stack, so that a
//! bug report is complete.
//!
//! In a JVM or an app the runtime does otherwise (`trace-runtime/recorder/src/guard.rs`): it ends the recording with a notice, and the app
//! continues.

use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::PanicHookInfo;

/// An error in the command line that clap cannot detect itself, in words. It ends the program as clap's own errors do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) &'static str);

/// The project's crates, by the first part of a function's path.
const OURS: [&str; 15] = [
    "anrscope",
    "answers",
    "apk",
    "device",
    "dex",
    "exporter",
    "instrumenter",
    "jvm_agent",
    "native_signal",
    "native_stacks",
    "recorder",
    "trace_format",
    "trace_rules",
    "trace_runtime",
    "zip_archive",
];

/// Installs a panic hook that prints panics of all threads in this form.
pub(crate) fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        // If stderr cannot be written, there is no other place for the report.
        let _ = crate::terminal::stderr().write_all(text(panic).as_bytes());
    }));
}

fn text(panic: &PanicHookInfo<'_>) -> String {
    let message = panic.payload_as_str().unwrap_or("no message");
    let at = panic.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
    let thread = std::thread::current();
    let mut out = format!(
        "error: internal error in anrscope, on the thread {}: {message}{at}\n",
        thread.name().unwrap_or("(unnamed)")
    );
    for frame in frames_in(&Backtrace::force_capture().to_string()) {
        let _ = writeln!(out, "    at {frame}");
    }
    let _ = writeln!(
        out,
        "this is a bug: please report it with this text and the command; this is anrscope {} on {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS
    );
    out
}

/// The project's functions in a printed backtrace, innermost first, with file and line where the program has them.
///
/// The backtrace is std's, which has stable text but no stable API for frames: a line `  12: path::of::function`, without
/// the number if inlined, and a line `at ./src/file.rs:34:5` where the place is known.
fn frames_in(stack: &str) -> Vec<String> {
    let mut frames = Vec::new();
    let mut lines = stack.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let name = match line.split_once(": ") {
            Some((number, name)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => line,
        };
        let place = lines.next_if(|next| next.starts_with("at ")).map(|next| &next["at ".len()..]);
        let of = name.trim_start_matches('<').trim_start_matches('&');
        let known = OURS.iter().any(|own| of.strip_prefix(own).is_some_and(|rest| rest.starts_with("::")));
        if !known || name.contains("::fault::") && !name.contains("::tests::") {
            continue;
        }
        frames.push(match place {
            // Without the column.
            Some(place) => format!("{name} ({})", place.rsplit_once(':').map_or(place, |(place, _)| place)),
            None => name.to_owned(),
        });
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[inline(never)]
    fn falls_over(at: usize) -> usize {
        let all: [usize; 2] = std::hint::black_box([1, 2]);
        // Not a tail call: the function would not be on the stack.
        std::hint::black_box(all[std::hint::black_box(at)]) + 1
    }

    /// The hook is process-wide, and other tests panic on purpose on their threads.
    #[test]
    fn a_panic_is_reported_with_place_thread_and_stack() {
        static REPORT: Mutex<String> = Mutex::new(String::new());
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() == Some("clumsy") {
                *REPORT.lock().unwrap() = text(panic);
            } else {
                before(panic);
            }
        }));
        let clumsy = std::thread::Builder::new().name("clumsy".to_owned());
        assert!(clumsy.spawn(|| falls_over(7)).unwrap().join().is_err());
        let report = REPORT.lock().unwrap();
        let first = "error: internal error in anrscope, on the thread clumsy: index out of bounds: the len is 2 but the index is 7 (";
        assert!(report.starts_with(first) && report.contains("fault.rs:"), "{report}");
        let frame = report
            .lines()
            .find(|line| line.starts_with("    at anrscope::fault::tests::falls_over ("))
            .unwrap();
        let line = frame.strip_suffix(')').and_then(|frame| frame.rsplit_once("src/fault.rs:")).unwrap().1;
        assert!(line.parse::<u32>().is_ok(), "{report}");
        assert!(report.contains("please report it") && !report.contains("panicking"), "{report}");
    }

    #[test]
    fn frames_of_other_crates_are_left_out_and_inlined_ones_kept() {
        let stack = "   0: std::backtrace::Backtrace::force_capture\n   1: anrscope::fault::text\n             at ./cli/src/fault.rs:9:1\n   \
            2: core::panicking::panic_fmt\n             at /rustc/1/library/core/src/panicking.rs:80:14\n   3: answers::dump::read\n   \
            4: <&device::Adb as core::fmt::Debug>::fmt\n             at ./cli/device/src/adb.rs:12:5\n      anrscope::dump::run::{{closure}}\n             \
            at C:\\a\\dump.rs:7:30\n   5: main\n";
        let expected = [
            "answers::dump::read",
            "<&device::Adb as core::fmt::Debug>::fmt (./cli/device/src/adb.rs:12)",
            "anrscope::dump::run::{{closure}} (C:\\a\\dump.rs:7)",
        ];
        assert_eq!(frames_in(stack), expected);
        assert_eq!(frames_in("unsupported backtrace"), <[String; 0]>::default());
    }
}
