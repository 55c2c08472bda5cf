//! One run: instruments, runs the program, exports its recording.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use exporter::open_recording;
use exporter::profile::Profile;
use exporter::requests::{Requests, Watch};
use nix::sys::statvfs::{FsFlags, statvfs};

use super::child::{Supervisor, exit_code};
use super::class_log;
use super::class_path;
use super::java::{self, Java};
use super::launch::{self, Environment, Launch, Main, Plan, Untraced};
use super::no_op_class;
use super::notices::{Notices, size};
use super::options::Options;
use super::prepare::{Prepared, prepare};
use super::properties::{self, property};
use super::saved::{self, Beside};
use crate::output::Output;
use crate::progress::Progress;
use crate::recordings::{MAP_NAME, MethodMaps, Recordings};
use crate::scratch::Scratch;
use crate::terminal::counted;
use crate::{embedded, export, instrument};

/// An argument of this many bytes goes into an argument file; the kernel's limit is 128 KiB.
const LONG_ARGUMENT: usize = 100 * 1024;

/// Free space in the file system that events do not use.
const LEFT_FREE: u64 = 64 << 20;

pub(super) fn run(options: Options) -> anyhow::Result<ExitCode> {
    let notices = Notices { quiet: options.quiet };
    let (named, arguments) = java::without_launcher(&options.arguments);
    let java = Java::find(named)?;
    let environment = Environment {
        class_path: std::env::var_os("CLASSPATH"),
        options: std::env::var_os("JDK_JAVA_OPTIONS"),
    };
    match launch::plan(arguments, &environment, java.version) {
        Plan::Untraced(why) => {
            match why {
                Untraced::NoProgram => {}
                Untraced::Module => {
                    notices.line("a module's main class runs untraced: give it on the class path")
                }
                Untraced::SourceFile => {
                    notices.line("a source file runs untraced: compile it with javac and run the class");
                }
            }
            // Nothing is left to do here: become the program.
            let error = Command::new(&java.path).args(arguments).exec();
            Err(error).with_context(|| format!("cannot run {}", java.path.display()))
        }
        Plan::Traced(launch) => {
            let supervisor = Supervisor::start()?;
            let run = Run::new(&options, &launch, &environment)?;
            run.run(&java, &launch, &supervisor, notices)
        }
    }
}

/// Where and how a run writes.
struct Run {
    /// Directory of recordings, map and instrumented classes.
    dir: PathBuf,
    /// Removes `dir` unless it is kept.
    scratch: Option<Scratch>,
    /// The trace.
    out: PathBuf,
    /// Where the recording is saved if `dir` is not kept.
    beside: Option<Beside>,
    /// How the classes are instrumented.
    instrumenter: instrumenter::Options,
    /// Buffer size for events, bytes.
    buffer: u64,
    /// The recorder's settings, as system properties.
    settings: Vec<OsString>,
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
    /// Whether it loaded an instrumented class, if known.
    traced: Option<bool>,
}

impl Run {
    fn new(options: &Options, launch: &Launch, environment: &Environment) -> anyhow::Result<Self> {
        let out = options.out.clone().unwrap_or_else(|| default_out(&launch.main));
        // The program may take hours: an output that cannot be written must fail now.
        // A pipe must not be opened before there is data to write.
        if !out.metadata().is_ok_and(|meta| meta.file_type().is_fifo()) {
            drop(Output::create(&out)?);
        }
        // Absolute, since it is printed: the reader may be in another directory.
        let out = std::path::absolute(&out).with_context(|| format!("cannot find {}", out.display()))?;
        let (dir, scratch, beside) = match &options.keep {
            Some(dir) => {
                fs::create_dir_all(dir)
                    .with_context(|| format!("cannot create {}: choose another --keep", dir.display()))?;
                let dir = fs::canonicalize(dir).with_context(|| format!("cannot find {}", dir.display()))?;
                (dir, None, None)
            }
            None => {
                let beside = Beside::of(&out)?;
                let scratch = Scratch::create()
                    .context("cannot create a temporary directory: set TMPDIR to one that can be written")?;
                (scratch.path().to_owned(), Some(scratch), beside)
            }
        };
        if dir.as_os_str().as_bytes().contains(&b':') {
            bail!(
                "{}: a class path cannot contain a directory with a colon: choose another --keep",
                dir.display()
            );
        }
        let earlier = recordings_in(&dir)?.into_iter().collect();
        let buffer = buffer_in(&dir, options.buffer)?;
        let instrumenter = instrumenter::Options {
            // The jars are read once, from this machine's disk: good compression would only cost time.
            level: 1,
            rules: options.rules.clone(),
            waits: instrument::waits(!options.no_waits, options.waits_catalogue.as_deref())?,
            ..instrumenter::Options::default()
        };
        let settings = properties::settings(options, buffer, launch, environment);
        let watch = (!options.watch.is_empty()).then(|| options.watched.on(&options.watch));
        Ok(Self { dir, scratch, out, beside, instrumenter, buffer, settings, earlier, watch })
    }

