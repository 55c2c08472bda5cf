//! Starts recording.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use native_signal::{InstallError, Policy, Thresholds};
use trace_format::MapId;
use trace_format::layout::{Sizes, State};
use trace_format::section::SectionKind;
use trace_format::sections::configuration;

use crate::control::{self, Clock};
use crate::files::file::Destination;
use crate::files::{process_facts, worker};
use crate::main_thread::message_watch;
use crate::memory::mapping::{Mapping, Process};
use crate::memory::pool::Pool;
use crate::monitors::envelope;
use crate::monitors::past::crash_loop;
use crate::recorder::Recorder;
use crate::recorder::Threads;
use crate::recorder::notice;
use crate::sigquit::{sensing, verdict};
use crate::stall_timer;
use crate::ticker;
use crate::time::clock;
use crate::time::coarse;
use crate::time::fold;
use crate::writing::{overhead, switches, thread};

/// What to record, and where to.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to.
    pub destination: Destination,
    /// The process's name for the reader.
    pub process_name: String,
    /// The method map that the ids belong to.
    pub map_id: MapId,
    /// How much room each region gets.
    pub sizes: Sizes,
    /// Whether SIGQUIT is sensed.
    pub sense_sigquit: bool,
    /// By whose rules it is judged whether a SIGQUIT was an ANR.
    pub policy: Policy,
    /// How often to note that the process is alive although nothing is stuck, until half a minute after the last event.
    /// `None` on a phone: it costs wake-ups; there the looper timer notes it while main is stuck.
    pub heartbeat: Option<Duration>,
    /// When the looper timer finds a message late.
    pub thresholds: Thresholds,
    /// Which threads are recorded.
    pub threads: Threads,
    /// How methods get their time.
    pub clock: Clock,
    /// How far apart the ticks of coarse time are.
    pub tick: Duration,
    /// Calls that are no longer than this are left out; in coarse time 0 stands for those that no tick falls into. `None`: every call
    /// is recorded.
    pub shortest: Option<Duration>,
    /// How much of the threads' time recording may take, in hundredths of a percent, until methods are switched off; 0: none ever is.
    pub max_overhead: u32,
}

impl Config {
    /// The defaults, for a file or folder.
    #[must_use]
    pub fn new(destination: Destination, process_name: impl Into<String>) -> Self {
        Self {
            destination,
            process_name: process_name.into(),
            map_id: MapId::UNKNOWN,
            sizes: Sizes::DEFAULT,
            sense_sigquit: true,
            policy: Policy::default(),
            heartbeat: None,
            thresholds: Thresholds::default(),
            threads: Threads::default(),
            clock: Clock::default(),
            tick: Duration::from_millis(1),
            shortest: None,
            max_overhead: 0,
        }
    }
}

/// Why recording did not start. The app runs on, unrecorded.
#[derive(Debug)]
pub enum StartError {
    /// It has been started before in this process; a recorder that was disarmed is not started again.
    Already,
    /// There is no room for a recording, not even in memory.
    NoMemory(io::Error),
    /// Sizes that no recording can have.
    Sizes,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Already => f.write_str("recording was started before in this process"),
            Self::NoMemory(error) => write!(f, "no memory for a recording: {error}"),
            Self::Sizes => f.write_str(
                "every ring needs 2 blocks at least, and the thread table more entries than the pool has blocks",
            ),
        }
    }
}

impl std::error::Error for StartError {}

static STARTED: AtomicBool = AtomicBool::new(false);

/// Starts recording; the calling thread becomes the recorded main thread.
///
/// It begins in memory, and a thread of ours makes the file: see [`crate::wait_for_file`]. Where none can be made, the
/// recording goes on in memory and a notice in it says why; [`crate::set_destination`] may give it another place.
///
/// # Errors
/// See [`StartError`]. Faults that leave something to record (no file, no sensor, no timer) are notices
/// in the recording instead.
pub fn start(config: &Config) -> Result<(), StartError> {
    let sizes = &config.sizes;
    if sizes.main_blocks < 2
        || sizes.pool_blocks < 2
        || sizes.service_blocks < 2
        || sizes.threads <= sizes.pool_blocks
    {
        return Err(StartError::Sizes);
    }
    if STARTED.swap(true, Ordering::AcqRel) {
        return Err(StartError::Already);
    }
    let mapping = Mapping::anonymous(sizes).map_err(StartError::NoMemory)?;
    let mapping: &'static Mapping = Box::leak(Box::new(mapping));
    let main_tid = thread::gettid();
    mapping.write_header(&Process {
        pid: std::process::id(),
        main_tid,
        uid: nix::unistd::getuid().as_raw(),
        map_id: config.map_id.0,
        name: &config.process_name,
        start: clock::all(),
    });
    let pool = Pool::new(sizes.pool_blocks, sizes.threads);
    let recorder = Box::new(Recorder::new(mapping, pool, main_tid, config.threads));
    let recorder = Recorder::activate(recorder).map_err(|_| StartError::Already)?;
    switches::prepare();
    envelope::set_process(&config.process_name);
    fold::set(config.shortest.map_or(fold::NOTHING, |shortest| shortest.as_nanos() as u64), config.tick);
    coarse::set_pace(config.clock.pace());
    watch_fork_and_exit();
    start_threads(recorder, config);
    Ok(())
}

