//! Which files directories have, by build id and by name.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use trace_format::hex::hex;

use super::apk;
use super::breakpad;
use super::elf::ElfFile;
use super::source::{Place, Source};

/// Most files that are examined.
const MAX_FILES: usize = 200_000;
/// How deep directories are searched.
const MAX_DEPTH: usize = 32;
/// What a library's name may end with beside `.so`.
const SUFFIXES: [&str; 3] = [".dbg", ".debug", ".sym"];

/// A file of symbols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Where it is.
    pub(super) place: Place,
    /// Its build id; of a symbol file of Breakpad's, unless it says the build id, the module's id as text.
    pub(super) id: Vec<u8>,
    /// Its path, or its name in the archive.
    path: String,
}

/// The files in directories.
#[derive(Default, Debug)]
pub(super) struct Index {
    entries: Vec<Entry>,
    by_id: HashMap<Vec<u8>, Vec<usize>>,
    by_name: HashMap<String, Vec<usize>>,
    files: usize,
    /// What was left out, in words.
    pub(super) notes: Vec<String>,
}

impl Index {
    /// Searches directories, or files, in this order.
    pub(super) fn of(directories: &[PathBuf]) -> Self {
        let mut index = Self::default();
        for directory in directories {
            index.search(directory);
        }
        index
    }

    /// Files with this build id.
    pub(super) fn with_id(&self, id: &[u8]) -> Vec<Place> {
        let module = breakpad::id_of(id);
        let keys = [id, module.as_bytes()];
        let found = keys.iter().filter_map(|key| self.by_id.get(*key)).flatten();
        found.map(|entry| self.entries[*entry].place.clone()).collect()
    }

    /// A file with the name of `path`, of another build or of an unknown one.
    pub(super) fn same_name(&self, path: &str) -> Option<&Entry> {
        self.by_name.get(library(path))?.first().map(|entry| &self.entries[*entry])
    }

    /// The files of this name whose paths have most directories in common with `path`, counted from the end.
    pub(super) fn by_name(&self, path: &str) -> Vec<&Entry> {
        let Some(found) = self.by_name.get(library(path)) else { return Vec::new() };
        let common = |entry: &Entry| {
            let (mut a, mut b) = (parents(path), parents(&entry.path));
            let mut count = 0;
            while let (Some(a), Some(b)) = (a.next(), b.next())
                && a == b
            {
                count += 1;
            }
            count
        };
        let best = found.iter().map(|entry| common(&self.entries[*entry])).max().unwrap_or(0);
        found.iter().map(|entry| &self.entries[*entry]).filter(|entry| common(entry) == best).collect()
    }

    fn search(&mut self, top: &Path) {
        let mut left = vec![(top.to_owned(), 0)];
        while let Some((path, depth)) = left.pop() {
            // Links to files are followed, as `.build-id` has them, but not those to directories below the first, which may lead back.
            let Ok(meta) = fs::metadata(&path) else { continue };
            if meta.is_file() {
                self.files += 1;
                if self.files > MAX_FILES {
                    self.notes.push(format!(
                        "{}: only the first {MAX_FILES} files were examined: name a smaller directory",
                        top.display()
                    ));
                    return;
                }
                self.examine(&path);
            } else if meta.is_dir() && depth <= MAX_DEPTH {
                let is_link = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
                if is_link && depth > 0 {
                    continue;
                }
                match fs::read_dir(&path) {
                    Ok(entries) => {
                        // The first one is examined first.
                        let mut entries: Vec<PathBuf> =
                            entries.take(MAX_FILES).filter_map(|entry| Some(entry.ok()?.path())).collect();
                        entries.sort_unstable_by(|a, b| b.cmp(a));
                        left.extend(entries.into_iter().map(|path| (path, depth + 1)));
                    }
                    Err(error) => self.notes.push(format!("cannot read {}: {error}", path.display())),
                }
            }
        }
    }

    fn examine(&mut self, path: &Path) {
        let place = Place::file(path);
        let Ok(mut source) = place.open() else { return };
        let Ok(head) = source.head(1024) else { return };
        let name = path.to_string_lossy().into_owned();
        if head.starts_with(b"\x7fELF") {
            self.add(place, ElfFile::build_id_of(source).unwrap_or_default(), name);
        } else if head.starts_with(b"MODULE ") {
            if let Some(identity) = breakpad::identity(&head) {
                // `app/lib/libexample.so` for a file `app/lib/libexample.so.sym`.
                let name = path.with_file_name(&identity.name).to_string_lossy().into_owned();
                self.add(place, identity.code_id.unwrap_or_else(|| identity.id.into_bytes()), name);
            }
        } else if head.starts_with(b"PK\x03\x04") {
            for stored in apk::libraries(&mut source) {
                let place = Place { path: path.to_owned(), part: Some((stored.offset, stored.len)) };
                if let Some(id) = build_id(&place) {
                    self.add(place, id, stored.name);
                }
            }
        }
    }

    fn add(&mut self, place: Place, id: Vec<u8>, path: String) {
        let number = self.entries.len();
        self.by_name.entry(library(&path).to_owned()).or_default().push(number);
        if !id.is_empty() {
            self.by_id.entry(id.clone()).or_default().push(number);
        }
        self.entries.push(Entry { place, id, path });
    }
}

/// The build id of an ELF file.
pub(super) fn build_id(place: &Place) -> Option<Vec<u8>> {
    ElfFile::build_id_of(place.open().ok()?)
}

/// The library's name in a path: `libexample.so` of `base.apk!/lib/arm64-v8a/libexample.so`, or of `libexample.so.dbg`.
pub(super) fn library(path: &str) -> &str {
    let name = path.rsplit(['/', '\\', '!']).next().unwrap_or_default();
    SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// The directories of a path, from the innermost on.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit(['/', '\\', '!']).skip(1).filter(|part| !part.is_empty())
}

/// Where a `.build-id` tree in the directory has the file, without a search.
pub(super) fn in_tree(directory: &Path, id: &[u8]) -> Vec<Place> {
    let text = hex(id);
    let Some((first, rest)) = text.split_at_checked(2).filter(|(_, rest)| !rest.is_empty()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for tree in [directory.join(".build-id"), directory.to_owned()] {
        for name in [format!("{rest}.debug"), rest.to_owned()] {
            let place = Place::file(tree.join(first).join(name));
            if build_id(&place).is_some_and(|found| found == id) {
                found.push(place);
            }
        }
    }
    found
}

/// Opens a library in an APK by its name there.
pub(super) fn in_apk(apk: &Path, name: &str) -> Option<Place> {
    let mut source: Source = Place::file(apk).open().ok()?;
    let name = name.trim_start_matches('/');
    let found = apk::libraries(&mut source)
        .into_iter()
        .find(|stored| stored.name == name || (!name.contains('/') && library(&stored.name) == name))?;
    Some(Place { path: apk.to_owned(), part: Some((found.offset, found.len)) })
}
