//! The cache, with which a run redoes only what has changed since the previous run.
//!
//! The cache is a directory with two files. For each input, `instrument.cache` holds stamps and checksums of the
//! input's files and of the outputs, and the facts of every class with the ids of its methods ([`format`]).
//! `outputs.txt` lists the directories that were created, one per line: they may be replaced even if the other file
//! cannot be used.
//!
//! Ids are stable: a method keeps its id, and a new method gets the next id after the highest in use. So the output
//! of an unchanged class stays valid. A removed method is removed from the map too. The ids therefore differ from
//! those of a run without the cache, which assigns all ids again.
//!
//! A class with a skip is scanned in every run, because the skip has to be reported in every run.
//!
//! Facts stay packed until they are needed. After a typical change, in some method bodies, only those of the changed
//! classes are unpacked ([`crate::update`]).

mod bytes;
mod format;
mod known;
mod packed;
mod replaced;
mod saved;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rayon::ThreadPool;

pub(crate) use format::ToSave;
pub(crate) use known::Known;
pub(crate) use packed::{Facts, Head, Packed};
pub(crate) use replaced::ReplacedClasses;
pub(crate) use saved::{DAMAGED, Item, Listing, Saved, SavedInput, SavedItem, SavedMaps};

use crate::error::Error;
use crate::options::{Input, MapPaths, Options};
use crate::read_file::{if_there, read_file};
use crate::staged::Staged;
use crate::stamp::Sum;

const CACHE_FILE: &str = "instrument.cache";
const OUTPUTS_FILE: &str = "outputs.txt";

/// The cache directory of a run.
pub(crate) struct Cache {
    directory: PathBuf,
    key: String,
    /// Directories that previous runs created.
    outputs: Vec<String>,
}

impl Cache {
    /// Opens the cache in this directory, for runs with these inputs, outputs and options.
    pub(crate) fn open(
        directory: &Path,
        inputs: &[Input],
        maps: &MapPaths,
        options: &Options,
    ) -> Result<Self, Error> {
        let listed = directory.join(OUTPUTS_FILE);
        let outputs = if_there(fs::read_to_string(&listed)).map_err(Error::reading(&listed))?;
        let outputs = outputs.unwrap_or_default().lines().map(str::to_owned).collect();
        Ok(Self { directory: directory.into(), key: key(inputs, maps, options)?, outputs })
    }

    /// Reads the file of the previous run, if there is one.
    pub(crate) fn read(&self, pool: &ThreadPool) -> Result<Option<Vec<u8>>, Error> {
        let path = self.directory.join(CACHE_FILE);
        if_there(read_file(&path, pool)).map_err(Error::reading(&path))
    }

    /// Decodes the file, if it is from a run with the same options, inputs and outputs; otherwise returns the reason.
    pub(crate) fn decode<'c>(&self, bytes: &'c [u8]) -> Result<Saved<'c>, &'static str> {
        format::decode(bytes, &self.key)
    }

    /// Returns whether a previous run with this cache created the directory `output`.
    pub(crate) fn created(&self, output: &Path) -> bool {
        let there = fs::canonicalize(output).ok();
        there.is_some_and(|there| self.outputs.iter().any(|created| Path::new(created) == there))
    }

    /// Records directories before they are created, because a run that is killed may have created some of them.
    pub(crate) fn announce<'a>(&mut self, outputs: impl Iterator<Item = &'a Path>) -> Result<(), Error> {
        let before = self.outputs.len();
        for output in outputs {
            // Its parent exists already, but the directory itself does not.
            let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = fs::canonicalize(parent.unwrap_or_else(|| Path::new("."))).ok();
            let there = parent.zip(output.file_name()).map(|(parent, name)| parent.join(name));
            let there = there.as_deref().and_then(Path::to_str).filter(|there| !there.contains('\n'));
            if let Some(there) = there.filter(|there| !self.outputs.iter().any(|created| created == there)) {
                self.outputs.push(there.to_owned());
            }
        }
        if self.outputs.len() > before {
            let mut text = self.outputs.join("\n");
            text.push('\n');
            Staged::file(&self.directory.join(OUTPUTS_FILE), text.as_bytes())?.commit()?;
        }
        Ok(())
    }

    /// Saves what the next run has to know. `class` returns the facts of a class, and whether it must be scanned in
    /// every run.
    pub(crate) fn save<'a>(
        &self,
        maps: &SavedMaps,
        inputs: &[Listing],
        class: impl Fn(usize) -> Option<(ToSave<'a>, bool)>,
    ) -> Result<(), Error> {
        let staged = Staged::new_file(&self.directory.join(CACHE_FILE))?;
        let file = File::create(staged.path());
        let written = file.and_then(|mut file| format::write(&mut file, &self.key, maps, inputs, class));
        written.map_err(|source| staged.error(source))?;
        staged.commit()
    }

    /// Deletes the file, because the outputs are about to change.
    pub(crate) fn forget(&self) -> Result<(), Error> {
        let path = self.directory.join(CACHE_FILE);
        if_there(fs::remove_file(&path)).map(drop).map_err(Error::writing(&path))
    }
}

/// Returns everything that the result depends on except for the content of the inputs. Files that options name count
/// with their content.
fn key(inputs: &[Input], maps: &MapPaths, options: &Options) -> Result<String, Error> {
    let files = [&options.base_map, &options.block_list, &options.rules, &options.mapping];
    let sum = |path: &PathBuf| fs::read(path).map(|bytes| Sum::compute(&bytes)).map_err(Error::reading(path));
    let files = files.into_iter().map(|file| file.as_ref().map(sum).transpose());
    let files = files.collect::<Result<Vec<_>, Error>>()?;
    let here = std::env::current_dir().unwrap_or_default();
    // Options without influence on the result. The class path is checked class by class.
    let options = Options { threads: 0, cache: None, explain: None, ..options.clone() };
    let version = env!("CARGO_PKG_VERSION");
    Ok(format!("{version}\n{here:?}\n{inputs:?}\n{maps:?}\n{options:?}\n{files:?}"))
}
