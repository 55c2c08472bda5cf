//! Starts recording.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use native_signal::{Forwarded, InstallError, Mode, Sensed, Sensor, Thresholds};
use trace_format::MapId;
use trace_format::event::{Event, Forward, Sigquit};
use trace_format::layout::{Sizes, State};
use trace_format::section::SectionKind;

use crate::mapping::{Mapping, Process};
use crate::pool::Pool;
use crate::recorder::Recorder;
use crate::{clock, looper, notice, thread, worker};

/// Where the recording goes.
#[derive(Clone, Debug)]
pub enum Destination {
    /// This file, which must not exist.
    File(PathBuf),
    /// A new file in this folder, named by process name and pid.
    Folder(PathBuf),
}

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
    /// How often to note that the process is alive although nothing is stuck. `None` on a phone: it costs
    /// wake-ups; there the looper timer notes it while main is stuck.
    pub heartbeat: Option<Duration>,
    /// When the looper timer finds a message late.
    pub thresholds: Thresholds,
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
            heartbeat: None,
            thresholds: Thresholds::default(),
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
/// Never dropped: that would uninstall it.
static SENSOR: OnceLock<Sensor> = OnceLock::new();

/// Starts recording; the calling thread becomes the recorded main thread.
///
/// Gives the recording's file, or `None` where none could be made: then it is in memory only and a notice in
/// it says why.
///
/// # Errors
/// See [`StartError`]. Faults that leave something to record (no file, no sensor, no timer) are notices
/// in the recording instead.
pub fn start(config: &Config) -> Result<Option<PathBuf>, StartError> {
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
    let (mapping, path, no_file) = match create(config) {
        Ok((mapping, path)) => (mapping, Some(path), None),
        Err(error) => (Mapping::anonymous(sizes).map_err(StartError::NoMemory)?, None, Some(error)),
    };
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
    let recorder = Box::new(Recorder::new(mapping, pool, main_tid));
    let recorder = Recorder::activate(recorder).map_err(|_| StartError::Already)?;
    watch_fork_and_exit();
    if let Some(error) = no_file {
        notice(&format!("no recording file, in memory only: {error}"));
    }
    start_threads(recorder, config);
    Ok(path)
}

fn create(config: &Config) -> io::Result<(Mapping, PathBuf)> {
    let folder = match &config.destination {
        Destination::File(path) => return Ok((Mapping::create(path, &config.sizes)?, path.clone())),
        Destination::Folder(folder) => folder,
    };
    std::fs::create_dir_all(folder)?;
    // A pid comes again after a reboot: what lies there already is somebody's evidence.
    for attempt in 0..1_000 {
        let path = folder.join(file_name(&config.process_name, attempt));
        match Mapping::create(&path, &config.sizes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return Ok((other?, path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn file_name(process_name: &str, attempt: u32) -> String {
    let last = Path::new(process_name).file_name().map_or("process".into(), |n| n.to_string_lossy());
    let plain: String = last
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
        .collect();
    let pid = std::process::id();
    if attempt == 0 { format!("{plain}-{pid}.anrscope") } else { format!("{plain}-{pid}.{attempt}.anrscope") }
}

fn start_threads(recorder: &'static Recorder, config: &Config) {
    match worker::start(recorder, config.heartbeat) {
        Ok(()) => {
            let process = format!(
                "name={}\nabi={}\nos={}\nversion={}\n",
                config.process_name.replace('\n', " "),
                std::env::consts::ARCH,
                std::env::consts::OS,
                env!("CARGO_PKG_VERSION"),
            );
            worker::append(SectionKind::Process, process.into_bytes());
            worker::append(SectionKind::Configuration, format!("{config:#?}\n").into_bytes());
        }
        Err(error) => notice(&format!("no worker thread, sections are missing: {error}")),
    }
    if let Err(error) = looper::start_timer(config.thresholds) {
        notice(&format!("no looper timer: {error}"));
    }
    if config.sense_sigquit {
        match native_signal::install(native_signal::Config::default(), Box::new(on_sigquit)) {
            Ok(sensor) => {
                if let Mode::Passive { reason } = sensor.mode() {
                    notice(&format!("SIGQUIT is not sensed: {reason:?}"));
                }
                let _ = SENSOR.set(sensor);
            }
            // Another copy of the library, in another class loader, has it: that one records it.
            Err(InstallError::AlreadyInstalled) => notice("SIGQUIT is sensed by another instance"),
            Err(error) => notice(&format!("SIGQUIT is not sensed: {error}")),
        }
    }
}

/// Runs on the sensor's thread, after the signal was handed on.
fn on_sigquit(sensed: Sensed) {
    let Some(recorder) = Recorder::active() else { return };
    let forward = match sensed.forwarded {
        Forwarded::ToCatcher { .. } | Forwarded::LateToCatcher { .. } | Forwarded::Rescued { .. } => {
            Forward::Catcher
        }
        Forwarded::ToOlderHandler => Forward::OlderHandler,
        Forwarded::Failed { .. } => Forward::Failed,
    };
    let event = Event::Sigquit(Sigquit {
        sensed: sensed.time_ns,
        si_code: sensed.si_code,
        si_pid: sensed.si_pid as u32,
        si_uid: sensed.si_uid,
        forward,
        stuck_since: recorder.message_since.load(Ordering::Relaxed),
    });
    // First what the report needs: the system may kill us at any moment from here on.
    recorder.service(&event);
    recorder.service(&Event::Clock(clock::all()));
    recorder.alive(clock::boottime());
}

/// A forked child shares the mapping and must never write it; an exit in order is worth knowing.
fn watch_fork_and_exit() {
    extern "C" fn in_child() {
        Recorder::deactivate(None);
    }
    extern "C" fn at_exit() {
        Recorder::deactivate(Some(State::Ended));
    }
    // SAFETY: both handlers only store to atomics and to the mapping, which stays; the library that holds
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
    fn file_names_are_plain_whatever_the_process_is_called() {
        let pid = std::process::id();
        assert_eq!(file_name("com.example:push", 0), format!("com.example_push-{pid}.anrscope"));
        assert_eq!(file_name("/usr/bin/../x y", 2), format!("x_y-{pid}.2.anrscope"));
        assert_eq!(file_name("..", 0), format!("process-{pid}.anrscope"));
    }

    #[test]
    fn impossible_sizes_are_refused_before_anything_is_made() {
        let mut config = Config::new(Destination::File("/nonexistent/x".into()), "t");
        config.sizes.threads = config.sizes.pool_blocks;
        assert!(matches!(start(&config), Err(StartError::Sizes)));
    }
}
