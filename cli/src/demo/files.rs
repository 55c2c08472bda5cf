//! The files of a demo.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::output;
use crate::recordings::MAP_NAME;

/// The paths of a demo's files.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) recording: PathBuf,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only a real process logs"))]
    pub(super) log: PathBuf,
    pub(super) method_map: PathBuf,
    pub(super) perfetto: PathBuf,
    pub(super) json: PathBuf,
}

impl Files {
    pub(super) fn in_directory(directory: &Path) -> Self {
        Self {
            recording: directory.join("demo.anrscope"),
            log: directory.join("demo.log"),
            method_map: directory.join(MAP_NAME),
            perfetto: directory.join("demo.pftrace"),
            json: directory.join("demo.json"),
        }
    }

    pub(super) fn all(&self) -> [&Path; 5] {
        [&self.recording, &self.log, &self.method_map, &self.perfetto, &self.json]
    }

    pub(super) fn remove(&self) -> anyhow::Result<()> {
        for file in self.all() {
            output::remove(file).with_context(|| format!("cannot replace {}", file.display()))?;
        }
        Ok(())
    }
}
