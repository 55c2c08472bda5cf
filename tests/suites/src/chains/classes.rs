//! The classes of all programs, and the command that runs one.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::chains::label::Program;
use crate::chains::libraries;
use crate::{harness, steps};
use test_support::jdk;
use test_support::program::with_default_signals;
use test_support::temp_dir::TempDir;

/// The compiled classes.
pub(crate) struct Classes {
    /// The directory of `Stage` and `Launch`, and of the fakes of Android's classes.
    stage: PathBuf,
    /// The directory of the programs, without any call of the recorder.
    pub plain: PathBuf,
    /// A file of rules that leave `Stage` and `Launch` unrecorded, which are no part of a program: `Stage` starts a thread just
    /// before main waits, and that thread would look like one that main waits for.
    pub rules: PathBuf,
}

/// The directory of the recorder's class that instrumented programs call.
pub(crate) fn method_beat() -> PathBuf {
    test_support::root().join("android/method-beat/classes")
}

impl Classes {
    pub(crate) fn compile(directory: &TempDir, programs: &[Program]) -> Self {
        let (stage, plain) = (directory.path().join("stage"), directory.path().join("plain"));
        let own = ["Stage.java", "Launch.java"].map(|name| harness::directory("chains").join(name));
        let own = own.iter().map(|source| source.display().to_string());
        let not_recorded: Vec<String> = libraries::fakes().into_iter().chain(own).collect();
        steps::compile(&[method_beat()], &not_recorded, &stage, directory);
        let files = programs.iter().flat_map(|program| &program.files);
        let (kotlin, java): (Vec<String>, Vec<String>) = files
            .map(|(path, text)| directory.file(&format!("sources/{path}"), text))
            .partition(|source| source.ends_with(".kt"));
        let mut path = libraries::class_path();
        path.push(stage.clone());
        steps::compile(&path, &java, &plain, directory);
        libraries::kotlinc(&plain, &path, &kotlin);
        let rules = directory.file("own.rules", "exclude package chains\n").into();
        Self { stage, plain, rules }
    }

    /// The java command for programs in these directories, without a main class. They say where they are after `hang`.
    pub(crate) fn java(&self, classes: &[PathBuf], hang: Duration) -> Command {
        let mut java = jdk::java();
        // Small and quick to start: several run at once.
        java.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-XX:+UseSerialGC"]);
        // On a machine with two cores the common pool has no threads of its own.
        java.arg("-Djava.util.concurrent.ForkJoinPool.common.parallelism=3");
        java.arg(format!("-Dchains.ms={}", hang.as_millis()));
        let path = classes.iter().chain([&self.stage]).cloned().chain(libraries::class_path());
        java.arg("-cp").arg(std::env::join_paths(path).unwrap());
        with_default_signals(&mut java);
        java
    }
}
