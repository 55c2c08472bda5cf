//! Inputs that are directories of class files.

use std::collections::HashSet;
use std::fs::{self, File as FsFile};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rayon::prelude::*;
use trace_format::regular_file;

use crate::archive::write::rewritten_class;
use crate::cache::{Item, Listing};
use crate::error::{Error, SkipReason};
use crate::map_id_class;
use crate::method_map::MethodMap;
use crate::read_file::read_class;
use crate::scan::scan_class;
use crate::session::{Scanned, Session};
use crate::staged::Staged;
use crate::stamp::{Stamp, Sum};
use crate::summary::Warning;

/// A file of the directory, and the number of its class if it is one.
struct File {
    relative: PathBuf,
    class: Option<usize>,
    stamp: Stamp,
    sum: Sum,
    /// Its index among the files of the previous run.
    place: Option<usize>,
    /// The stamp of its output of a previous run, if that is still valid.
    kept: Option<Stamp>,
}

impl File {
    fn is_class(&self) -> bool {
        self.relative.extension().is_some_and(|end| end == "class")
    }
}

pub(crate) struct ClassDirectory {
    root: PathBuf,
    /// When the files were listed.
    read: SystemTime,
    directories: Vec<PathBuf>,
    files: Vec<File>,
    /// Outputs of a previous run whose files no longer exist.
    stale: Vec<PathBuf>,
    stale_directories: Vec<PathBuf>,
}

fn bytes_of(file: &File) -> &[u8] {
    file.relative.as_os_str().as_encoded_bytes()
}

impl ClassDirectory {
    /// Lists the files below `root`, sorted, and scans the classes. `output` is the output of a previous run with the
    /// same cache, if it may be reused.
    pub(crate) fn scan(root: &Path, output: Option<&Path>, session: &mut Session<'_>) -> Result<Self, Error> {
        let mut directory = Self {
            root: root.into(),
            read: SystemTime::now(),
            directories: Vec::new(),
            files: Vec::new(),
            stale: Vec::new(),
            stale_directories: Vec::new(),
        };
        directory.list(session)?;
        if session.is_cached() {
            directory.stamp(output, session)?;
        }
        directory.scan_classes(session)?;
        Ok(directory)
    }

    fn list(&mut self, session: &mut Session<'_>) -> Result<(), Error> {
        let mut pending = vec![PathBuf::new()];
        while let Some(relative) = pending.pop() {
            let path = self.root.join(&relative);
            for entry in fs::read_dir(&path).map_err(Error::reading(&path))? {
                let entry = entry.map_err(Error::reading(&path))?;
                let kind = entry.file_type().map_err(Error::reading(&path))?;
                let relative = relative.join(entry.file_name());
                if kind.is_dir() {
                    self.directories.push(relative.clone());
                    pending.push(relative);
                } else if kind.is_symlink() && entry.path().is_dir() {
                    // A link could lead in a cycle, or out of the directory.
                    let entry = relative.display().to_string();
                    session.warn(&self.root, Warning::LinkedDirectory(entry));
                } else if !kind.is_file()
                    && !fs::metadata(entry.path()).map_err(Error::reading(&entry.path()))?.is_file()
                {
                    return Err(Error::NotAFile(entry.path()));
                } else if relative == Path::new(map_id_class::ENTRY) {
                    let entry = relative.display().to_string();
                    session.warn(&self.root, Warning::OldMapId(entry));
                } else {
                    if is_archive(&relative) {
                        let entry = relative.display().to_string();
                        session.warn(&self.root, Warning::JarInDirectory(entry));
                    }
                    let (stamp, sum) = (Stamp::NONE, Sum::default());
                    self.files.push(File { relative, class: None, stamp, sum, place: None, kept: None });
                }
            }
        }
        self.directories.sort();
        // Comparing bytes is much faster than comparing path components.
        self.files.sort_by(|a, b| bytes_of(a).cmp(bytes_of(b)));
        Ok(())
    }

    /// Records the stamps of all files, which of them and of their outputs are unchanged, and which outputs of the
    /// previous run are obsolete.
    fn stamp(&mut self, output: Option<&Path>, session: &mut Session<'_>) -> Result<(), Error> {
        let (root, read) = (self.root.as_path(), self.read);
        let known = &mut session.known;
        for file in &mut self.files {
            file.place = file.relative.to_str().and_then(|name| known.place(name));
        }
        let known = &session.known;
        session.pool.install(|| {
            self.files.par_iter_mut().with_min_len(64).try_for_each(|file| {
                let path = root.join(&file.relative);
                let now = Stamp::from(&fs::metadata(&path).map_err(Error::reading(&path))?);
                file.stamp = now.if_settled(read);
                if let (Some(output), Some(before)) = (output, known.get(file.place)) {
                    let there = fs::metadata(output.join(&file.relative)).ok();
                    let there = there.map(|there| Stamp::from(&there));
                    file.kept = there.filter(|&there| there == before.output);
                }
                Ok(())
            })
        })?;
        if output.is_some() {
            let directories: HashSet<&str> =
                self.directories.iter().filter_map(|path| path.to_str()).collect();
            let gone = |name: &&str| !directories.contains(name);
            self.stale = known.lost().filter(gone).map(PathBuf::from).collect();
            let is_file = |path: &PathBuf| self.files.iter().any(|file| file.relative == *path);
            let lost = known.directories().iter().filter(|name| gone(name)).map(PathBuf::from);
            self.stale_directories = lost.filter(|path| !is_file(path)).collect();
            // Deeper directories first.
            self.stale_directories.sort_by(|a, b| b.cmp(a));
        }
        Ok(())
    }

