//! One run: traces the program, and exports its recording.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use answers::answer::Conclusion;
use anyhow::{Context, bail};
use exporter::profile::Profile;
use exporter::requests::{Requests, Watch};
use exporter::{ExportOptions, FileSource, Report};
use instrumenter::live::Live;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statvfs::statvfs;
use trace_format::{Header, ReadError, Source as _};

use super::child::{Supervisor, exit_code};
use super::java::{self, Java};
use super::launch::{self, Launch, Main};
use super::notices::{Notices, answered, size};
use super::options::Options;
use super::properties;
use super::run_maps;
use super::saved::{self, Beside};
use super::with_agent::WithAgent;
use crate::embedded;
use crate::output::Output;
use crate::recordings::{MethodMaps, Recordings, own_map_of};
use crate::scratch::{Scratch, private_builder};
use crate::terminal::counted;

/// Free space in the file system that events do not use.
const LEFT_FREE: u64 = 64 << 20;

/// The largest file that a run with the smallest buffer needs besides the agent's library, bytes.
const LEAST_FILE: u64 = 8 << 20;

pub(super) fn run(options: Options) -> anyhow::Result<ExitCode> {
    let notices = Notices { quiet: options.quiet };
    let (named, arguments) = java::without_launcher(&options.arguments);
    let java = Java::find(named)?;
    let variable = std::env::var_os(launch::VARIABLE);
    // Nothing is left to do then: become the program.
    let become_it = || {
        let error = Command::new(&java.path).args(arguments).exec();
        Err(error).with_context(|| format!("cannot run {}", java.path.display()))
    };
    let Some(launch) = launch::plan(arguments, variable.as_deref(), java.version) else {
        return become_it();
    };
    WithAgent::check_variables()?;
    let supervisor = Supervisor::start()?;
    let prepared = Run::new(&options, &launch).and_then(|run| {
        let prepared = run.prepare(&options, &launch, &java, arguments, variable.as_deref(), notices);
        // A directory that the user names must do; a temporary one is the system's matter.
        let prepared = prepared.map_err(|e| if options.keep.is_none() { e.context(Untraced) } else { e });
        prepared.map(|(command, agent)| (run, command, agent))
    });
    match prepared {
        Ok((run, command, agent)) => run.run(command, &agent, &supervisor, notices),
        Err(error) if error.is::<Untraced>() => {
            if options.out.is_none()
                && let Some(made) = default_out(&launch.main).parent()
            {
                // Only if it is empty.
                let _ = fs::remove_dir(made);
            }
            notices.error(format_args!("{error:#}"));
            become_it()
        }
        Err(error) => Err(error),
    }
}

/// Context of an error for which the program runs all the same, without being traced.
///
/// What the command line asks for is refused before the program starts if it is not available: `--out`, `--keep`, `--buffer`, `--rules`.
/// The user is there, and has an option to change. But a program must not depend on what anrscope needs besides: a directory for
/// temporary files with room, a working directory that can be written, files of any size.
#[derive(Debug, thiserror::Error)]
#[error("the program runs untraced")]
struct Untraced;

/// Where and how a run writes.
struct Run {
    /// Directory of recordings, map and agent.
    dir: PathBuf,
    /// Removes `dir` unless it is kept.
    scratch: Option<Scratch>,
    /// The trace.
    out: PathBuf,
    /// Where the recording is saved if `dir` is not kept.
    beside: Option<Beside>,
    /// Buffer size for events, bytes.
    buffer: u64,
    /// Recordings of an earlier run in `dir`.
    earlier: HashSet<(PathBuf, u64)>,
    /// The requests to print.
    watch: Option<Watch>,
}

/// How a program ended.
struct Ended {
    /// Whether the exit status was 0.
    well: bool,
    /// How long it ran.
    ran: Duration,
    /// How many methods were traced; `None` without a map, if the agent did not start. Then the JVM, or the agent, has said why.
    methods: Option<usize>,
}

