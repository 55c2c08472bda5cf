//! One attachment: starts the agent, waits, stops it, and exports the recording.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use answers::answer::Answer;
use anyhow::{Context, bail};
use exporter::profile::Profile;
use exporter::{ExportOptions, Report, Selection};
use instrumenter::live::Live;
use jvm_agent::Settings;
use jvm_agent::client::{AttachError, Dir, Target};
use trace_runtime::boottime;

use super::Options;
use super::client_lock::ClientLock;
use super::open_text;
use super::place::Place;
use super::settings::{self, Agreed};
use super::thread_dump::{ThreadDump, ThreadDumps};
use crate::jvm::notices::{Notices, shell_word, size};
use crate::jvm::run_maps;
use crate::jvm::saved::Beside;
use crate::jvm::traced::{buffer_in, free_in, header, recordings_in};
use crate::output::Output;
use crate::recordings::{MAP_NAME, MethodMaps, Recordings};
use crate::scratch::Scratch;
use crate::{cleanup, signals};

/// How often the end is checked for.
const POLL: Duration = Duration::from_millis(20);

/// The option with which a JVM does not warn about agents that are loaded while it runs.
const ALLOWS_AGENTS: &str = "-XX:+EnableDynamicAgentLoading";

/// The version from which a JVM warns about agents that are loaded while it runs (JEP 451).
const WARNS_FROM: u32 = 21;

pub(super) fn run(options: &Options) -> anyhow::Result<()> {
    let notices = Notices { quiet: options.quiet };
    let target = Target::find(options.pid)?;
    let out = options
        .out
        .clone()
        .unwrap_or_else(|| Path::new("anrscope-out").join(options.pid.to_string()).with_extension("pftrace"));
    drop(Output::create(&out)?);
    let out = std::path::absolute(&out).with_context(|| format!("cannot find {}", out.display()))?;
    let beside = Beside::of(&out)?
        .with_context(|| format!("{} is not a file: choose another --out", out.display()))?;
    Live::check(&options.recording.instrumenter()?)?;
    let mut session = Session::prepare(target, options, notices)?;
    let is_to_end = catch_interrupts()?;
    let (began, before) = (Instant::now(), boottime());
    let first = match session.begin(notices) {
        Ok(first) => first,
        Err(error) => {
            // Nothing is left that the next attachment would have to know.
            session.lock.has_ended();
            return Err(error);
        }
    };
    let end = match options.time {
        Some(time) => format!("for {}", exporter::profile::time(time)),
        None => "until Ctrl-C".to_owned(),
    };
    notices.line(format_args!("recording process {} {end}", options.pid));
    let time = options.time.map(Duration::from_nanos);
    let changed = Instant::now();
    while time.is_none_or(|time| changed.elapsed() < time) && !is_to_end.load(Ordering::Relaxed) {
        if !session.target.is_alive() {
            notices.line(format_args!("process {} has ended", options.pid));
            break;
        }
        std::thread::sleep(POLL.min(time.map_or(POLL, |time| time.saturating_sub(changed.elapsed()))));
    }
    let ran = began.elapsed();
    // The program may end just now.
    let after = session.dump().ok().flatten();
    let threads = first.map(|before| ThreadDumps { before, after });
    let stopped = if session.target.is_alive() { session.command("stop") } else { Ok(()) };
    match stopped {
        // The recording is complete in any case.
        Err(error) if session.target.is_alive() => {
            notices.error(format_args!("the classes of process {} are not restored: {error:#}", options.pid));
        }
        _ => session.lock.has_ended(),
    }
    // Any signal now ends this process.
    is_to_end.store(true, Ordering::Relaxed);
    session.export(&out, &beside, Span { before, ran }, threads, notices)
}

/// Catches Ctrl-C, SIGTERM and SIGHUP, unless they are ignored. The first one sets the result, by which the recording
/// ends; a further one ends this process.
fn catch_interrupts() -> anyhow::Result<Arc<AtomicBool>> {
    let is_to_end = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_to_end);
    let caught = signals::on_each(signals::terminating(), move |signal| {
        if seen.swap(true, Ordering::Relaxed) {
            // The program may be stuck. The agent restores its classes when this process is gone.
            cleanup::end_by(signal);
        }
    });
    caught.context("cannot catch signals").map(|()| is_to_end)
}

