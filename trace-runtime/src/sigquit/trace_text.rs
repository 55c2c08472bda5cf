//! The runtime's own thread dump, copied into the recording. Opt-in.
//!
//! The copy is made by a hook that must be there before a dump begins, and a SIGQUIT is handed on before anybody here
//! hears of it. So the hook is placed at the start, taken out when a dump was written, and placed again for the next
//! one. While it is there, a thread looks every 20 ms whether something was written.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use native_signal::{Limits, Target, TraceText, Writer};
use trace_format::section::SectionKind;

use crate::files::worker;
use crate::guard;
use crate::monitors::told;
use crate::recorder::Recorder;
use crate::recorder::notice;
use crate::sigquit::sensing;
use crate::time::clock;

/// Dumps that are copied in the life of a process, 1 MiB each at most.
const MAX_TEXTS: u32 = 8;
/// It waits for a dump for as long as it takes.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

static TEXTS: AtomicU32 = AtomicU32::new(0);

/// Whose dump is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceTextSource {
    /// The library whose calls of `write` are hooked: [`Target::art`] on Android, `libjvm.so` on HotSpot.
    pub target: Target,
    /// The thread that writes the dump: the Signal Catcher on Android, HotSpot's "VM Thread".
    pub writer: Writer,
}

#[cfg(not(target_os = "android"))]
impl TraceTextSource {
    /// HotSpot's, if this process is one.
    pub(crate) fn hotspot() -> Option<Self> {
        let writer = std::fs::read_dir("/proc/self/task").ok()?.flatten().find_map(|entry| {
            let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
            if name.trim_end() == "VM Thread" { entry.file_name().to_str()?.parse().ok() } else { None }
        })?;
        Some(Self { target: Target::file("libjvm.so"), writer: Writer::Thread(writer) })
    }
}

/// From here on the thread dumps that this process writes are copied into the recording, the first eight of up to
/// 1 MiB each. Once a process, after [`crate::start`], on any thread but in a signal handler, and not while a dump is
/// being written. A refusal is a notice in the recording.
///
/// A function and no part of [`crate::Config`], so that the hook is linked only where somebody calls it.
pub fn capture_trace_text(source: TraceTextSource) {
    if Recorder::active().is_some() {
        arm(source);
    }
}

/// Places the hook for the next dump.
fn arm(source: TraceTextSource) {
    let limits = Limits { deadline: NEVER, ..Limits::default() };
    let TraceTextSource { target, writer } = source.clone();
    let armed = native_signal::capture_trace_text(&target, writer, limits, move |text| {
        guard::disarm_on_panic(|| on_text(text, source));
    });
    if let Err(error) = armed {
        notice(&format!("thread dumps are not copied: {error}"));
    }
}

/// Runs on `anrscope-text`, after the hook was taken out.
fn on_text(text: TraceText, source: TraceTextSource) {
    if Recorder::active().is_none() {
        return;
    }
    if !text.bytes.is_empty() {
        let at = sensing::last_signal().unwrap_or_else(clock::boottime);
        worker::append(SectionKind::DumpText, [&at.to_le_bytes()[..], &text.bytes].concat());
        told::locks(&text.bytes, std::process::id(), false);
    }
    if text.lost > 0 {
        notice(&format!("{} bytes of a thread dump found no room", text.lost));
    }
    if let Err(error) = text.unhooked {
        return notice(&format!("thread dumps are copied no more: {error}"));
    }
    if TEXTS.fetch_add(1, Ordering::Relaxed) + 1 < MAX_TEXTS {
        arm(source);
    } else {
        notice("thread dumps are copied no more: there were 8");
    }
}