impl Run {
    fn new(options: &Options, launch: &Launch) -> anyhow::Result<Self> {
        let out = options.out.clone().unwrap_or_else(|| default_out(&launch.main));
        // The program may take hours: an output that cannot be written must fail now.
        // A pipe must not be opened before there is data to write.
        if !out.metadata().is_ok_and(|meta| meta.file_type().is_fifo()) {
            let created = Output::create(&out).map(drop);
            created.map_err(|e| if options.out.is_none() { e.context(Untraced) } else { e })?;
        }
        // Absolute, since it is printed: the reader may be in another directory.
        let out = std::path::absolute(&out).with_context(|| format!("cannot find {}", out.display()))?;
        let (dir, scratch, beside) = match &options.keep {
            Some(dir) => {
                // Recordings and maps say what the program does: only their user may read them.
                private_builder()
                    .recursive(true)
                    .create(dir)
                    .with_context(|| format!("cannot create {}: choose another --keep", dir.display()))?;
                let dir = fs::canonicalize(dir).with_context(|| format!("cannot find {}", dir.display()))?;
                (dir, None, None)
            }
            None => {
                let beside = Beside::of(&out)?;
                let scratch = Scratch::create()
                    .with_context(|| {
                        let tmp = std::env::temp_dir();
                        let tmp = tmp.display();
                        format!("cannot create a directory in {tmp}: set TMPDIR to one that can be written")
                    })
                    .context(Untraced)?;
                (scratch.path().to_owned(), Some(scratch), beside)
            }
        };
        let earlier = recordings_in(&dir)?.into_iter().collect();
        let buffer = buffer_in(&dir, options.recording.buffer)?;
        Live::check(&options.recording.instrumenter()?)?;
        let watch = (!options.watch.is_empty()).then(|| options.watched.on(&options.watch));
        Ok(Self { dir, scratch, out, beside, buffer, earlier, watch })
    }

    /// Prepares the program's command line, and the agent that changes its classes.
    fn prepare(
        &self,
        options: &Options,
        launch: &Launch,
        java: &Java,
        arguments: &[OsString],
        variable: Option<&OsStr>,
        notices: Notices,
    ) -> anyhow::Result<(Command, WithAgent)> {
        let given = |name: &str| properties::is_given(name, launch, variable);
        let settings = properties::settings(&options.recording, self.buffer, given);
        let mut command = Command::new(&java.path);
        check_file_limit(file_limit())?;
        let properties = [WithAgent::properties(&self.dir, launch, java)?, settings].concat();
        let leaves_sigquit = WithAgent::leaves_sigquit(launch, java);
        let agent = WithAgent::prepare(&self.dir, &options.recording, properties, leaves_sigquit)?;
        if let Some(jar) = launch.main.jar_in_place_of_a_class() {
            let jar = jar.display();
            notices.line(format_args!("{jar} is a jar: run `anrscope jvm -jar {jar}`"));
        }
        agent.add_to(&mut command, java, arguments);
        Ok((command, agent))
    }

    fn run(
        self,
        mut command: Command,
        agent: &WithAgent,
        supervisor: &Supervisor,
        notices: Notices,
    ) -> anyhow::Result<ExitCode> {
        let began = Instant::now();
        let status = supervisor.run(&mut command)?;
        let (well, ran) = (status.success(), began.elapsed());
        let code = exit_code(status);
        let code = ExitCode::from(code);
        let methods = agent.map.exists().then(|| run_maps::methods_in(&agent.map));
        let ended = Ended { well, ran, methods };
        // The exit code stays the program's, even if its trace fails.
        if let Err(error) = self.export(&agent.map, &ended, notices) {
            notices.error(format_args!("no trace was written: {error:#}"));
        }
        Ok(code)
    }