/// The agent in one process.
struct Session {
    target: Target,
    place: Place,
    /// For paths from here to what the agent writes.
    scratch: Scratch,
    lock: ClientLock,
    /// Buffer size for events, bytes.
    buffer: u64,
}

/// When it was recorded.
struct Span {
    /// CLOCK_BOOTTIME before it began, ns.
    before: u64,
    ran: Duration,
}

impl Session {
    fn prepare(target: Target, options: &Options, notices: Notices) -> anyhow::Result<Self> {
        let place = Place::prepare(&target)?;
        let dir = &place.dir;
        let mut lock = ClientLock::take(dir, options.pid)?;
        if let Some(killed) = lock.killed {
            notices.line(format_args!(
                "the anrscope attach before this one (pid {killed}) was ended before it had restored the classes; the agent did"
            ));
        }
        // What is read of it and what is written are one file.
        let mut file = dir.write(OsStr::new(settings::FILE))?;
        let path = dir.path().join(settings::FILE);
        // Without a recording, an earlier attempt has failed.
        let is_first = !dir.names()?.iter().any(|name| is_recording(name));
        let read = || Settings::parse(&path, &open_text::read(&file).ok()?).ok();
        let earlier = if is_first { None } else { read() };
        let buffer = options.recording.buffer.map_or_else(|| buffer_in(&dir.here(), None), Ok)?;
        if is_first {
            has_room(dir, buffer)?;
        }
        let Agreed { settings, buffer, warnings } =
            settings::agree(dir, &options.recording, buffer, earlier)?;
        notices.warn_all(warnings);
        open_text::replace(&mut file, &settings.text()?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        let scratch = Scratch::create()
            .context("cannot create a temporary directory: set TMPDIR to one that can be written")?;
        lock.begins().with_context(|| format!("cannot write to {}", dir.path().display()))?;
        Ok(Self { target, place, scratch, lock, buffer })
    }

    /// Has the agent start. Returns a dump of the time before.
    fn begin(&self, notices: Notices) -> anyhow::Result<Option<ThreadDump>> {
        if self.warns()? {
            notices.line("the JVM will print a warning about the agent on the program's stderr (JEP 451)");
        }
        let first = self.dump()?;
        self.command("start")?;
        Ok(first)
    }

    /// Asks for a dump of all threads, unless the program has ended.
    fn dump(&self) -> anyhow::Result<Option<ThreadDump>> {
        self.target.is_alive().then(|| ThreadDump::take(&self.target)).transpose()
    }

    /// Returns true if the JVM will print a warning.
    fn warns(&self) -> anyhow::Result<bool> {
        Ok(self.target.loaded(crate::embedded::LIBRARY_NAME).is_none()
            && !self.target.was_started_with(ALLOWS_AGENTS)
            && self.target.version()?.is_some_and(|version| version >= WARNS_FROM))
    }

    /// Has the agent obey a command.
    fn command(&self, name: &str) -> anyhow::Result<()> {
        let dir = &self.place.dir;
        let error_file = format!("{}.error", settings::FILE);
        let _ = fs::remove_file(dir.here().join(&error_file));
        let options = format!("{name}={}", dir.path().join(settings::FILE).display());
        match self.target.load(&self.place.library, &options) {
            Err(AttachError::Agent(pid, number)) => {
                let why = dir.read(OsStr::new(&error_file))?;
                match why.and_then(|file| open_text::read(&file).ok()) {
                    Some(why) => bail!("process {pid} cannot be recorded: {why}"),
                    None => Err(AttachError::Agent(pid, number).into()),
                }
            }
            result => Ok(result?),
        }
    }

    /// Makes links in `scratch` to the recording and its maps, which are opened and checked here once: what is in the process's directory
    /// may be exchanged at any time. They lead there as long as the result lives.
    fn links(&self) -> anyhow::Result<Vec<File>> {
        let dir = &self.place.dir;
        let mut open = Vec::new();
        for name in dir.names()? {
            if !is_recording(&name) && !run_maps::has(&name) {
                continue;
            }
            let Some(file) = dir.read(&name)? else { continue };
            let from = self.scratch.path().join(name);
            symlink(format!("/proc/self/fd/{}", file.as_raw_fd()), &from)
                .with_context(|| format!("cannot create {}", from.display()))?;
            open.push(file);
        }
        Ok(open)
    }

    /// Exports and saves the recording, and prints the summary.
    fn export(
        &self,
        out: &Path,
        beside: &Beside,
        span: Span,
        threads: Option<ThreadDumps>,
        notices: Notices,
    ) -> anyhow::Result<()> {
        let dir = self.scratch.path();
        let _open = self.links()?;
        let found = recordings_in(dir)?;
        let (recording, _) = found.into_iter().next().with_context(|| {
            format!(
                "process {} has no recording in {}: the recording was deleted while it was written, or the stderr of the process \
                 says why it could not be created",
                self.target.pid(),
                self.place.dir.path().display()
            )
        })?;
        let named = self.place.dir.path().join(recording.file_name().unwrap_or_default());
        let header = header(&recording, &named)?;
        let (start, map_id) = (header.start.boottime, header.map_id);
        let map = dir.join(MAP_NAME);
        let maps = run_maps::read(dir).with_context(|| format!("cannot read {}", dir.display()))?;
        let map = maps.get(&map_id).unwrap_or(&map).to_owned();
        let recordings = beside.keep(&[(recording, map.clone())])?;
        if let Some(threads) = &threads {
            recordings.iter().try_for_each(|recording| threads.add_to(recording))?;
        }
        let opened = Recordings::open(&recordings, &mut MethodMaps::new(None, None)?)?;
        // Earlier attachments are in the recording, but not in the trace.
        let selection = Selection { from: span.before.checked_sub(start), ..Selection::default() };
        let options = ExportOptions { selection, ..ExportOptions::default() };
        notices.export(&opened, options, out, run_maps::methods_in(&map))?;
        let inputs = opened.inputs();
        if let Some(input) = inputs.first().filter(|_| !notices.quiet) {
            let left_alone = notices.untraced(input.recording, span.before);
            let profile = Profile::since(input.recording, input.map, span.before)?;
            notices.profile(&profile, span.ran, self.buffer);
            if let Some(threads) = threads {
                let report = Report::build(input.file, input.recording, input.map)?;
                // An earlier attachment's hang may be in the recording.
                let is_of_this = |answer: &Answer| {
                    answer.span.is_some_and(|hang| hang.since.saturating_add(hang.duration) >= span.before)
                };
                let hang = Some(&report.answer).filter(|answer| is_of_this(answer));
                let none = match left_alone {
                    true => "no call began in a traced class",
                    false => "no call began while it was recorded",
                };
                let none = Some(none).filter(|_| profile.events == 0);
                notices.threads(&threads, &threads.lines(&report, hang, none), out);
            }
        }
        notices.next(out, &recordings);
        Ok(())
    }
}

impl Notices {
    /// Prints what hangs, and where all threads are.
    fn threads(self, threads: &ThreadDumps, hanging: &[String], trace: &Path) {
        if hanging.is_empty() {
            return;
        }
        self.lines(hanging);
        match threads.save(trace) {
            Ok(file) => self.line(format_args!("all threads: anrscope dump {}", shell_word(&file))),
            Err(error) => self.line(format_args!("warning: {error:#}")),
        }
    }
}

fn is_recording(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "anrscope")
}

/// Checks that a recording fits into `dir`. In the process it would be too late.
fn has_room(dir: &Dir, buffer: u64) -> anyhow::Result<()> {
    let free = free_in(&dir.here());
    // Names, tables and the method map are beside the buffer.
    let needed = buffer + buffer / 8 + (1 << 20);
    if free < needed {
        bail!(
            "{} has {} free, and a recording needs {}: make room there, or choose a smaller --buffer",
            dir.path().display(),
            size(free),
            size(needed)
        );
    }
    Ok(())
}
