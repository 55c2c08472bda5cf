//! Opens recordings with the method maps of their builds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use exporter::{ExportInput, FileSource, MethodMap, open_recording};
use trace_format::{Recording, Source as _};

use crate::file_kind;
use crate::progress::{Progress, left_after};
use crate::terminal::counted;
use crate::walk;

mod method_maps;

pub(crate) use method_maps::MethodMaps;

/// Name of a build's method map; beside a recording, alone or after the recording's own name.
pub(crate) const MAP_NAME: &str = "methodMapping.txt";

/// The map of one recording if there are others beside it: `app.methodMapping.txt` of `app.anrscope`.
pub(crate) fn own_map_of(recording: &Path) -> PathBuf {
    recording.with_extension(MAP_NAME)
}

/// The map beside a recording: its own, or that of the whole directory.
fn map_beside(recording: &Path) -> Option<PathBuf> {
    [own_map_of(recording), recording.with_file_name(MAP_NAME)].into_iter().find(|path| path.is_file())
}

/// The recordings that `paths` name: files, or of a directory all `*.anrscope` in it and its subdirectories, sorted by
/// name.
///
/// # Errors
/// If one cannot be read, or has no recording.
pub(crate) fn files_of(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    Ok(paths.iter().map(|path| files_in(path)).collect::<anyhow::Result<Vec<_>>>()?.concat())
}

fn files_in(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let found = walk::files(path, usize::MAX, |path, _| path.extension().is_some_and(|e| e == "anrscope"))?;
    if found.is_empty() {
        bail!("{}: no recording (*.anrscope) in this directory: name another one", path.display());
    }
    Ok(found)
}

/// Passes `files` to `then`, one after the other, with a line of progress that begins with `what`. Memory need not
/// grow with their number.
///
/// # Errors
/// As `then`.
pub(crate) fn one_by_one(
    files: &[PathBuf],
    what: &str,
    shows_progress: bool,
    mut then: impl FnMut(&PathBuf) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (progress, began) = (Progress::new(shows_progress), Instant::now());
    for (number, file) in files.iter().enumerate() {
        progress.show(|| {
            let left = left_after(began.elapsed(), number as u64, files.len() as u64);
            format!("{what}{number} of {}{left}", counted(files.len(), "recording"))
        });
        then(file)?;
    }
    Ok(())
}

/// The recording that `path` names: itself, or the newest one in that directory; and how many there are.
///
/// # Errors
/// If the directory cannot be read, or has no recording in it.
pub(crate) fn newest_of(path: &Path) -> anyhow::Result<(PathBuf, usize)> {
    let files = files_in(path)?;
    let count = files.len();
    let changed = |file: &PathBuf| file.metadata().and_then(|metadata| metadata.modified()).ok();
    // Ties are broken by name.
    let newest = files.into_iter().max_by_key(|file| (changed(file), file.clone()));
    let none = || format!("{}: no recording in this directory: name another one", path.display());
    Ok((newest.with_context(none)?, count))
}

/// Opens a recording. The error for a file of another kind names the command that takes it.
fn open(file: &Path) -> anyhow::Result<Recording<FileSource>> {
    open_recording(file).map_err(|error| file_kind::error_of("report", file).unwrap_or_else(|| error.into()))
}

/// Opened recordings.
#[derive(Debug)]
pub(crate) struct Recordings {
    opened: Vec<Opened>,
}

#[derive(Debug)]
struct Opened {
    file: PathBuf,
    recording: Recording<FileSource>,
    map: Arc<MethodMap>,
}

impl Recordings {
    /// Opens `files`, each with its map.
    ///
    /// # Errors
    /// If one of them is not a recording, or its map is not a map.
    pub(crate) fn open(files: &[PathBuf], maps: &mut MethodMaps) -> anyhow::Result<Self> {
        let mut opened = Vec::new();
        for file in files {
            let recording = open(file)?;
            let map = maps.of(file, recording.header().map_id)?;
            opened.push(Opened { file: file.clone(), recording, map });
        }
        Ok(Self { opened })
    }

    /// How many bytes of all recordings an export has read, and how many it reads in total: each is read twice, once to find what belongs
    /// together, and once to write it.
    pub(crate) fn read_so_far(&self) -> (u64, u64) {
        let sources = || self.opened.iter().map(|opened| opened.recording.source());
        (sources().map(FileSource::bytes_read).sum(), sources().map(|source| source.len() * 2).sum())
    }

    /// The recordings in the exporter's form.
    pub(crate) fn inputs(&self) -> Vec<ExportInput<'_>> {
        let inputs =
            self.opened.iter().map(|Opened { file, recording, map }| ExportInput { file, recording, map });
        inputs.collect()
    }
}