    fn run(
        self,
        java: &Java,
        launch: &Launch,
        supervisor: &Supervisor,
        notices: Notices,
    ) -> anyhow::Result<ExitCode> {
        let runtime = embedded::unpack(&self.dir, &no_op_class::class_file())
            .with_context(|| format!("cannot write to {}: choose another --keep", self.dir.display()))?;
        let map = self.dir.join(MAP_NAME);
        let progress = Progress::new(!notices.quiet);
        let prepared = prepare(launch, &self.dir, &runtime, &map, &self.instrumenter, &progress)?;
        // The progress line is removed before the program prints.
        drop(progress);
        notices.prepared(launch, &prepared);
        let mut command = Command::new(&java.path);
        match &prepared.summary {
            Some(summary) => {
                let ours = [
                    property("anrscope.lib", &runtime.library),
                    property("anrscope.dir", &self.dir),
                    property("anrscope.name", launch.main.name()),
                    property("anrscope.mapId", summary.map_id.to_string()),
                ];
                command.args(java.options(&runtime.boot_classes));
                command.args(launch.options.iter().map(|word| launch::escape_at(word)));
                // After the user's own, so that the recording's path is certain.
                command.args(ours);
                command.args(&self.settings);
                let log = class_log::option(&self.dir).filter(|_| java.hotspot && java.version >= 9);
                command.args(log);
                self.add_main(&mut command, java, launch, &prepared)?;
            }
            None => {
                command.args(launch.options.iter().map(|word| launch::escape_at(word)));
                add_plain_main(&mut command, launch);
            }
        }
        command.args(&launch.arguments);
        let began = Instant::now();
        let status = supervisor.run(&mut command)?;
        let ran = began.elapsed();
        let code = ExitCode::from(exit_code(status));
        if prepared.summary.is_some() {
            let loaded = class_log::read(&self.dir, prepared.classes.path());
            if let Some(loaded) = &loaded {
                notices.loaded(loaded, &prepared);
            }
            let ended =
                Ended { well: status.success(), ran, traced: loaded.as_ref().map(|loaded| loaded.traced) };
            // The exit code stays the program's, even if its trace fails.
            if let Err(error) = self.export(&prepared, &map, &ended, notices) {
                notices.error(format_args!("no trace was written: {error:#}"));
            }
        }
        Ok(code)
    }

    fn add_main(
        &self,
        command: &mut Command,
        java: &Java,
        launch: &Launch,
        prepared: &Prepared,
    ) -> anyhow::Result<()> {
        if let Main::Jar(_) = &launch.main {
            command.arg("-jar").args(&prepared.class_path);
            return Ok(());
        }
        let class_path = class_path::join(&prepared.class_path);
        if class_path.len() < LONG_ARGUMENT || java.version < 9 {
            command.arg("-cp").arg(class_path);
        } else {
            let file = self.dir.join("class-path.args");
            let mut text = b"-cp \"".to_vec();
            for &byte in class_path.as_bytes() {
                if matches!(byte, b'"' | b'\\') {
                    text.push(b'\\');
                }
                text.push(byte);
            }
            text.extend_from_slice(b"\"\n");
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
            // Options that a class path in JDK_JAVA_OPTIONS may have switched off do not matter: the launcher would have rejected an argument
            // of this length itself.
            let mut argument = OsString::from("@");
            argument.push(file);
            command.arg(argument);
        }
        if let Main::Class(name) = &launch.main {
            command.arg(launch::escape_at(name));
        }
        Ok(())
    }

