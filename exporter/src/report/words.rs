//! How durations, counts, threads and waits are told.

use trace_format::Thread;
use trace_format::event::WaitKind;

use crate::model::clean;

/// A duration with the digits that matter.
pub(crate) fn seconds(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{:.3} ms", ns as f64 / 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}

/// `1 message`, `2 messages`.
pub(super) fn times(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// What people call a thread.
pub(super) fn thread_name(thread: &Thread) -> String {
    match &thread.name {
        Some(name) => clean(name).into_owned(),
        None if thread.main => "main".to_owned(),
        None => format!("thread {}", thread.tid),
    }
}

/// What a wait is for, in a few words.
pub(super) fn waited_for(kind: WaitKind, class: Option<&str>, lock: u64) -> String {
    let what = match kind {
        WaitKind::Monitor => "for the lock of",
        WaitKind::ObjectWait => "in Object.wait on",
        WaitKind::Park => "parked on",
        WaitKind::Sleep => "in Thread.sleep",
        WaitKind::Join => "in Thread.join on",
        WaitKind::Blocking => "in a blocking call,",
    };
    let class = match kind {
        WaitKind::Sleep => String::new(),
        _ => format!(" {}", class.unwrap_or("an object of unknown class")),
    };
    // A call and a sleep are no locks, whatever they were called on.
    let is_lock = lock > 0 && !matches!(kind, WaitKind::Blocking | WaitKind::Sleep);
    let lock = if is_lock { format!(" (0x{lock:x})") } else { String::new() };
    format!("{what}{class}{lock}")
}
