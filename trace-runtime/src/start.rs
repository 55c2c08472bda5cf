//! Starts recording.

use native_signal::{InstallError, Policy};
use recorder::{Clock, Destination, Hooks, Recorder, StartError, Threads, Tick, notice};
use trace_format::sections::configuration;
use trace_rules::looper::Limits;

use crate::main_thread::{message_watch, usage};
use crate::monitors::config::redact;
use crate::monitors::envelope;
use crate::monitors::looper::{outermost, unknown};
use crate::monitors::past::crash_loop;
use crate::monitors::system_state;
use crate::sigquit::{sensing, verdict};
use crate::stall_timer;

/// What to record and watch.
#[derive(Clone, Debug)]
pub struct Config {
    /// What to record, and where.
    pub recording: recorder::Config,
    /// Whether SIGQUIT is captured.
    pub sense_sigquit: bool,
    /// The rules that decide whether a SIGQUIT was an ANR.
    pub policy: Policy,
    /// The ages from which a message is suspect and a stall, until the app's options replace them.
    pub limits: Limits,
}

impl Config {
    /// The defaults, for a file or directory.
    #[must_use]
    pub fn new(destination: Destination, process_name: impl Into<String>) -> Self {
        Self {
            recording: recorder::Config::new(destination, process_name),
            sense_sigquit: true,
            policy: Policy::default(),
            limits: Limits::default(),
        }
    }
}

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
    let prepared = recorder::prepare(&config.recording, HOOKS)?;
    envelope::set_process(&config.recording.process_name);
    // The signal handler, which forwards signals by itself, and the timer's shared state are set up here; the threads follow.
    message_watch::prepare_timer(config.limits);
    let installed = config.sense_sigquit.then(sensing::install);
    let others = {
        let config = config.clone();
        move || Some(start_others(&config, installed))
    };
    prepared.start_threads(&config.recording, others);
    Ok(())
}

/// What the monitors do on the recorder's threads.
const HOOKS: Hooks = Hooks {
    spawn: |name, body| native_signal::spawn_quiet(name, body),
    on_tick,
    thread_name: redact::thread,
    at_exit: crash_loop::settled,
};

/// Runs on the ticker's thread.
fn on_tick(recorder: &'static Recorder, tick: Tick) {
    match tick {
        // What was written since the last check is visible by now, and there may be no further event for long.
        Tick::Idle => outermost::check_soon(),
        Tick::Check => {
            outermost::check_soon();
            // Main may be stalled in work that the timer does not know.
            native_signal::check_pending();
        }
        Tick::Heartbeat(now) => {
            unknown::heartbeat(recorder, now);
            usage::without_looper(recorder, now);
            system_state::poll_collections(now);
            // Without a Looper, no message end checks this.
            sensing::check_displaced(now);
        }
    }
}

/// Starts the other threads; the worker runs this first. Returns the configuration as a section.
fn start_others(config: &Config, installed: Option<Result<(), InstallError>>) -> Vec<u8> {
    verdict::start(config.policy);
    if let Some(installed) = installed {
        sensing::listen(installed);
    }
    if let Err(error) = stall_timer::start() {
        notice(&format!("no stall timer: {error}"));
    }
    settings(config)
}

/// The configuration as a section. Numbers only: formatting whole structures is 4 KB of code on a device.
fn settings(config: &Config) -> Vec<u8> {
    let recording = &config.recording;
    let sizes = &recording.sizes;
    let heartbeat = recording.heartbeat.map_or(0, |interval| interval.as_millis() as u64);
    let all = [
        ("coarse", u64::from(recording.clock == Clock::Coarse)),
        ("main_only", u64::from(recording.threads == Threads::Main)),
        ("sense_sigquit", u64::from(config.sense_sigquit)),
        ("policy_matrix", u64::from(config.policy == Policy::Matrix)),
        ("heartbeat_ms", heartbeat),
        ("suspect_ns", config.limits.suspect_ms * 1_000_000),
        ("stall_ns", config.limits.anr_ms * 1_000_000),
        ("tick_ns", config.limits.tick_ms * 1_000_000),
        ("main_blocks", sizes.main_blocks.into()),
        ("pool_blocks", sizes.pool_blocks.into()),
        ("service_blocks", sizes.service_blocks.into()),
        ("threads", sizes.threads.into()),
        ("string_bytes", sizes.string_bytes.into()),
        ("native_slots", sizes.native_slots.into()),
        ("resolution_ns", recording.tick.as_nanos() as u64),
        ("short_calls", u64::from(recording.shortest.is_none())),
        ("shortest_ns", recording.shortest.map_or(0, |shortest| shortest.as_nanos() as u64)),
        ("max_overhead_hundredths", recording.max_overhead.into()),
    ];
    configuration::encode(&all)
}
