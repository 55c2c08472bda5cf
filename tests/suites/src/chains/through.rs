//! The ways in which a recording of a program comes about.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::chains::classes::{Classes, method_beat};
use crate::chains::label::Program;
use crate::chains::running::Running;
use crate::steps::{self, Traced};
use test_support::library::library;
use test_support::program;
use test_support::temp_dir::TempDir;

/// The length of a hang: a wait of a main thread without messages is a hang after 5 s.
const HANG: Duration = Duration::from_millis(5_500);

/// A way, by its word on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Through {
    /// The classes are instrumented before, and load the recorder themselves, as in an app.
    Instrument,
    /// `anrscope jvm` runs the plain classes, and is ended by SIGTERM.
    Jvm,
    /// `anrscope attach` records the plain classes from before their first call until they are killed.
    Attach,
}

impl Through {
    const ALL: [Self; 3] = [Self::Instrument, Self::Jvm, Self::Attach];

    pub(crate) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.word() == word)
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Instrument => "instrument",
            Self::Jvm => "jvm",
            Self::Attach => "attach",
        }
    }

    /// The percentage of all programs that must be explained, with none explained wrongly. `None`: the way is measured and claims
    /// nothing. A dump of the agent's tells more than the events from which the rules were made: for example, main that waits for
    /// a task in `accept` is the main thread of an idle server by a dump, and hangs by its label.
    pub(crate) fn claim(self) -> Option<f64> {
        (self == Self::Instrument).then_some(95.0)
    }

    /// Returns true if a program runs in this way. Fakes of Android's classes are no part of a JVM's program.
    pub(crate) fn runs(self, program: &Program) -> bool {
        self == Self::Instrument || !program.on_android
    }
}

/// The text that a program has printed in its hang, and its recording.
pub(crate) struct Recorded {
    pub printed: String,
    pub file: PathBuf,
    /// The method map, if it is not beside the recording.
    pub map: Option<PathBuf>,
}

/// Everything that a way needs to record any of the programs.
pub(crate) enum Recorder<'c> {
    Instrument(&'c Classes, Traced, PathBuf),
    Jvm(&'c Classes),
    Attach(&'c Classes),
}

impl<'c> Recorder<'c> {
    pub(crate) fn new(through: Through, classes: &'c Classes, directory: &TempDir) -> Self {
        match through {
            Through::Instrument => {
                let traced = steps::instrument(&classes.plain, &["--waits"], directory);
                Self::Instrument(classes, traced, library(directory))
            }
            Through::Jvm => Self::Jvm(classes),
            Through::Attach => Self::Attach(classes),
        }
    }

    /// Runs a program until it hangs, and ends it there. Its recording is in `directory`.
    pub(crate) fn record(&self, program: &Program, directory: &Path) -> Result<Recorded, String> {
        match self {
            Self::Instrument(classes, traced, library) => {
                instrumented(classes, traced, library, program, directory)
            }
            Self::Jvm(classes) => through_jvm(classes, program, directory),
            Self::Attach(classes) => attached(classes, program, directory),
        }
    }
}

/// Runs a command until the program has printed where its threads are, and kills it.
pub(crate) fn printed(command: Command) -> Result<String, String> {
    Running::start(command).prints("end")
}

fn instrumented(
    classes: &Classes,
    traced: &Traced,
    library: &Path,
    program: &Program,
    directory: &Path,
) -> Result<Recorded, String> {
    let mut java = classes.java(&[traced.classes.clone(), method_beat()], HANG);
    java.arg(format!("-Danrscope.lib={}", library.display()));
    java.arg(format!("-Danrscope.dir={}", directory.display()));
    java.arg(format!("-Danrscope.mapId={}", traced.map_id)).arg("-Danrscope.name=com.example.chains");
    java.arg(&program.main);
    let printed = printed(java)?;
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let file = entries.into_iter().find(|file| file.extension().is_some_and(|end| end == "anrscope"));
    Ok(Recorded { printed, file: file.ok_or("no recording")?, map: Some(traced.map.clone()) })
}

/// The trace that a command is to write, and the recording that it keeps beside the trace.
fn outputs(directory: &Path) -> (PathBuf, PathBuf) {
    (directory.join("hang.pftrace"), directory.join("hang.anrscope"))
}

fn through_jvm(classes: &Classes, program: &Program, directory: &Path) -> Result<Recorded, String> {
    let (trace, file) = outputs(directory);
    let java = classes.java(std::slice::from_ref(&classes.plain), HANG);
    let mut command = program::command();
    command.args(["jvm", "--out"]).arg(&trace).arg("--rules").arg(&classes.rules).args(["--", "java"]);
    command.args(java.get_args()).arg(&program.main);
    let running = Running::start(command);
    let printed = running.prints("end")?;
    running.signal(Signal::SIGTERM);
    running.ends()?;
    Ok(Recorded { printed, file, map: None })
}

fn attached(classes: &Classes, program: &Program, directory: &Path) -> Result<Recorded, String> {
    let (trace, file) = outputs(directory);
    let mut java = classes.java(std::slice::from_ref(&classes.plain), HANG);
    java.args(["chains.Launch", &program.main]);
    let mut running = Running::start(java);
    let ready = running.prints("pid ")?;
    let mut command = program::command();
    command.args(["attach", ready.trim_start_matches("pid ").trim(), "--out"]).arg(&trace);
    command.arg("--rules").arg(&classes.rules);
    let attachment = Running::start(command);
    attachment.reports("anrscope: recording process")?;
    running.tell()?;
    let printed = running.prints("end")?;
    running.signal(Signal::SIGKILL);
    attachment.ends()?;
    Ok(Recorded { printed, file, map: None })
}
