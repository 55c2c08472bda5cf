//! The monitors of the main thread: they carry what the shims of `java/` and `android/` and the recorder see to the rules of
//! [`trace_rules`], and what these decide into the recording and to the app.
//!
//! | module | what |
//! | --- | --- |
//! | `device` | what every report says of the device and the process |
//! | `frames` | the stage of the frame that main is in, and the counting of frames behind it |
//! | `ground`, `lifecycle` | foreground and scene, and what tells them |
//! | `starts` | starts and pages |
//! | `idle`, `touch`, `tuning` | idle handlers, late input, main's priority and timer slack |
//! | `crash_loop` | whether this start may be |
//! | `exit_info`, `profile`, `retention`, `old_file` | recordings of earlier processes: what became of them, profiles that the platform left, which are kept |
//! | `jni` | what the shims call |
//! | `messages`, `open` | main's messages: pairing, history, which one is open |
//! | `older` | what only Matrix's first generation reports, for who asks for it |
//! | `outermost` | main's messages where no Printer tells of them |
//! | `overlay` | the window that shows frames a second |
//! | [`options`] | every flag and threshold |
//! | `redact` | what of the app's own texts is recorded |
//! | [`reports`] | finished reports: into the recording, and to the app's listener on a thread that is its own |
//! | `sampler`, `samples` | main's Java stack, asked of a thread of the shims; samples of it while main is stuck |
//! | `slow`, `stacks`, `java_stack` | slow messages, what main called in them, and its Java stack |
//! | `errors` | the system's list of processes in error, for the judge of SIGQUITs |
//! | `timers`, `snapshot` | LAG and ANR, and what was known when one was found |
//! | `told` | what the app's listener of ANRs gets |
//!
//! # Which thread does what
//! Main only stores: begin and end of what it does, into the recorder's ring and the rules' fixed memory. The timer thread
//! (`anrscope-timer`) notices what takes too long. The worker builds trees and reports. Java threads of the shims come *into*
//! this library and wait there (`reports::next`), so that no thread of the library ever calls into Java.

mod crash_loop;
pub(crate) mod device;
mod errors;
mod exit_info;
mod finished;
pub(crate) mod frames;
mod ground;
mod idle;
mod java_stack;
mod jni;
mod lifecycle;
pub(crate) mod messages;
mod old_file;
mod older;
mod open;
pub mod options;
pub(crate) mod outermost;
mod overlay;
mod profile;
pub(crate) mod redact;
pub mod reports;
mod retention;
mod sampler;
pub(crate) mod samples;
mod slow;
pub(crate) mod snapshot;
pub(crate) mod stacks;
pub(crate) mod starts;
pub(crate) mod timers;
pub(crate) mod told;
pub(crate) mod touch;
pub(crate) mod tuning;
pub(crate) mod unknown;

pub(crate) use crash_loop::settled;

use std::sync::atomic::{AtomicU32, Ordering};

use options::Number;

use crate::control::{self, Clock};
use crate::time::fold;
use crate::writing::overhead;

/// The system's API level; 0 until the app's side has armed the monitors.
static API: AtomicU32 = AtomicU32::new(0);

/// The app's side has armed the monitors, on a system of this API level.
pub(crate) fn arm(api: u32) {
    API.store(api.max(1), Ordering::Relaxed);
}

/// Whether there is an app's side.
pub(crate) fn is_armed() -> bool {
    API.load(Ordering::Relaxed) != 0
}

/// The system's API level, 0 where no app's side said it.
pub(crate) fn api() -> u32 {
    API.load(Ordering::Relaxed)
}

/// Sets an option and hands it to those who keep what they made of it.
///
/// # Errors
/// [`options::Refused`]; nothing changed.
pub(crate) fn set(key: &str, value: &str) -> Result<(), options::Refused> {
    let number = options::set(key, value)?;
    match number {
        Some(Number::CoarseClock | Number::EveryCall) => {
            let coarse = options::is_on(Number::CoarseClock);
            fold::set_limit(match (options::is_on(Number::EveryCall), coarse) {
                (true, _) => fold::NOTHING,
                (false, true) => 0,
                (false, false) => fold::PRECISE_NS,
            });
            control::set_clock(if coarse { Clock::Coarse } else { Clock::Precise });
        }
        Some(Number::MainOnly) => control::set_main_only(options::is_on(Number::MainOnly)),
        Some(Number::MaxOverhead) => overhead::set_max(options::number(Number::MaxOverhead) as u32 * 100),
        _ => {}
    }
    starts::configure();
    messages::options_changed();
    Ok(())
}
