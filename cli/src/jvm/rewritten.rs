//! The way of `--rewrite`: the class path is rewritten before the program starts, which then runs on the copy.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::class_log::{self, Loaded};
use super::class_path;
use super::java::Java;
use super::launch::{self, Launch, Main};
use super::no_op_class;
use super::notices::Notices;
use super::prepare::{Prepared, prepare};
use super::properties::{Property, property};
use crate::embedded;
use crate::progress::Progress;
use crate::recordings::MAP_NAME;

/// An argument of this many bytes goes into an argument file; the kernel's limit is 128 KiB.
const LONG_ARGUMENT: usize = 100 * 1024;

/// A rewritten class path.
#[derive(Debug)]
pub(super) struct Rewritten {
    dir: PathBuf,
    runtime: embedded::Paths,
    pub(super) prepared: Prepared,
    /// The method map.
    pub(super) map: PathBuf,
}

impl Rewritten {
    /// Rewrites the class path into `dir`.
    ///
    /// # Errors
    /// If it cannot be written, or rules cannot be read.
    pub(super) fn prepare(
        dir: &Path,
        launch: &Launch,
        instrumenter: &instrumenter::Options,
        notices: Notices,
    ) -> anyhow::Result<Self> {
        if dir.as_os_str().as_bytes().contains(&b':') {
            bail!(
                "{}: a class path cannot contain a directory with a colon: choose another --keep",
                dir.display()
            );
        }
        let runtime = embedded::unpack(dir, &no_op_class::class_file())
            .with_context(|| format!("cannot write to {}: choose another --keep", dir.display()))?;
        let map = dir.join(MAP_NAME);
        let progress = Progress::new(!notices.quiet);
        let prepared = prepare(launch, dir, &runtime, &map, instrumenter, &progress)?;
        // The progress line is removed before the program prints.
        drop(progress);
        notices.prepared(launch, &prepared);
        Ok(Self { dir: dir.to_owned(), runtime, prepared, map })
    }

    /// How many methods are traced; `None` if there was nothing to rewrite.
    pub(super) fn traced(&self) -> Option<usize> {
        self.prepared.summary.as_ref().map(|summary| summary.traced)
    }

    /// Adds all arguments but the program's own.
    pub(super) fn add_to(
        &self,
        command: &mut Command,
        java: &Java,
        launch: &Launch,
        settings: &[Property],
    ) -> anyhow::Result<()> {
        let Some(summary) = &self.prepared.summary else {
            command.args(launch.options.iter().map(|word| launch::escape_at(word)));
            add_plain_main(command, launch);
            return Ok(());
        };
        let ours = [
            property("anrscope.lib", &self.runtime.library),
            property("anrscope.dir", &self.dir),
            property("anrscope.name", launch.main.name()),
            property("anrscope.mapId", summary.map_id.to_string()),
        ];
        command.args(java.options(&self.runtime.boot_classes));
        command.args(launch.options.iter().map(|word| launch::escape_at(word)));
        // After the user's own, so that the recording's path is certain.
        command.args(ours);
        command.args(settings.iter().map(|(name, value)| property(name, value)));
        let log = class_log::option(&self.dir).filter(|_| java.hotspot && java.version >= 9);
        command.args(log);
        self.add_main(command, java, launch)
    }

    /// What the JVM has loaded, if that is known.
    pub(super) fn loaded(&self) -> Option<Loaded> {
        class_log::read(&self.dir, self.prepared.classes.path())
    }

    fn add_main(&self, command: &mut Command, java: &Java, launch: &Launch) -> anyhow::Result<()> {
        if let Main::Jar(_) = &launch.main {
            command.arg("-jar").args(&self.prepared.class_path);
            return Ok(());
        }
        let class_path = class_path::join(&self.prepared.class_path);
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
        command.arg(launch::escape_at(launch.main.name()));
        Ok(())
    }
}

fn add_plain_main(command: &mut Command, launch: &Launch) {
    match &launch.main {
        Main::Jar(jar) => command.arg("-jar").arg(launch::escape_at(jar)),
        main => {
            command.arg("-cp").arg(class_path::join(&launch.class_path)).arg(launch::escape_at(main.name()))
        }
    };
}
