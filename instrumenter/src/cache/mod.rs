//! What one run leaves for the next, so that only changes are redone.
//!
//! The cache is a directory with two files. `instrument.cache` holds, for each input, what it was made of
//! and what was made of it: stamps and sums of files, and the facts of every class with the ids of its
//! methods ([`format`]). `outputs.txt` lists the directories that were made, one a line: they may be
//! replaced even if the other file is of no use any more.
//!
//! Ids stay: a method that had one keeps it, a new one gets the next behind the highest in use. So an
//! unchanged class is right as it was written. A method that is gone is gone from the map too. The ids
//! are therefore not those of a run without the cache, which numbers everything anew.
//!
//! A class that was skipped, or in which a method was, is looked at every time: its reason is to be
//! told every time.
//!
//! Facts stay packed as long as nobody needs them. After a change as most are, in some bodies, only
//! those of the changed classes are unpacked ([`crate::update`]).

mod bytes;
mod format;
mod replaced;
mod known;
mod packed;
mod saved;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rayon::ThreadPool;

pub(crate) use format::ToSave;
pub(crate) use replaced::ReplacedClasses;
pub(crate) use known::Known;
pub(crate) use packed::{Facts, Head, Packed};
pub(crate) use saved::{DAMAGED, Item, Listing, Saved, SavedInput, SavedMaps};

use crate::error::Error;
use crate::options::{Input, MapPaths, Options};
use crate::read_file::read_file;
use crate::staged::Staged;
use crate::stamp::Sum;

const CACHE_FILE: &str = "instrument.cache";
const OUTPUTS_FILE: &str = "outputs.txt";

/// The cache directory of a run.
pub(crate) struct Cache {
    directory: PathBuf,
    key: String,
    /// Directories that earlier runs made.
    outputs: Vec<String>,
}

impl Cache {
    /// The cache in this directory, for runs with these inputs, outputs and options.
    pub(crate) fn open(
        directory: &Path,
        inputs: &[Input],
        maps: &MapPaths,
        options: &Options,
    ) -> Result<Self, Error> {
        let listed = directory.join(OUTPUTS_FILE);
        let outputs = match fs::read_to_string(&listed) {
            Ok(text) => text.lines().map(str::to_owned).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(Error::Read { path: listed, source }),
        };
        Ok(Self { directory: directory.into(), key: key(inputs, maps, options)?, outputs })
    }

    /// The file that the last run left, if there is one.
    pub(crate) fn read(&self, pool: &ThreadPool) -> Result<Option<Vec<u8>>, Error> {
        let path = self.directory.join(CACHE_FILE);
        match read_file(&path, pool) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    /// What these bytes of the file know of the last run with the same options, inputs and outputs; or why
    /// that is nothing.
    pub(crate) fn decode<'c>(&self, bytes: &'c [u8]) -> Result<Saved<'c>, &'static str> {
        format::decode(bytes, &self.key)
    }

    /// Whether this directory was made by an earlier run with this cache.
    pub(crate) fn made(&self, output: &Path) -> bool {
        let there = fs::canonicalize(output).ok();
        there.is_some_and(|there| self.outputs.iter().any(|made| Path::new(made) == there))
    }

    /// Notes that these directories are going to be made, before they are: a run that is cut off in between
    /// may have made some of them.
    pub(crate) fn announce<'a>(&mut self, outputs: impl Iterator<Item = &'a Path>) -> Result<(), Error> {
        let before = self.outputs.len();
        for output in outputs {
            // Its parent exists by now, it does not yet.
            let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = fs::canonicalize(parent.unwrap_or_else(|| Path::new("."))).ok();
            let there = parent.zip(output.file_name()).map(|(parent, name)| parent.join(name));
            let there = there.as_deref().and_then(Path::to_str).filter(|there| !there.contains('\n'));
            if let Some(there) = there.filter(|there| !self.outputs.iter().any(|made| made == there)) {
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

    /// Writes down what is known now. `class` gives the facts of a class, and whether it is to be looked
    /// at every time.
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

    /// Forgets what is known: what is there is about to change.
    pub(crate) fn forget(&self) -> Result<(), Error> {
        let path = self.directory.join(CACHE_FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::Write { path, source: error })
            }
            _ => Ok(()),
        }
    }
}

/// All that the result depends on but the contents of the inputs. Files that the options name count
/// with their contents.
fn key(inputs: &[Input], maps: &MapPaths, options: &Options) -> Result<String, Error> {
    let files = [&options.base_map, &options.block_list, &options.rules, &options.mapping];
    let sum = |path: &PathBuf| match fs::read(path) {
        Ok(bytes) => Ok(Sum::compute(&bytes)),
        Err(source) => Err(Error::Read { path: path.clone(), source }),
    };
    let sums = files.map(|file| file.as_ref().map(sum).transpose());
    let [base, blocked, rules, mapping] = sums;
    let files = [base?, blocked?, rules?, mapping?];
    let here = std::env::current_dir().unwrap_or_default();
    // What does not show in the result. What is on the class path shows class by class.
    let options = Options { threads: 0, cache: None, explain: None, ..options.clone() };
    let version = env!("CARGO_PKG_VERSION");
    Ok(format!("{version}\n{here:?}\n{inputs:?}\n{maps:?}\n{options:?}\n{files:?}"))
}
