//! The monitors of the main thread. They pass what the Java shims and the recorder observe to the rules of [`trace_rules`], and
//! put the rules' findings into the recording and into reports for the app.
//!
//! | module | contents |
//! | --- | --- |
//! | `config` | [`options`]: every flag and threshold; `redact`: which of the app's own texts are recorded |
//! | `app_state` | whether the app is in the foreground, and the screen that is shown |
//! | [`reports`], `envelope` | finished reports for the recording and the app's listener; what each says of device and process |
//! | `native_stacks` | native stacks of stalled threads; heartbeats of the app's own threads |
//! | `stacks` | what main called, from its record; main's Java stack and samples of it |
//! | `system_state` | threads, CPU, memory, I/O and power while main is stalled |
//! | `matrix_04` | slow methods that only Matrix 0.4 reports (option `older_methods`) |
//! | `looper` | messages, idle handlers and input on main; main's priority and timer slack |
//! | `frames` | the stages of a frame, the counting of frames, the overlay |
//! | `anr` | LAG and ANR: the timers, the snapshot, the app's ANR listener |
//! | `past` | recordings of earlier processes: how each ended, which are kept; the crash-loop guard |
//! | `starts` | app starts and pages, and the activity life cycle |
//!
//! A module uses only modules above it in this table.
//!
//! # Which thread does what
//! Main only stores: begin and end of what it does, into the recorder's ring and the rules' fixed memory. The timer thread
//! (`anrscope-timer`) notices what takes too long. The worker builds call trees and reports. Java threads of the shims come *into*
//! this library and wait there (`reports::next`), so that no thread of the library ever calls into Java.

pub(crate) mod anr;
pub mod app_state;
pub(crate) mod config;
pub(crate) mod envelope;
pub(crate) mod frames;
pub(crate) mod looper;
pub(crate) mod matrix_04;
pub(crate) mod native_stacks;
pub(crate) mod past;
pub mod reports;
pub(crate) mod stacks;
pub(crate) mod starts;
pub(crate) mod system_state;

pub use config::options;

use std::sync::atomic::{AtomicU32, Ordering};

use options::Setting;

use crate::control::{self, Clock};
use crate::time::fold;
use crate::writing::overhead;

/// The system's API level; 0 until the app's side has armed the monitors.
static API: AtomicU32 = AtomicU32::new(0);

/// Notes that the Java side has armed the monitors, and the system's API level.
pub(crate) fn arm(api: u32) {
    API.store(api.max(1), Ordering::Relaxed);
}

/// Whether the Java side has armed the monitors.
pub(crate) fn is_armed() -> bool {
    API.load(Ordering::Relaxed) != 0
}

/// The system's API level; 0 before [`arm`].
pub(crate) fn api() -> u32 {
    API.load(Ordering::Relaxed)
}

/// Sets an option and updates what depends on it.
///
/// # Errors
/// [`options::Refused`]; nothing changed.
pub(crate) fn set(key: &str, value: &str) -> Result<(), options::Refused> {
    let setting = options::set(key, value)?;
    match setting {
        Some(Setting::CoarseClock | Setting::EveryCall) => {
            let coarse = options::is_enabled(Setting::CoarseClock);
            fold::set_limit(match (options::is_enabled(Setting::EveryCall), coarse) {
                (true, _) => fold::NOTHING,
                (false, true) => 0,
                (false, false) => fold::PRECISE_NS,
            });
            control::set_clock(if coarse { Clock::Coarse } else { Clock::Precise });
        }
        Some(Setting::MainOnly) => recorder::set_main_only(options::is_enabled(Setting::MainOnly)),
        Some(Setting::MaxOverhead) => {
            overhead::set_max(options::number(Setting::MaxOverhead) as u32 * 100);
        }
        Some(Setting::NativeStacks) => native_stacks::capturing::options_changed(),
        _ => {}
    }
    starts::configure();
    looper::messages::options_changed();
    Ok(())
}
