//! SIGQUIT in the recording: captured, observed without a handler, requested by this process, or lost to a
//! handler that was installed later.

use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use native_signal::{
    AskError, Counters, Displaced, Evidence, Forwarded, InstallError, Mode, PassiveWatch, Sensed, Sensor,
};
use thiserror::Error;
use trace_format::event::{Event, Forward, Sigquit};

use crate::files::worker;
use crate::monitors::looper::messages;
use crate::monitors::native_stacks::capturing;
use crate::recorder::Recorder;
use crate::recorder::notice;
use crate::sigquit::{attaching, verdict};
use crate::time::clock;

/// Never dropped: that would uninstall the handler.
static SENSOR: OnceLock<Sensor> = OnceLock::new();
/// When the last SIGQUIT was captured; 0 for never.
static LAST_SIGNAL: AtomicU64 = AtomicU64::new(0);

/// Installs the signal handler without its thread: from now on signals are forwarded and noted. On the
/// thread that [`native_signal::install`] requires.
pub(crate) fn install() -> Result<(), InstallError> {
    let sensor = native_signal::install_quietly(native_signal::Config::default())?;
    let _ = SENSOR.set(sensor);
    Ok(())
}

/// Starts the sensor's thread, which reads the handler's notes. If signals cannot be captured, a notice
/// says why.
pub(crate) fn listen(installed: Result<(), InstallError>) {
    let failed = match (installed, SENSOR.get()) {
        // Another copy of the library, in another class loader, has the handler and records the signals.
        (Err(InstallError::AlreadyInstalled), _) => {
            notice("SIGQUIT is captured by another instance");
            return;
        }
        (Err(error), _) => error.to_string(),
        (Ok(()), None) => return,
        (Ok(()), Some(sensor)) => match (sensor.mode(), sensor.listen(Box::new(on_sigquit))) {
            (Mode::Passive { reason }, _) => reason.to_string(),
            (_, Err(error)) => error.to_string(),
            (_, Ok(())) => return,
        },
    };
    notice(&format!("SIGQUIT is not captured: {failed}"));
}

/// When the last SIGQUIT was captured, if there was one.
pub(crate) fn last_signal() -> Option<u64> {
    Some(LAST_SIGNAL.load(Ordering::Relaxed)).filter(|at| *at > 0)
}

/// Records a signal. On the sensor's thread, after the signal was forwarded.
fn on_sigquit(sensed: Sensed) {
    let forward = match sensed.forwarded {
        Forwarded::ToCatcher { .. } | Forwarded::LateToCatcher { .. } | Forwarded::Rescued { .. } => {
            Forward::Catcher
        }
        Forwarded::ToPreviousHandler => Forward::PreviousHandler,
        Forwarded::Failed { .. } => Forward::Failed,
    };
    let counters = SENSOR.get().map_or_else(Counters::default, Sensor::counters);
    let evidence = Evidence { tool_attaches: attaching::is_asked_for(&sensed), ..Evidence::from(&sensed) };
    record(evidence, forward, counters);
}

/// Records the event first and then the verdict: from here on the system may kill the process at any
/// moment.
fn record(evidence: Evidence, forward: Forward, counters: Counters) {
    let Some(recorder) = Recorder::active() else { return };
    // On another thread: it may take 200 ms. Before the Signal Catcher has stopped main for its dump, if it can.
    capturing::sigquit();
    let main = messages::main_at(recorder, evidence.at_ns);
    let sigquit = Sigquit {
        sensed: evidence.at_ns,
        si_code: evidence.si_code,
        si_pid: evidence.si_pid as u32,
        si_uid: evidence.si_uid,
        forward,
        stuck_since: main.stuck_since,
    };
    recorder.service(&Event::Sigquit(sigquit));
    recorder.service(&Event::Clock(clock::all()));
    recorder.alive(clock::boottime());
    LAST_SIGNAL.store(evidence.at_ns, Ordering::Relaxed);
    verdict::judge(sigquit, evidence, main, counters);
}

/// Detects a SIGQUIT while main is stalled where no handler can be installed. Owned by the timer thread.
#[derive(Debug, Default)]
pub(crate) struct WhileStalled {
    /// When the message began that main was last found in.
    since: u64,
    watch: Option<PassiveWatch>,
}

