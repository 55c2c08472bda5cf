//! One run: prepare, run the program, export what it recorded.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use instrumenter::{Catalogue, Summary};

use super::child::{Supervisor, exit_code};
use super::class_path;
use super::java::Java;
use super::launch::{self, Environment, Launch, Main, Plan, Untraced};
use super::options::Options;
use super::prepare::{Prepared, prepare};
use crate::output::Output;
use crate::recordings::Recordings;
use crate::scratch::Scratch;
use crate::terminal::counted;
use crate::{embedded, export, instrument};

/// Bytes of a single argument from which on it goes into an argument file; the kernel takes 128 KiB.
const LONG_ARGUMENT: usize = 100 * 1024;

/// How many files that stayed as they are get a line each.
const LISTED: usize = 5;

pub(super) fn run(options: Options) -> anyhow::Result<ExitCode> {
    let tell = Teller { quiet: options.quiet };
    let java = Java::find()?;
    let environment = Environment {
        class_path: std::env::var_os("CLASSPATH"),
        options: std::env::var_os("JDK_JAVA_OPTIONS"),
    };
    match launch::plan(&options.arguments, &environment, java.version) {
        Plan::Untraced(why) => {
            match why {
                Untraced::NoProgram => {}
                Untraced::Module => {
                    tell.line("a module's main class runs untraced: give it on the class path")
                }
                Untraced::SourceFile => {
                    tell.line("a source file runs untraced: compile it with javac and run the class");
                }
            }
            // Nothing is left for us to do: become the program.
            let error = Command::new(&java.path).args(&options.arguments).exec();
            Err(error).with_context(|| format!("cannot run {}", java.path.display()))
        }
        Plan::Traced(launch) => {
            let supervisor = Supervisor::start()?;
            Run::new(&options, &launch)?.run(&java, &launch, &supervisor, &tell)
        }
    }
}

/// Our own lines, all on stderr.
struct Teller {
    quiet: bool,
}

impl Teller {
    fn line(&self, text: impl Display) {
        if !self.quiet {
            // Whoever closed stderr does not want to hear it.
            let _ = writeln!(io::stderr(), "anrscope: {}", crate::terminal::plain(text));
        }
    }
}

/// Where a run writes.
struct Run {
    /// Recordings, map and instrumented classes.
    dir: PathBuf,
    /// Removes `dir` when it is not to be kept.
    scratch: Option<Scratch>,
    /// The trace.
    out: PathBuf,
    /// The waits to be recorded.
    waits: Option<Catalogue>,
    /// What an earlier run left in `dir`.
    earlier: HashSet<(PathBuf, u64)>,
}

impl Run {
    fn new(options: &Options, launch: &Launch) -> anyhow::Result<Self> {
        let out = options.out.clone().unwrap_or_else(|| default_out(&launch.main));
        // The program may take hours: what cannot be written then should be known now.
        // A pipe must not be opened before there is something to write.
        if !out.metadata().is_ok_and(|meta| meta.file_type().is_fifo()) {
            drop(Output::create(&out)?);
        }
        // Absolute, as it is told at the end: the reader may be in another folder than we.
        let out = std::path::absolute(&out).with_context(|| format!("cannot find {}", out.display()))?;
        let (dir, scratch) = match &options.keep {
            Some(dir) => {
                fs::create_dir_all(dir)
                    .with_context(|| format!("cannot make {}: choose another --keep", dir.display()))?;
                (fs::canonicalize(dir).with_context(|| format!("cannot find {}", dir.display()))?, None)
            }
            None => {
                let scratch = Scratch::create()
                    .context("cannot make a temporary folder: set TMPDIR to one that can be written")?;
                (scratch.path().to_owned(), Some(scratch))
            }
        };
        if dir.as_os_str().as_bytes().contains(&b':') {
            bail!("{}: a class path cannot name a folder with a colon: choose another --keep", dir.display());
        }
        let earlier = recordings_in(&dir)?.into_iter().collect();
        let waits = instrument::waits(options.waits, options.waits_catalogue.as_deref())?;
        Ok(Self { dir, scratch, out, waits, earlier })
    }

