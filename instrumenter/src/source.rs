//! The inputs of a run: reading, scanning and writing them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::archive::Archive;
use crate::cache::{Item, Listing, SavedInput, SavedItem};
use crate::class_directory::ClassDirectory;
use crate::error::Error;
use crate::method_map::{MethodMap, Texts};
use crate::options::{Input, MapPaths};
use crate::read_file::read_file;
use crate::session::Session;
use crate::staged::Staged;
use crate::stamp::Stamp;

pub(crate) enum Source {
    Archive {
        archive: Archive,
        stamp: Stamp,
        /// Whether the output of the previous run is unchanged.
        old_output: bool,
    },
    /// An archive that was not opened, because it and its output are unchanged.
    Untouched(Listing),
    Directory(ClassDirectory),
}

/// Returns which inputs are archives that need not be opened. The first output contains the map id, so it stays only
/// if nothing else changes.
pub(crate) fn untouched(
    inputs: &[Input],
    known: &[SavedInput<'_>],
    updates: bool,
    session: &Session<'_>,
) -> Vec<bool> {
    let explains = |known: &SavedInput<'_>| {
        known.items.iter().filter_map(|item| item.class).any(|class| session.explains(class))
    };
    let is_same = |(input, known): (&Input, &SavedInput<'_>)| {
        updates
            && !explains(known)
            && known.is_quiet
            && known.stamp != Stamp::NONE
            && Stamp::of(&input.path) == known.stamp
            && Stamp::of(&input.output) == known.output
    };
    let mut same: Vec<bool> = inputs.iter().zip(known).map(is_same).collect();
    let all = same.iter().all(|&same| same);
    if let Some(first) = same.first_mut() {
        *first = all;
    }
    same
}

/// Takes the classes of an archive from the cache.
pub(crate) fn reuse<'a>(input: &Input, known: SavedInput<'a>, session: &mut Session<'a>) -> Listing {
    let SavedInput { stamp, output, is_quiet, directories, items } = known;
    let directories = directories.into_iter().map(str::to_owned).collect();
    let item = |SavedItem { name, stamp, output, sum, is_class, again, class }| {
        let class = class.map(|class| session.add_packed(&input.path, class));
        Item { name: str::to_owned(name), stamp, output, sum, is_class, again, class }
    };
    let items = items.into_iter().map(item).collect();
    Listing { stamp, output, is_quiet, directories, items }
}

pub(crate) fn scan_input<'a>(
    input: &Input,
    known: SavedInput<'a>,
    updates: bool,
    session: &mut Session<'a>,
    mut on_read: impl FnMut(),
) -> Result<Source, Error> {
    let failed = |source| Error::Read { path: input.path.clone(), source };
    let there = fs::metadata(&input.path).map_err(failed)?;
    let old_output = updates && Stamp::of(&input.output) == known.output;
    session.begin_input(known);
    if there.is_dir() {
        let output = updates.then_some(input.output.as_path());
        return Ok(Source::Directory(ClassDirectory::scan(&input.path, output, session)?));
    }
    let stamp = Stamp::from(&there).if_settled(SystemTime::now());
    let bytes = read_file(&input.path, session.pool).map_err(failed)?;
    on_read();
    let mut archive = Archive::open(&input.path, String::new(), bytes, session)?;
    archive.scan(session)?;
    Ok(Source::Archive { archive, stamp, old_output })
}

/// Where and how an input is written.
pub(crate) struct Place<'a> {
    pub(crate) output: &'a Path,
    /// Whether the output of a previous run may be reused.
    pub(crate) updates: bool,
    /// Whether a previous run created the directory.
    pub(crate) is_ours: bool,
    pub(crate) map_id: bool,
}

pub(crate) fn write(
    source: &Source,
    place: Place<'_>,
    map: &MethodMap,
    session: &mut Session<'_>,
) -> Result<Option<Staged>, Error> {
    let Place { output, updates, is_ours, map_id } = place;
    match source {
        Source::Untouched(listing) => {
            let numbers = listing.items.iter().filter_map(|item| item.class);
            let changed = numbers.filter(|&number| map.changes(number)).count();
            session.note_written(map, changed, Vec::new());
            Ok(None)
        }
        Source::Directory(directory) => {
            let mut staged = Staged::new_directory(output, updates, is_ours)?;
            directory.write(&mut staged, map, map_id, session)?;
            Ok(Some(staged))
        }
        Source::Archive { archive, old_output, .. } => {
            let staged = Staged::new_file(output)?;
            // An old output that cannot be read is not reused.
            let old = old_output.then(|| read_file(output, session.pool).ok()).flatten();
            let old = old.and_then(|bytes| Archive::outline(output, String::new(), bytes).ok());
            let file = File::create(staged.path()).map_err(|source| staged.error(source))?;
            archive.write(file, old.as_ref(), map, map_id, session)?;
            Ok(Some(staged))
        }
    }
}

/// Returns the paths of the map files, and the texts of those that change.
pub(crate) fn map_files<'m>(maps: &'m MapPaths, texts: &'m Texts) -> Vec<(&'m PathBuf, Option<&'m String>)> {
    let optional = [(&maps.ignored, &texts.ignored), (&maps.lines, &texts.lines)];
    let optional = optional.into_iter().filter_map(|(path, text)| Some((path.as_ref()?, text.as_ref())));
    core::iter::once((&maps.methods, texts.methods.as_ref())).chain(optional).collect()
}

/// Writes the changed map files: into a directory that is being created, or next to their final paths.
pub(crate) fn write_maps(
    files: &[(&PathBuf, Option<&String>)],
    inputs: &[Input],
    staged: &mut Vec<Staged>,
) -> Result<(), Error> {
    for (path, text) in files {
        let Some(text) = text else { continue };
        let inside = inputs.iter().zip(&*staged).find_map(|(_, directory)| {
            let relative = path.strip_prefix(directory.target()).ok()?;
            directory.is_directory().then(|| directory.path().join(relative))
        });
        match inside {
            Some(inside) => {
                let failed = |source| Error::Write { path: path.to_path_buf(), source };
                inside.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
                fs::write(inside, text).map_err(failed)?;
            }
            None => staged.push(Staged::file(path, text.as_bytes())?),
        }
    }
    Ok(())
}

/// Returns what the next run has to know about an input, or `None` if a name is not UTF-8.
pub(crate) fn listing(source: &mut Source, input: &Input, session: &Session<'_>) -> Option<Listing> {
    match source {
        Source::Untouched(listing) => Some(core::mem::take(listing)),
        Source::Directory(directory) => directory.listing(&input.output),
        Source::Archive { archive, stamp, .. } => Some(Listing {
            stamp: *stamp,
            output: Stamp::of(&input.output),
            is_quiet: session.is_quiet(&input.path),
            directories: Vec::new(),
            items: core::mem::take(&mut archive.items),
        }),
    }
}
