//! Panics of the program: prints what happened, where, and the stack, so that a bug report is complete.
//!
//! In a JVM or an app the runtime does otherwise (`recorder/src/guard.rs`): it ends the recording with a notice, and the app
//! continues.

use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::PanicHookInfo;

use backtrace::{Backtrace, BacktraceFrame};

/// The project's crates, by the first part of a function's path.
const OURS: [&str; 9] = [
    "anrscope",
    "device",
    "exporter",
    "instrumenter",
    "native_signal",
    "recorder",
    "trace_format",
    "trace_rules",
    "trace_runtime",
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
    for frame in frames() {
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

/// The project's functions on this thread's stack, innermost first, with file and line where the program has them.
fn frames() -> Vec<String> {
    let stack = Backtrace::new();
    let symbols = stack.frames().iter().flat_map(BacktraceFrame::symbols);
    let ours = symbols.filter_map(|symbol| {
        // Without the hash at the end.
        let name = format!("{:#}", symbol.name()?);
        let of = name.trim_start_matches('<').trim_start_matches('&');
        let known = OURS.iter().any(|own| of.strip_prefix(own).is_some_and(|rest| rest.starts_with("::")));
        if !known || name.contains("::fault::") && !name.contains("::tests::") {
            return None;
        }
        Some(match (symbol.filename(), symbol.lineno()) {
            (Some(file), Some(line)) => format!("{name} ({}:{line})", file.display()),
            _ => name,
        })
    });
    ours.collect()
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
        assert!(report.contains("    at anrscope::fault::tests::falls_over"), "{report}");
        assert!(report.contains("please report it") && !report.contains("panicking"), "{report}");
    }
}