    fn scan_classes(&mut self, session: &mut Session<'_>) -> Result<(), Error> {
        let known = &session.known;
        let scan = |file: &File| -> Result<Option<Scanned>, Error> {
            let before = known.get(file.place);
            let same_stamp = |before: &Stamp| file.stamp == *before && file.stamp != Stamp::NONE;
            if !file.is_class() {
                return Ok(before.filter(|before| same_stamp(&before.stamp)).map(|_| Scanned::Known));
            }
            let before = before.filter(|before| before.class.is_some() && !before.again);
            if before.is_some_and(|before| same_stamp(&before.stamp)) {
                return Ok(Some(Scanned::Known));
            }
            let path = self.root.join(&file.relative);
            let Some(bytes) = read_class(&path).map_err(Error::reading(&path))? else {
                return Ok(Some(Scanned::New(Sum::default(), Err(SkipReason::ClassTooLarge))));
            };
            let sum = if session.is_cached() { Sum::compute(&bytes) } else { Sum::default() };
            // Touched, or too recent to rely on its time, but with the same content.
            if before.is_some_and(|before| before.sum == sum) {
                return Ok(Some(Scanned::Known));
            }
            let found = scan_class(&bytes, &session.selection);
            Ok(Some(Scanned::New(sum, found.map(Box::new))))
        };
        let scanned: Vec<_> = session.pool.install(|| self.files.par_iter().map(scan).collect());
        for (file, scanned) in self.files.iter_mut().zip(scanned) {
            let scanned = scanned?;
            if !matches!(scanned, Some(Scanned::Known)) {
                file.kept = None;
            }
            let Some(scanned) = scanned else { continue };
            let name = || file.relative.display().to_string();
            (file.sum, file.class) = session.add_scanned(&self.root, name, file.place, scanned);
        }
        Ok(())
    }

    /// Writes the directory, or the changed part of it, to `staged`.
    pub(crate) fn write(
        &self,
        staged: &mut Staged,
        map: &MethodMap,
        map_id: bool,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let (target, updates) = (staged.path().to_owned(), staged.is_update());
        let output = staged.target().to_owned();
        // An update creates only new directories.
        for directory in
            self.directories.iter().filter(|directory| !updates || !output.join(directory).is_dir())
        {
            let path = target.join(directory);
            fs::create_dir_all(&path).map_err(Error::writing(&path))?;
        }
        let write = |file: &File| -> Result<_, Error> {
            if updates
                && file.kept.is_some()
                && file.class.is_none_or(|class| session.is_unchanged(class, map))
            {
                let changed = usize::from(file.class.is_some_and(|class| map.changes(class)));
                return Ok((changed, Vec::new()));
            }
            let (from, to) = (self.root.join(&file.relative), target.join(&file.relative));
            if let Some(parent) = to.parent().filter(|_| updates) {
                fs::create_dir_all(parent).map_err(Error::writing(parent))?;
            }
            let mut skipped = Vec::new();
            if let Some(number) = file.class {
                let bytes = read_class(&from).map_err(Error::reading(&from))?.unwrap_or_default();
                let (new, reasons) = rewritten_class(&bytes, number, map, session);
                if let Some(new) = new {
                    new_file(&to)?.write_all(&new).map_err(Error::writing(&to))?;
                    return Ok((1, reasons));
                }
                skipped = reasons;
            }
            let (mut file, metadata) = regular_file::open(&from).map_err(Error::reading(&from))?;
            let mut copy = new_file(&to)?;
            io::copy(&mut file, &mut copy).map_err(Error::writing(&to))?;
            copy.set_permissions(metadata.permissions()).map_err(Error::writing(&to))?;
            Ok((0, skipped))
        };
        let outcomes: Vec<_> = session.pool.install(|| self.files.par_iter().map(write).collect());
        for outcome in outcomes {
            let (changed, skipped) = outcome?;
            session.note_written(map, changed, skipped);
        }
        if map_id {
            let path = target.join(map_id_class::ENTRY);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(Error::writing(parent))?;
            }
            fs::write(&path, map_id_class::bytes(map.texts().id)).map_err(Error::writing(&path))?;
        }
        staged.remove(self.stale.iter().cloned(), self.stale_directories.iter().cloned());
        Ok(())
    }

    /// Returns what the next run has to know, with the current outputs below `output`; `None` if a name is not UTF-8.
    pub(crate) fn listing(&self, output: &Path) -> Option<Listing> {
        let texts = |paths: &[PathBuf]| -> Option<Vec<String>> {
            paths.iter().map(|path| path.to_str().map(str::to_owned)).collect()
        };
        let item = |file: &File| {
            Some(Item {
                name: file.relative.to_str()?.to_owned(),
                stamp: file.stamp,
                // A reused output was checked already.
                output: file.kept.unwrap_or_else(|| Stamp::of(&output.join(&file.relative))),
                sum: file.sum,
                is_class: file.is_class(),
                class: file.class,
                ..Item::default()
            })
        };
        let items = self.files.par_iter().with_min_len(64).map(item).collect::<Option<Vec<_>>>()?;
        Some(Listing { directories: texts(&self.directories)?, items, ..Listing::default() })
    }
}

/// Returns whether the name is that of an archive.
fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("jar") || end.eq_ignore_ascii_case("aar"))
}

/// Creates a file that does not exist yet. On a file system that ignores case, two names of the input may collide
/// here.
fn new_file(path: &Path) -> Result<FsFile, Error> {
    FsFile::create_new(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::SameName(path.into()),
        _ => Error::writing(path)(error),
    })
}