    /// Exports and saves the recording, and prints the summary; `map` is the program's method map.
    fn export(&self, map: &Path, ended: &Ended, notices: Notices) -> anyhow::Result<()> {
        let mut found = recordings_in(&self.dir)?;
        found.retain(|recording| !self.earlier.contains(recording));
        let mut found: Vec<PathBuf> = found.into_iter().map(|(path, _)| path).collect();
        // The program's own recording first, then those of JVMs that it started with the same options.
        found.sort_by_cached_key(|path| {
            let start = header(path, path).map_or(u64::MAX, |header| header.start.boottime);
            (start, path.clone())
        });
        // The agent records from the start, whether or not there is a class to trace.
        let methods = ended.methods.unwrap_or(0);
        if found.is_empty() || methods == 0 {
            self.explain_empty_recording(ended, notices);
            return Ok(());
        }
        if !self.earlier.is_empty() {
            notices.line(format_args!("recordings of earlier runs in {} are left out", self.dir.display()));
        }
        let found = self.with_maps(map, found)?;
        let recordings = match &self.beside {
            Some(beside) => beside.keep(&found)?,
            None => {
                found.iter().try_for_each(|(recording, own)| keep_in_place(recording, own, map))?;
                found.into_iter().map(|(recording, _)| recording).collect()
            }
        };
        // A temporary directory is removed, and a pipe has nothing beside it.
        let lasting = self.beside.is_some() || self.scratch.is_none();
        let map = (!lasting).then_some(map);
        let opened = Recordings::open(&recordings, &mut MethodMaps::new(map, None)?)?;
        notices.export(&opened, ExportOptions::default(), &self.out, methods)?;
        let inputs = opened.inputs();
        if let Some(input) = inputs.first().filter(|_| !notices.quiet) {
            notices.untraced(input.recording, 0);
            notices.profile(&Profile::build(input.recording, input.map)?, ended.ran, self.buffer);
            let report = Report::build(input.file, input.recording, input.map)?;
            if report.answer.conclusion != Conclusion::NoHang {
                notices.lines(&answered(report.headline(), &report.answer));
            }
            if let Some(watch) = &self.watch {
                notices.lines(&Requests::find(input.recording, input.map, watch)?.lines());
            }
        }
        notices.next(&self.out, if lasting { &recordings } else { &[] });
        Ok(())
    }

    /// Each recording with its map: the one with its id, or else the program's.
    fn with_maps(&self, map: &Path, recordings: Vec<PathBuf>) -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
        let maps =
            run_maps::read(&self.dir).with_context(|| format!("cannot read {}", self.dir.display()))?;
        let pair = |recording: PathBuf| -> anyhow::Result<_> {
            let own = maps.get(&header(&recording, &recording)?.map_id);
            let own = own.map_or(map, PathBuf::as_path).to_owned();
            Ok((recording, own))
        };
        recordings.into_iter().map(pair).collect()
    }

    fn explain_empty_recording(&self, ended: &Ended, notices: Notices) {
        match ended.methods {
            // The launcher has reported the missing main class or other error.
            Some(0) | None if !ended.well => {}
            Some(0) => notices.line(
                "nothing was recorded: the program loaded no traced class, or recording was switched off",
            ),
            // An agent that has traced methods has the recorder with it, which creates the file or says why it cannot.
            Some(_) => notices.line(
                "nothing was recorded: the recording was deleted while it was written, or a line above says why it could not be created",
            ),
            None => notices.line(format_args!(
                "nothing was recorded: recording was switched off, no traced method ran, the recording was deleted while it was \
                 written, or the library could not be loaded from {}",
                self.dir.display()
            )),
        }
    }
}

/// The header of a recording, which messages call `name`. The rest of it may be large, and mostly unused.
///
/// # Errors
/// If it cannot be read, or has lost a part: a recorder creates its file in full length.
pub(super) fn header(recording: &Path, name: &Path) -> anyhow::Result<Header> {
    let cannot_read = || format!("cannot read {}", name.display());
    let source = FileSource::open(recording).with_context(cannot_read)?;
    match Header::of(&source) {
        Ok(header) if header.sections_at <= source.len() => Ok(header),
        Ok(_) | Err(ReadError::TooShort { .. } | ReadError::NotARecording) => bail!(
            "the recording was cut short or overwritten while it was written: {} has {} left",
            name.display(),
            counted(usize::try_from(source.len()).unwrap_or(usize::MAX), "byte")
        ),
        Err(error) => Err(error).with_context(cannot_read),
    }
}

/// Compacts a recording, and names its map `own` after it unless that is the program's `map`.
fn keep_in_place(recording: &Path, own: &Path, map: &Path) -> anyhow::Result<()> {
    saved::shrink(recording)?;
    if own == map {
        return Ok(());
    }
    for (from, to) in saved::files_of_map(own, &own_map_of(recording)) {
        fs::rename(&from, &to)
            .with_context(|| format!("cannot rename {} to {}", from.display(), to.display()))?;
    }
    Ok(())
}

