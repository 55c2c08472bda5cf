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

/// What to record, and where.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the recording goes.
    pub destination: Destination,
    /// The process's name, as readers show it.
    pub process_name: String,
    /// The method map that method ids refer to.
    pub map_id: MapId,
    /// The size of each region.
    pub sizes: Sizes,
    /// Whether SIGQUIT is captured.
    pub sense_sigquit: bool,
    /// The rules that decide whether a SIGQUIT was an ANR.
    pub policy: Policy,
    /// How often to record that the process is alive while nothing is stalled, until half a minute after
    /// the last event. `None` on a phone, where this would cost wake-ups; there the stall timer records it
    /// while main is stalled.
    pub heartbeat: Option<Duration>,
    /// The ages from which the stall timer suspects a message, and from which it is a stall.
    pub thresholds: Thresholds,
    /// Which threads are recorded.
    pub threads: Threads,
    /// How methods get their timestamps.
    pub clock: Clock,
    /// The interval between ticks of coarse time.
    pub tick: Duration,
    /// Calls up to this length are left out; in coarse time 0 means calls that span no tick. `None`: every
    /// call is recorded.
    pub shortest: Option<Duration>,
    /// The share of the threads' time that recording may take, in hundredths of a percent, before methods
    /// are switched off. 0: no limit.
    pub max_overhead: u32,
}

impl Config {
    /// The defaults, for a file or directory.
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

/// Why recording did not start. The app continues without it.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// Recording was started before in this process. A recorder that was disarmed cannot be started again.
    Already,
    /// Not enough memory for a recording.
    NoMemory(io::Error),
    /// Sizes that a recording cannot have.
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
/// Recording begins in memory, and a thread of the library creates the file: see [`crate::wait_for_file`].
/// If no file can be created, recording continues in memory and a notice in it says why;
/// [`crate::set_destination`] can set another place.
///
/// # Errors
/// See [`StartError`]. Faults that still leave something to record (no file, no signal handler, no timer)
/// are notices in the recording instead.
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

/// Starts the threads. Main starts the worker alone, and the worker starts the others: creating a thread
/// costs the caller a stack mapping and a system call. The signal handler, which forwards signals by
/// itself, and the timer's shared state are set up here.
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
        // If one thread cannot be started, another cannot either.
        notice(&format!(
            "could not start the worker thread: file output, SIGQUIT capture and stall detection are off: {error}"
        ));
        control::set_clock(Clock::Precise);
    }
}

/// Starts the other threads; the worker runs this first. Returns the recording's first sections.
fn start_others(
    recorder: &'static Recorder,
    config: &Config,
    installed: Option<Result<(), InstallError>>,
) -> [(SectionKind, Vec<u8>); 2] {
    overhead::set_max(config.max_overhead);
    if let Err(error) = ticker::start(recorder, config.heartbeat) {
        notice(&format!("no ticker, so each time is read from the kernel: {error}"));
        control::set_clock(Clock::Precise);
    }
    verdict::start(config.policy);
    if let Some(installed) = installed {
        sensing::listen(installed);
    }
    if let Err(error) = stall_timer::start() {
        notice(&format!("no stall timer: {error}"));
    }
    let process = process_facts::section(&config.process_name);
    [(SectionKind::Process, process), (SectionKind::Configuration, settings(config))]
}

/// The configuration as a section. Numbers only: formatting whole structures is 4 KB of code on a device.
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

/// The longest that an exit waits for the worker.
const EXIT_WAITS: Duration = Duration::from_secs(1);

/// Registers handlers for fork and exit: a forked child shares the mapping and must never write to it, and
/// an orderly exit is recorded as such.
fn watch_fork_and_exit() {
    extern "C" fn in_child() {
        Recorder::deactivate(None);
    }
    extern "C" fn at_exit() {
        // A program that ends at once is recorded too. A forked child has no worker to wait for.
        if Recorder::active().is_some() {
            crash_loop::settled();
            worker::drain(EXIT_WAITS);
        }
        Recorder::deactivate(Some(State::Ended));
    }
    // SAFETY: both handlers only store to atomics and to the mapping, which is never unmapped; the one at
    // exit also waits for the worker for a bounded time. The library that contains them is never unloaded:
    // nothing calls dlclose on a library that JNI has loaded while its loader lives, and the boot and app
    // loaders live as long as the process.
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
        libc::atexit(at_exit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_refused_before_anything_is_created() {
        let mut config = Config::new(Destination::Later, "t");
        config.sizes.threads = config.sizes.pool_blocks;
        assert!(matches!(start(&config), Err(StartError::Sizes)));
    }
}
