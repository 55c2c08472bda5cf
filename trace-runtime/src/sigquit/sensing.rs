//! SIGQUIT in the recording: sensed, seen without being taken, asked for by ourselves, or lost to a handler that came
//! later.

use std::ffi::CStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use native_signal::{
    AskError, Counters, Displaced, Evidence, Forwarded, InstallError, Mode, PassiveWatch, SeenPassively,
    Sensed, Sensor,
};
use trace_format::event::{Event, Forward, Sigquit};

use crate::files::worker;
use crate::monitors::looper::messages;
use crate::recorder::Recorder;
use crate::recorder::notice;
use crate::sigquit::verdict;
use crate::time::clock;

/// Never dropped: that would uninstall it.
static SENSOR: OnceLock<Sensor> = OnceLock::new();
/// When a SIGQUIT was last sensed; 0 for never.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Installs the sensor, without its thread: signals are handed on, and noted, from now on. On the thread that
/// [`native_signal::install`] asks for.
pub(crate) fn install() -> Result<(), InstallError> {
    let sensor = native_signal::install_quietly(native_signal::Config::default())?;
    let _ = SENSOR.set(sensor);
    Ok(())
}

/// Starts the sensor's thread, which takes the notes. What keeps it from sensing is a notice.
pub(crate) fn listen(installed: Result<(), InstallError>) {
    let failed = match (installed, SENSOR.get()) {
        // Another copy of the library, in another class loader, has it: that one records it.
        (Err(InstallError::AlreadyInstalled), _) => {
            notice("SIGQUIT is sensed by another instance");
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
    notice(&format!("SIGQUIT is not sensed: {failed}"));
}

/// When a SIGQUIT was last sensed, if one was.
pub(crate) fn last_signal() -> Option<u64> {
    Some(LAST.load(Ordering::Relaxed)).filter(|at| *at > 0)
}

/// Runs on the sensor's thread, after the signal was handed on.
fn on_sigquit(sensed: Sensed) {
    let forward = match sensed.forwarded {
        Forwarded::ToCatcher { .. } | Forwarded::LateToCatcher { .. } | Forwarded::Rescued { .. } => {
            Forward::Catcher
        }
        Forwarded::ToOlderHandler => Forward::OlderHandler,
        Forwarded::Failed { .. } => Forward::Failed,
    };
    let counters = SENSOR.get().map_or_else(Counters::default, Sensor::counters);
    record(Evidence::of(&sensed), forward, counters);
}

/// The event first and then the verdict: the system may kill us at any moment from here on.
fn record(evidence: Evidence, forward: Forward, counters: Counters) {
    let Some(recorder) = Recorder::active() else { return };
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
    LAST.store(evidence.at_ns, Ordering::Relaxed);
    verdict::judge(sigquit, evidence, main, counters);
}

/// Looks, where nothing may be sensed, for signs of a SIGQUIT while main is stuck. The timer thread's own.
#[derive(Debug, Default)]
pub(crate) struct WhileStuck {
    /// Begin of the message that main was last found in.
    since: u64,
    watch: Option<PassiveWatch>,
}

impl WhileStuck {
    /// Main is still in the message that began at `since`.
    pub(crate) fn tick(&mut self, since: u64) {
        let Some(sensor) = SENSOR.get() else { return };
        if since != self.since {
            // A stall that ended before it was one is told to nobody: what the catcher did since counts for nothing.
            *self = Self { since, watch: sensor.passive_watch() };
        }
        let Some(seen) = self.watch.as_mut().and_then(|watch| watch.tick(clock::boottime())) else { return };
        if matches!(sensor.mode(), Mode::Passive { .. }) {
            record(passive_evidence(&seen), Forward::Passive, sensor.counters());
        } else {
            // Opened meanwhile: it was sensed.
            self.watch = None;
        }
    }

    /// Main goes on.
    pub(crate) fn rest(&mut self) {
        *self = Self::default();
    }
}

/// Nobody knows who sent it, unless we had just asked for one.
fn passive_evidence(seen: &SeenPassively) -> Evidence {
    let mut evidence = Evidence { at_ns: seen.time_ns, ..Evidence::default() };
    if verdict::asked_before(seen.time_ns) {
        evidence.si_pid = std::process::id() as i32;
        evidence.si_uid = nix::unistd::getuid().as_raw();
    }
    evidence
}

/// Looks whether another handler stands before ours: a load and a compare, once a second a system call. Anything that
/// takes longer is left to the worker, and happens once a handler.
#[inline]
pub(crate) fn check_displaced(now: u64) {
    if let Some(displaced) = SENSOR.get().and_then(|sensor| sensor.check_displaced(now)) {
        tell_displaced(displaced);
    }
}

/// The timer's thread is awake: SIGQUIT must not be without a handler while main cannot block it.
pub(crate) fn keep_handled() {
    if let Some(sensor) = SENSOR.get() {
        sensor.keep_handled();
    }
}

#[cold]
fn tell_displaced(displaced: Displaced) {
    worker::then(Box::new(move || {
        let consequence = match displaced.blocked {
            true => "main blocks it again, so the Signal Catcher gets it, and it is not sensed from here on",
            false => "whether signals still come here, and to the Signal Catcher, is its doing",
        };
        notice(&format!("SIGQUIT was taken over by {}: {consequence}", handler_name(displaced.handler)));
    }));
}

/// Whose handler that is.
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
    // SAFETY: it takes any address, and writes to `info` alone.
    let known = unsafe { libc::dladdr(handler as *const libc::c_void, &mut info) } != 0;
    if !known || info.dli_fname.is_null() {
        return format!("a handler at {handler:#x} that is in no library");
    }
    // SAFETY: dladdr gave a C string of the loader's that lives as long as the library, whose handler is in force.
    let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes();
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    format!("a handler in {name} (at +{:#x})", handler.wrapping_sub(info.dli_fbase as usize))
}

/// Why [`dump`] asked for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpError {
    /// Nothing is being recorded.
    NotRecording,
    /// It could not be asked for.
    Ask(AskError),
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRecording => f.write_str("nothing is being recorded: start it first"),
            Self::Ask(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DumpError {}

/// Asks for a thread dump of this process, now: by a SIGQUIT to ourselves, which the Signal Catcher (on a JVM: its own
/// handler) answers as any other, and which the recording says was asked for by us. Any thread, not in a signal
/// handler; it returns before the dump is written.
///
/// # Errors
/// [`DumpError`]; nothing was sent then.
pub fn dump() -> Result<(), DumpError> {
    if Recorder::active().is_none() {
        return Err(DumpError::NotRecording);
    }
    // Before the signal: it may be sensed before the call comes back.
    verdict::asking();
    native_signal::ask_for_dump().map_err(DumpError::Ask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_is_named_by_its_library() {
        let name = handler_name(libc::getpid as *const () as usize);
        assert!(name.starts_with("a handler in libc") && name.contains("(at +0x"), "{name}");
        assert!(handler_name(0x10).contains("0x10 that is in no library"));
        assert!(handler_name(libc::SIG_DFL).contains("default action"));
    }
}
