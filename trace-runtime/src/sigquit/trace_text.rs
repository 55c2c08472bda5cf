//! The runtime's own thread dump, copied into the recording.
//!
//! A hook makes the copy. It must be in place before a dump begins, and a SIGQUIT is forwarded before the
//! code here learns of it. While the hook is in place, a thread checks every 20 ms whether something was
//! written. There are two cases:
//!
//! * On Android 5 to 10 ([`AROUND_AN_ANR`]) the hook is placed once main has been stalled for four seconds,
//!   and removed when main continues. From Android 11 on the system keeps the text, and the next start
//!   reads it.
//! * On request ([`capture_trace_text`]) the hook is placed at the start, removed once a dump was written,
//!   and placed again for the next one.

use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use native_signal::{Limits, Target, TraceCapture, TraceText, Writer};
use trace_format::section::SectionKind;
use trace_format::sections::timed;

use crate::files::worker;
use crate::guard;
use crate::monitors;
use crate::monitors::anr::anr_listener;
use crate::monitors::config::redact;
use crate::recorder::Recorder;
use crate::recorder::notice;
use crate::sigquit::sensing;
use crate::time::clock;
use crate::unpoisoned::lock;

/// The most dumps that are copied in one process, up to 1 MiB each.
const MAX_TEXTS: u32 = 8;
/// No deadline for a dump.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

static TEXTS: AtomicU32 = AtomicU32::new(0);

/// The API levels at which dumps are copied around an ANR: the library runs from 21 on, and from 30 on
/// `ApplicationExitInfo` has the text.
const AROUND_AN_ANR: RangeInclusive<u32> = 21..=29;
/// How long main has been stalled when the hook is placed, ns. The system sends SIGQUIT after 5 s at the
/// earliest (AOSP 10, `ActivityManagerService.java`, `KEY_DISPATCHING_TIMEOUT`).
const STALLED_NS: u64 = 4_000_000_000;

/// When the message began for which the hook was requested; 0 while main continues.
static ASKED_FOR: AtomicU64 = AtomicU64::new(0);
static AROUND: Mutex<Option<TraceCapture>> = Mutex::new(None);

/// Places the hook if main has been stalled for long enough, since `since_ns`, at `now_ns`. On the timer
/// thread: normally two loads.
pub(crate) fn stalled(since_ns: u64, now_ns: u64) {
    if AROUND_AN_ANR.contains(&monitors::api())
        && now_ns.saturating_sub(since_ns) >= STALLED_NS
        && ASKED_FOR.swap(since_ns, Ordering::Relaxed) != since_ns
        && TEXTS.load(Ordering::Relaxed) < MAX_TEXTS
    {
        worker::then(Box::new(|| {
            let source = TraceTextSource::of_this_process(monitors::api());
            let Some(source) = source else { return notice(NO_SOURCE) };
            *lock(&AROUND) = arm(source, false);
        }));
    }
}

/// Removes the hook: main continues. On the timer thread.
pub(crate) fn quiet() {
    if ASKED_FOR.load(Ordering::Relaxed) != 0 && ASKED_FOR.swap(0, Ordering::Relaxed) != 0 {
        worker::then(Box::new(|| {
            if let Some(capture) = lock(&AROUND).take() {
                capture.cancel();
            }
        }));
    }
}

/// The notice if no dump can be copied.
pub(crate) const NO_SOURCE: &str = "thread dumps are not copied: no known thread writes them here";

/// The source of the dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceTextSource {
    /// The library whose calls of `write` are hooked: [`Target::art`] on Android, `libjvm.so` on HotSpot.
    pub target: Target,
    /// The thread that writes the dump: the Signal Catcher on Android, HotSpot's "VM Thread".
    pub writer: Writer,
}

#[cfg(target_os = "android")]
impl TraceTextSource {
    /// ART's source at this API level.
    pub(crate) fn of_this_process(api_level: u32) -> Option<Self> {
        Some(Self { target: Target::art(api_level)?, writer: Writer::SignalCatcher })
    }
}

#[cfg(not(target_os = "android"))]
impl TraceTextSource {
    /// HotSpot's source, if this process is a HotSpot JVM.
    pub(crate) fn of_this_process(_: u32) -> Option<Self> {
        let writer = std::fs::read_dir("/proc/self/task").ok()?.flatten().find_map(|entry| {
            let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
            if name.trim_end() == "VM Thread" { entry.file_name().to_str()?.parse().ok() } else { None }
        })?;
        Some(Self { target: Target::file("libjvm.so"), writer: Writer::Thread(writer) })
    }
}

/// Copies the thread dumps that this process writes into the recording from now on: the first eight, up to
/// 1 MiB each. Call it once, after [`crate::start`], on any thread but not in a signal handler, and not
/// while a dump is being written. If it fails, a notice in the recording says why.
///
/// This is a function and not a part of [`crate::Config`], so that the hook is linked only into programs
/// that call it.
pub fn capture_trace_text(source: TraceTextSource) {
    if Recorder::active().is_some() {
        arm(source, true);
    }
}

/// Records the text of a thread dump that the embedder has made itself, with the time at which its stacks were read, ns of
/// CLOCK_BOOTTIME (see [`crate::boottime`]). With `redact`, texts in quotation marks become numbers as in any dump.
///
/// The worker writes the text, and this returns at once. Nothing happens if nothing is recorded.
///
/// ```
/// // A program that does not record may call it all the same.
/// trace_runtime::record_dump(trace_runtime::boottime(), b"Full thread dump by example:\n\nJNI global refs: 0\n");
/// ```
pub fn record_dump(at: u64, text: &[u8]) {
    if Recorder::active().is_some() && !text.is_empty() {
        guard::disarm_on_panic(|| {
            worker::append(SectionKind::DumpText, timed::encode(at, &redact::dump(text)));
        });
    }
}

/// Places the hook for the next dump, and with `again` for all later ones.
fn arm(source: TraceTextSource, again: bool) -> Option<TraceCapture> {
    let limits = Limits { deadline: NEVER, ..Limits::default() };
    let TraceTextSource { target, writer } = source.clone();
    let armed = native_signal::capture_trace_text(&target, writer, limits, move |text| {
        guard::disarm_on_panic(|| on_text(text, again.then_some(source)));
    });
    armed.map_err(|error| notice(&["thread dumps are not copied: ", &error.to_string()].concat())).ok()
}

/// Records a dump. On `anrscope-text`, after the hook was removed.
fn on_text(text: TraceText, again: Option<TraceTextSource>) {
    if Recorder::active().is_none() {
        return;
    }
    if !text.bytes.is_empty() {
        let at = sensing::last_signal().unwrap_or_else(clock::boottime);
        let dump = redact::dump(&text.bytes);
        worker::append(SectionKind::DumpText, timed::encode(at, &dump));
        anr_listener::locks(&dump, std::process::id(), false);
    }
    if text.lost > 0 {
        notice(&[&text.lost.to_string(), " bytes of a thread dump did not fit"].concat());
    }
    if let Err(error) = text.unhooked {
        TEXTS.store(MAX_TEXTS, Ordering::Relaxed);
        return notice(&["no more thread dumps are copied: ", &error.to_string()].concat());
    }
    if text.bytes.is_empty() && again.is_none() {
        return;
    }
    if TEXTS.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TEXTS {
        notice("no more thread dumps are copied: there were 8");
    } else if let Some(source) = again {
        arm(source, true);
    }
}