/// Main starts one thread, the worker, and that one the others: a thread costs its maker a stack, which has to be mapped, and
/// a walk through the kernel. What they look after begins here: the sensor's handler, which hands signals on by itself, and
/// the timer's word.
fn start_threads(recorder: &'static Recorder, config: &Config) {
    message_watch::prepare_timer(config.thresholds);
    let installed = config.sense_sigquit.then(sensing::install);
    let others = {
        let config = config.clone();
        move || start_others(recorder, &config, installed)
    };
    let worker =
        worker::start(recorder, config.destination.clone(), &config.process_name, config.sizes, others);
    if let Err(error) = worker {
        // Where not one thread can be had, no second one can.
        notice(&format!(
            "no thread of the recorder's: no file, no SIGQUITs, no messages that are late: {error}"
        ));
        control::set_clock(Clock::Precise);
    }
}

/// What the worker does first. Gives the recording's first sections.
fn start_others(
    recorder: &'static Recorder,
    config: &Config,
    installed: Option<Result<(), InstallError>>,
) -> [(SectionKind, Vec<u8>); 2] {
    overhead::set_max(config.max_overhead);
    if let Err(error) = ticker::start(recorder, config.heartbeat) {
        notice(&format!("no ticker: times are read from the kernel: {error}"));
        control::set_clock(Clock::Precise);
    }
    verdict::start(config.policy);
    if let Some(installed) = installed {
        sensing::listen(installed);
    }
    if let Err(error) = stall_timer::start() {
        notice(&format!("no looper timer: {error}"));
    }
    let process = process_facts::section(&config.process_name);
    [(SectionKind::Process, process), (SectionKind::Configuration, settings(config))]
}

/// What is in force. Numbers alone: formatting whole structures is 4 KB of code on a device.
fn settings(config: &Config) -> Vec<u8> {
    let sizes = &config.sizes;
    let heartbeat = config.heartbeat.map_or(0, |interval| interval.as_millis() as u64);
    let all = [
        ("coarse", u64::from(config.clock == Clock::Coarse)),
        ("main_only", u64::from(config.threads == Threads::Main)),
        ("sense_sigquit", u64::from(config.sense_sigquit)),
        ("policy_matrix", u64::from(config.policy == Policy::Matrix)),
        ("heartbeat_ms", heartbeat),
        ("suspect_ns", config.thresholds.suspect_ns),
        ("stall_ns", config.thresholds.stall_ns),
        ("tick_ns", config.thresholds.tick_ns),
        ("main_blocks", sizes.main_blocks.into()),
        ("pool_blocks", sizes.pool_blocks.into()),
        ("service_blocks", sizes.service_blocks.into()),
        ("threads", sizes.threads.into()),
        ("string_bytes", sizes.string_bytes.into()),
        ("resolution_ns", config.tick.as_nanos() as u64),
        ("short_calls", u64::from(config.shortest.is_none())),
        ("shortest_ns", config.shortest.map_or(0, |shortest| shortest.as_nanos() as u64)),
        ("max_overhead_hundredths", config.max_overhead.into()),
    ];
    configuration::encode(&all)
}

/// An exit waits for the worker this long at most.
const EXIT_WAITS: Duration = Duration::from_secs(1);

/// A forked child shares the mapping and must never write it; an exit in order is worth knowing.
fn watch_fork_and_exit() {
    extern "C" fn in_child() {
        Recorder::deactivate(None);
    }
    extern "C" fn at_exit() {
        // A program that ends at once is recorded too. In a forked child there is no worker to wait for.
        if Recorder::active().is_some() {
            crash_loop::settled();
            worker::drain(EXIT_WAITS);
        }
        Recorder::deactivate(Some(State::Ended));
    }
    // SAFETY: both handlers only store to atomics and to the mapping, which stays, and the one at exit waits for a
    // thread of ours for a bounded time; the library that holds
    // them is never unloaded (nothing calls dlclose on a library that JNI has loaded while its loader lives,
    // and the boot and app loaders live as long as the process).
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
        libc::atexit(at_exit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_refused_before_anything_is_made() {
        let mut config = Config::new(Destination::Later, "t");
        config.sizes.threads = config.sizes.pool_blocks;
        assert!(matches!(start(&config), Err(StartError::Sizes)));
    }
}
