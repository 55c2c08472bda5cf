//! The files that a demo leaves.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The files of a demo.
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
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self {
            recording: folder.join("demo.anrscope"),
            log: folder.join("demo.log"),
            method_map: folder.join("methodMapping.txt"),
            perfetto: folder.join("demo.pftrace"),
            json: folder.join("demo.json"),
        }
    }

    pub(super) fn all(&self) -> [&Path; 5] {
        [&self.recording, &self.log, &self.method_map, &self.perfetto, &self.json]
    }

    pub(super) fn remove(&self) -> anyhow::Result<()> {
        for file in self.all() {
            match std::fs::remove_file(file) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(e).with_context(|| format!("cannot replace {}", file.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