    fn run(
        self,
        java: &Java,
        launch: &Launch,
        supervisor: &Supervisor,
        tell: &Teller,
    ) -> anyhow::Result<ExitCode> {
        let runtime = embedded::unpack(&self.dir)
            .with_context(|| format!("cannot write to {}: choose another --keep", self.dir.display()))?;
        let map = self.dir.join("methodMapping.txt");
        let prepared = prepare(launch, &self.dir, &runtime, &map, self.waits.clone())?;
        tell_prepared(launch, &prepared, tell);
        let mut command = Command::new(&java.path);
        match &prepared.summary {
            Some(summary) => {
                let ours = [
                    property("anrscope.lib", runtime.library.as_os_str()),
                    property("anrscope.dir", self.dir.as_os_str()),
                    property("anrscope.name", launch.main.name()),
                    property("anrscope.mapId", OsStr::new(&summary.map_id.to_string())),
                ];
                command.args(java.options(&runtime.boot_classes));
                command.args(launch.options.iter().map(|word| launch::escape_at(word)));
                // Behind the user's, so that no other place is recorded to than we look at.
                command.args(ours);
                self.add_main(&mut command, java, launch, &prepared)?;
            }
            None => {
                command.args(launch.options.iter().map(|word| launch::escape_at(word)));
                add_plain_main(&mut command, launch);
            }
        }
        command.args(&launch.arguments);
        let status = supervisor.run(&mut command)?;
        let code = ExitCode::from(exit_code(status));
        if let Some(summary) = &prepared.summary {
            // The exit code stays the program's, whatever becomes of its trace.
            if let Err(error) = self.export(summary, &map, tell) {
                let _ = writeln!(io::stderr(), "anrscope: error: no trace was written: {error:#}");
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
            // Options that a class path in JDK_JAVA_OPTIONS may have switched off do not matter to it:
            // the launcher would have refused such a length by itself.
            let mut argument = OsString::from("@");
            argument.push(file);
            command.arg(argument);
        }
        if let Main::Class(name) = &launch.main {
            command.arg(launch::escape_at(name));
        }
        Ok(())
    }

    /// Exports what was recorded, and says what there is now.
    fn export(&self, summary: &Summary, map: &Path, tell: &Teller) -> anyhow::Result<()> {
        let mut found = recordings_in(&self.dir)?;
        found.retain(|recording| !self.earlier.contains(recording));
        let mut found: Vec<PathBuf> = found.into_iter().map(|(path, _)| path).collect();
        found.sort();
        if found.is_empty() {
            tell.line(format_args!(
                "nothing was recorded: the program ended before a traced method ran, or the library could not \
                 be loaded from {} (if that is mounted noexec, --keep chooses another place)",
                self.dir.display()
            ));
            return Ok(());
        }
        if !self.earlier.is_empty() {
            tell.line(format_args!("recordings of earlier runs in {} are left out", self.dir.display()));
        }
        let recordings = Recordings::open(&found, Some(map), None)?;
        let written = export::write(&recordings, export::Settings::default(), &self.out)?;
        for warning in &written.warnings {
            tell.line(format_args!("warning: {warning}"));
        }
        let (words, traced) = (export::in_words(&written), counted(summary.traced, "method"));
        tell.line(format_args!("{words}, {traced} traced -> {}", self.out.display()));
        if written.counts.overwritten > 0 {
            tell.line(format_args!(
                "{} older events were overwritten: -Danrscope.mainWords=N and -Danrscope.poolWords=N before the \
                 main class keep more of main and of the other threads",
                written.counts.overwritten
            ));
        }
        if self.scratch.is_some() {
            tell.line("open it in https://ui.perfetto.dev");
        } else {
            let names: Vec<String> = found.iter().map(|path| shell_word(path)).collect();
            tell.line(format_args!(
                "open it in https://ui.perfetto.dev, or read: anrscope report {}",
                names.join(" ")
            ));
        }
        Ok(())
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

fn tell_prepared(launch: &Launch, prepared: &Prepared, tell: &Teller) {
    if prepared.summary.is_none() {
        tell.line("the class path has nothing to trace: the program runs as it is");
    }
    if launch.module_path {
        tell.line("modules on the module path run untraced; the class path is traced");
    }
    for option in &launch.left_out {
        tell.line(format_args!("{} is left out: it fits the classes as they were", option.display()));
    }
    for (path, why) in prepared.untouched.iter().take(LISTED) {
        tell.line(format_args!("warning: {} runs untraced: {why}", path.display()));
    }
    if let Some(more) = prepared.untouched.len().checked_sub(LISTED).filter(|more| *more > 0) {
        tell.line(format_args!("warning: and {more} more run untraced"));
    }
    let Some(summary) = &prepared.summary else { return };
    if let Some(skip) = summary.skipped.first() {
        let more = summary.skipped.len() - 1;
        let method = skip.method.as_deref().unwrap_or_default();
        let and = if more == 0 { String::new() } else { format!("; and {more} more") };
        tell.line(format_args!("warning: {} {method} runs untraced: {}{and}", skip.class, skip.reason));
    }
}

fn property(name: &str, value: &OsStr) -> OsString {
    let mut text = OsString::from(format!("-D{name}="));
    text.push(value);
    text
}

/// `anrscope-out/NAME.pftrace`, by what runs.
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

/// The recordings in `dir`, each with the number by which the file system tells files apart.
fn recordings_in(dir: &Path) -> anyhow::Result<Vec<(PathBuf, u64)>> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let recordings = entries.flatten().filter_map(|entry| {
        let path = entry.path();
        let is_recording = path.extension().is_some_and(|end| end == "anrscope");
        is_recording.then(|| entry.metadata().ok().map(|meta| (path, meta.ino()))).flatten()
    });
    Ok(recordings.collect())
}

/// A path as it can be typed into a shell.
fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=,@%".contains(c);
    if text.chars().all(plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_is_named_by_what_runs() {
        for (main, name) in [
            (Main::Class("com.example.Main".into()), "Main"),
            (Main::Class("com/example/Main".into()), "Main"),
            (Main::Jar("lib/my app.jar".into()), "my app"),
            (Main::Class("".into()), "program"),
        ] {
            assert_eq!(default_out(&main), Path::new("anrscope-out").join(format!("{name}.pftrace")));
        }
    }

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(shell_word(Path::new("/a/b-1.anrscope")), "/a/b-1.anrscope");
        assert_eq!(shell_word(Path::new("it's here")), r"'it'\''s here'");
    }
}