impl WhileStalled {
    /// Polls for a signal: main is still in the message that began at `since`.
    pub(crate) fn tick(&mut self, since: u64) {
        let Some(sensor) = SENSOR.get() else { return };
        if since != self.since {
            // A message that ended before it became a stall is not reported: what the Signal Catcher has
            // done since does not count.
            *self = Self { since, watch: sensor.passive_watch() };
        }
        let now_ns = clock::boottime();
        if !self.watch.as_mut().is_some_and(|watch| watch.tick(now_ns)) {
            return;
        }
        if matches!(sensor.mode(), Mode::Passive { .. }) {
            record(passive_evidence(now_ns), Forward::Passive, sensor.counters());
        } else {
            // SIGQUIT was unblocked meanwhile, so the signal was captured.
            self.watch = None;
        }
    }
}

/// What is known of a signal that was only observed: its sender is unknown, unless this process has just
/// requested a dump.
fn passive_evidence(at_ns: u64) -> Evidence {
    let mut evidence = Evidence { at_ns, ..Evidence::default() };
    if verdict::may_be_self_requested(at_ns) {
        evidence.si_pid = std::process::id() as i32;
        evidence.si_uid = nix::unistd::getuid().as_raw();
    }
    evidence
}

/// Checks whether another handler was installed over this one: a load and a compare, and a system call once
/// a second. The rest is left to the worker, once per handler.
#[inline]
pub(crate) fn check_displaced(now: u64) {
    if let Some(displaced) = SENSOR.get().and_then(|sensor| sensor.check_displaced(now)) {
        report_displaced(displaced);
    }
}

/// Keeps a handler for SIGQUIT in place while main cannot block the signal. The timer thread calls this
/// when it is awake.
pub(crate) fn keep_handled() {
    if let Some(sensor) = SENSOR.get() {
        sensor.keep_handled();
    }
}

#[cold]
fn report_displaced(displaced: Displaced) {
    worker::then(Box::new(move || {
        let consequence = match displaced.blocked {
            true => {
                "main blocks it again, so the Signal Catcher gets it, and it is not captured from here on"
            }
            false => "it decides whether signals still reach this handler and the Signal Catcher",
        };
        notice(&format!("SIGQUIT was taken over by {}: {consequence}", handler_name(displaced.handler)));
    }));
}

/// The library that a handler belongs to.
fn handler_name(handler: usize) -> String {
    match handler {
        libc::SIG_DFL => return "the default action, which ends the process".to_owned(),
        libc::SIG_IGN => return "SIG_IGN, which ignores it".to_owned(),
        _ => {}
    }
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: dladdr takes any address and writes to `info` alone.
    let known = unsafe { libc::dladdr(handler as *const libc::c_void, &mut info) } != 0;
    if !known || info.dli_fname.is_null() {
        return format!("a handler at {handler:#x} outside of any library");
    }
    // SAFETY: dladdr returned a C string of the loader's that lives as long as the library, whose handler
    // is installed.
    let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes();
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    format!("a handler in {name} (at +{:#x})", handler.wrapping_sub(info.dli_fbase as usize))
}

/// Why [`dump`] requested nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DumpError {
    /// Nothing is being recorded.
    #[error("nothing is being recorded: start it first")]
    NotRecording,
    /// The request failed.
    #[error("{0}")]
    Ask(AskError),
}

/// Requests a thread dump of this process now. It sends a SIGQUIT to this process, which the Signal Catcher
/// (on a JVM: its own handler) answers like any other, and which the recording marks as requested by this
/// process. Any thread, but not in a signal handler. It returns before the dump is written.
///
/// # Errors
/// [`DumpError`]; nothing was sent then.
pub fn dump() -> Result<(), DumpError> {
    if Recorder::active().is_none() {
        return Err(DumpError::NotRecording);
    }
    // Before the signal: it may be captured before the call returns.
    verdict::note_self_requested_dump();
    native_signal::ask_for_dump().map_err(DumpError::Ask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_is_named_by_its_library() {
        let name = handler_name(libc::getpid as *const () as usize);
        assert!(name.starts_with("a handler in libc") && name.contains("(at +0x"), "{name}");
        assert!(handler_name(0x10).contains("0x10 outside of any library"));
        assert!(handler_name(libc::SIG_DFL).contains("default action"));
    }
}
