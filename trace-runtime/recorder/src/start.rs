//! Starts the recorder.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trace_format::MapId;
use trace_format::layout::{Sizes, State};
use trace_format::section::SectionKind;

use crate::control::{self, Clock};
use crate::files::file::Destination;
use crate::files::{process_facts, worker};
use crate::memory::mapping::{Mapping, Process};
use crate::memory::pool::Pool;
use crate::recorder::hooks::Hooks;
use crate::recorder::{Recorder, Threads, notice};
use crate::ticker;
use crate::time::{clock, coarse, fold};
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
    /// How often to note that the process is alive although nothing is recorded, until half a minute after the last event.
    /// `None` on a phone: it costs wake-ups.
    pub heartbeat: Option<Duration>,
    /// The kernel's id of the thread that is recorded as main; `None` for the calling one.
    pub main_tid: Option<u32>,
    /// Which threads are recorded.
    pub threads: Threads,
    /// How methods get their time.
    pub clock: Clock,
    /// How far apart the ticks of coarse time are.
    pub tick: Duration,
    /// Calls that take at most this are left out; in coarse time 0 means calls that no tick falls into. `None`: every call
    /// is recorded.
    pub shortest: Option<Duration>,
    /// How much of the threads' time recording may take, in hundredths of a percent, until methods are switched off; 0: no
    /// method ever is.
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
            heartbeat: None,
            main_tid: None,
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

/// Starts recording by itself; the calling thread becomes the recorded main thread.
///
/// It begins in memory, and a thread of the recorder makes the file: see [`crate::wait_for_file`]. Where no file can be
/// made, the recording goes on in memory and a notice in it says why; [`crate::set_destination`] may give it another
/// place.
///
/// # Errors
/// See [`StartError`]. Faults that leave something to record (no file, no thread) are notices in the recording instead.
pub fn start(config: &Config) -> Result<(), StartError> {
    prepare(config, Hooks::default())?.start_threads(config, || None);
    Ok(())
}

/// The first half of [`start`], with hooks: from here on events are recorded, in memory. [`Prepared::start_threads`] is the
/// second half.
///
/// # Errors
/// See [`StartError`].
pub fn prepare(config: &Config, hooks: Hooks) -> Result<Prepared, StartError> {
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
    let main_tid = config.main_tid.unwrap_or_else(thread::gettid);
    mapping.write_header(&Process {
        pid: std::process::id(),
        main_tid,
        uid: nix::unistd::getuid().as_raw(),
        map_id: config.map_id.0,
        name: &config.process_name,
        start: clock::all(),
    });
    let pool = Pool::new(sizes.pool_blocks, sizes.threads);
    let recorder = Box::new(Recorder::new(mapping, pool, main_tid, config.threads, hooks));
    let recorder = Recorder::activate(recorder).map_err(|_| StartError::Already)?;
    switches::prepare();
    fold::set(config.shortest.map_or(fold::NOTHING, |shortest| shortest.as_nanos() as u64), config.tick);
    coarse::set_pace(config.clock.pace());
    watch_fork_and_exit();
    Ok(Prepared(recorder))
}

/// A recorder that records in memory and has no thread yet.
#[derive(Debug)]
#[must_use = "without threads there is no file, and coarse time stands still"]
pub struct Prepared(&'static Recorder);

impl Prepared {
    /// Starts the worker, which starts the ticker and calls `first`: on the worker, before there is a file. It returns
    /// the payload of the recording's section of settings. Main starts one thread alone: a thread costs its maker a
    /// stack, which has to be mapped, and a walk through the kernel.
    pub fn start_threads(self, config: &Config, first: impl FnOnce() -> Option<Vec<u8>> + Send + 'static) {
        let recorder = self.0;
        let (max_overhead, heartbeat) = (config.max_overhead, config.heartbeat);
        let process_name = config.process_name.clone();
        let others = move || {
            overhead::begin(max_overhead);
            if let Err(error) = ticker::start(recorder, heartbeat) {
                notice(&format!("no ticker: times are read from the kernel: {error}"));
                control::set_clock(Clock::Precise);
            }
            let settings = first();
            let process = process_facts::section(&process_name);
            [Some((SectionKind::Process, process)), settings.map(|all| (SectionKind::Configuration, all))]
        };
        let worker =
            worker::start(recorder, config.destination.clone(), &config.process_name, config.sizes, others);
        if let Err(error) = worker {
            // Where the first thread cannot be started, no second one can.
            notice(&format!(
                "cannot start the worker thread: file output, SIGQUIT capture and stall detection are off: {error}"
            ));
            control::set_clock(Clock::Precise);
        }
    }
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
        if let Some(recorder) = Recorder::active() {
            (recorder.hooks.at_exit)();
            worker::drain(EXIT_WAITS);
        }
        Recorder::deactivate(Some(State::Ended));
    }
    // SAFETY: both handlers only store to atomics and to the mapping, which stays, and the one at exit waits for a
    // thread of the recorder for a bounded time; the library that holds them is never unloaded (nothing calls dlclose on a
    // library that JNI has loaded while its loader lives, and the boot and app loaders live as long as the process).
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
        libc::atexit(at_exit);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_refused_before_anything_is_made() {
        let mut config = Config::new(Destination::Later, "t");
        config.sizes.threads = config.sizes.pool_blocks;
        assert!(matches!(start(&config), Err(StartError::Sizes)));
    }
}