/// Buffer size that fits into the file system of `dir`, bytes.
///
/// # Errors
/// If more was requested than there is.
pub(super) fn buffer_in(dir: &Path, wanted: Option<u64>) -> anyhow::Result<u64> {
    let (free, limit) = (free_in(dir), file_limit());
    match wanted {
        Some(wanted) if wanted > limit => bail!(
            "--buffer {} is more than a file may have here, {}: raise the limit (ulimit -f)",
            size(wanted),
            size(limit)
        ),
        Some(wanted) if wanted > free => bail!(
            "not enough space for --buffer {}: {} has {} free; choose another directory with TMPDIR or --keep",
            size(wanted),
            dir.display(),
            size(free)
        ),
        Some(wanted) => Ok(wanted),
        None => Ok(default_buffer(free, limit)),
    }
}

/// The free space in the file system of `dir`, bytes; `u64::MAX` if the system does not say.
pub(super) fn free_in(dir: &Path) -> u64 {
    statvfs(dir).map_or(u64::MAX, |of| of.blocks_available().saturating_mul(of.fragment_size()))
}

/// Buffer size for this free space and limit of a file, bytes. A recording has other parts, too.
fn default_buffer(free: u64, limit: u64) -> u64 {
    properties::DEFAULT_BUFFER.min(free.saturating_sub(LEFT_FREE) / 2).min(limit / 2).max(1 << 20)
}

/// The most bytes that a file of this process, and of the program, may have.
fn file_limit() -> u64 {
    getrlimit(Resource::RLIMIT_FSIZE).map_or(u64::MAX, |(soft, _)| soft)
}

/// Refuses a limit below which neither the agent nor a recording can be written.
fn check_file_limit(limit: u64) -> anyhow::Result<()> {
    let needed = (embedded::LIBRARY.len() as u64).max(LEAST_FILE);
    if limit < needed {
        bail!(
            "a file may have {} here, and the agent and a recording need {}: raise the limit (ulimit -f)",
            size(limit),
            size(needed)
        );
    }
    Ok(())
}

/// `anrscope-out/NAME.pftrace`, named after the main class or jar.
fn default_out(main: &Main) -> PathBuf {
    let name = match main {
        Main::Jar(jar) => Path::new(jar).file_stem().unwrap_or(jar).to_owned(),
        Main::SourceFile(file) => Path::new(file).file_stem().unwrap_or(file).to_owned(),
        Main::Class(name) | Main::Module(name) => {
            let name = name.to_string_lossy();
            OsString::from(name.rsplit(['.', '/']).next().unwrap_or("program"))
        }
    };
    let mut file = if name.is_empty() { OsString::from("program") } else { name };
    file.push(".pftrace");
    Path::new("anrscope-out").join(file)
}

/// The recordings in `dir`, each with its inode number.
pub(super) fn recordings_in(dir: &Path) -> anyhow::Result<Vec<(PathBuf, u64)>> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let recordings = entries.flatten().filter_map(|entry| {
        let path = entry.path();
        let is_recording = path.extension().is_some_and(|end| end == "anrscope");
        is_recording.then(|| entry.metadata().ok().map(|meta| (path, meta.ino()))).flatten()
    });
    Ok(recordings.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_fits_the_disk_and_the_limit_of_a_file() {
        let none = u64::MAX;
        assert_eq!(default_buffer(none, none), properties::DEFAULT_BUFFER);
        assert_eq!(default_buffer(LEFT_FREE + (20 << 20), none), 10 << 20);
        assert_eq!(default_buffer(none, 20 << 20), 10 << 20);
        assert_eq!(default_buffer(0, 0), 1 << 20);
        assert!(check_file_limit(none).is_ok());
        let error = check_file_limit(1_000 << 10).unwrap_err().to_string();
        assert!(error.contains("a file may have 1000K here") && error.contains("ulimit -f"), "{error}");
    }

    #[test]
    fn the_trace_is_named_after_the_main_class_or_jar() {
        for (main, name) in [
            (Main::Class("com.example.Main".into()), "Main"),
            (Main::Class("com/example/Main".into()), "Main"),
            (Main::Jar("lib/my app.jar".into()), "my app"),
            (Main::Module("app/com.example.Main".into()), "Main"),
            (Main::Module("com.example".into()), "example"),
            (Main::SourceFile("src/Hello.java".into()), "Hello"),
            (Main::Class("".into()), "program"),
        ] {
            assert_eq!(default_out(&main), Path::new("anrscope-out").join(format!("{name}.pftrace")));
        }
    }
}