    /// Exports and saves the recording, and prints the summary.
    fn export(&self, prepared: &Prepared, map: &Path, ended: &Ended, notices: Notices) -> anyhow::Result<()> {
        let mut found = recordings_in(&self.dir)?;
        found.retain(|recording| !self.earlier.contains(recording));
        let mut found: Vec<PathBuf> = found.into_iter().map(|(path, _)| path).collect();
        // The program's own recording first, then those of JVMs that it started with the same options.
        found.sort_by_cached_key(|path| {
            let start = open_recording(path).map_or(u64::MAX, |recording| recording.header().start.boottime);
            (start, path.clone())
        });
        if found.is_empty() {
            self.explain_empty_recording(ended, notices);
            return Ok(());
        }
        if !self.earlier.is_empty() {
            notices.line(format_args!("recordings of earlier runs in {} are left out", self.dir.display()));
        }
        let recordings = match &self.beside {
            Some(beside) => beside.keep(&found, map)?,
            None => {
                for recording in &found {
                    saved::shrink(recording)?;
                }
                found
            }
        };
        let opened = Recordings::open(&recordings, &mut MethodMaps::new(Some(map), None)?)?;
        let progress = Progress::new(!notices.quiet);
        let written = export::write_watched(&opened, export::Settings::default(), &self.out, &progress)?;
        drop(progress);
        for warning in &written.warnings {
            notices.line(format_args!("warning: {warning}"));
        }
        let traced = prepared.summary.as_ref().map_or(0, |summary| summary.traced);
        let (words, traced) = (export::in_words(&written), counted(traced, "method"));
        notices.line(format_args!("{words}, {traced} traced -> {}", self.out.display()));
        let inputs = opened.inputs();
        if let Some(input) = inputs.first().filter(|_| !notices.quiet) {
            notices.profile(&Profile::build(input.recording, input.map)?, ended.ran, self.buffer);
            if let Some(watch) = &self.watch {
                notices.requests(&Requests::find(input.recording, input.map, watch)?);
            }
        }
        // A temporary directory is removed.
        let lasting = self.beside.is_some() || self.scratch.is_none();
        notices.next(&self.out, if lasting { &recordings } else { &[] });
        Ok(())
    }

    fn explain_empty_recording(&self, ended: &Ended, notices: Notices) {
        let dir = self.dir.display();
        let noexec = statvfs(&self.dir).is_ok_and(|of| of.flags().contains(FsFlags::ST_NOEXEC));
        match ended.traced {
            // The launcher has reported the missing main class or other error.
            Some(false) | None if !ended.well => {}
            Some(false) => notices.line("nothing was recorded: the program loaded no traced class"),
            _ if noexec => notices.line(format_args!(
                "nothing was recorded: {dir} is mounted noexec, so the library cannot be loaded from it: choose another \
                 directory with TMPDIR or --keep"
            )),
            _ => notices.line(format_args!(
                "nothing was recorded: recording was switched off, no traced method ran, or the library could not be \
                 loaded from {dir}"
            )),
        }
    }
}

/// Buffer size that fits into the file system of `dir`, bytes.
///
/// # Errors
/// If more was requested than there is.
fn buffer_in(dir: &Path, wanted: Option<u64>) -> anyhow::Result<u64> {
    let free = statvfs(dir).map_or(u64::MAX, |of| of.blocks_available().saturating_mul(of.fragment_size()));
    match wanted {
        Some(wanted) if wanted > free => bail!(
            "not enough space for --buffer {}: {} has {} free; choose another directory with TMPDIR or --keep",
            size(wanted),
            dir.display(),
            size(free)
        ),
        Some(wanted) => Ok(wanted),
        None => Ok(properties::DEFAULT_BUFFER.min(free.saturating_sub(LEFT_FREE) / 2).max(1 << 20)),
    }
}

fn add_plain_main(command: &mut Command, launch: &Launch) {
    match &launch.main {
        Main::Jar(jar) => command.arg("-jar").arg(launch::escape_at(jar)),
        Main::Class(name) => {
            command.arg("-cp").arg(class_path::join(&launch.class_path)).arg(launch::escape_at(name))
        }
    };
}

/// `anrscope-out/NAME.pftrace`, named after the main class or jar.
fn default_out(main: &Main) -> PathBuf {
    let name = match main {
        Main::Jar(jar) => Path::new(jar).file_stem().unwrap_or(jar).to_owned(),
        Main::Class(class) => {
            let class = class.to_string_lossy();
            OsString::from(class.rsplit(['.', '/']).next().unwrap_or("program"))
        }
    };
    let mut file = if name.is_empty() { OsString::from("program") } else { name };
    file.push(".pftrace");
    Path::new("anrscope-out").join(file)
}

/// The recordings in `dir`, each with its inode number.
fn recordings_in(dir: &Path) -> anyhow::Result<Vec<(PathBuf, u64)>> {
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
    fn the_trace_is_named_after_the_main_class_or_jar() {
        for (main, name) in [
            (Main::Class("com.example.Main".into()), "Main"),
            (Main::Class("com/example/Main".into()), "Main"),
            (Main::Jar("lib/my app.jar".into()), "my app"),
            (Main::Class("".into()), "program"),
        ] {
            assert_eq!(default_out(&main), Path::new("anrscope-out").join(format!("{name}.pftrace")));
        }
    }
}
