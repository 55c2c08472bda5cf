//! Super classes that are not inputs: looked up one by one in jars, aars and directories.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::ThreadPool;
use trace_format::regular_file;
use zip_archive::{Directory, Entry, Inflater, Stored};

use crate::class::class_file::{ClassFile, MAX_CLASS};
use crate::class_facts::Node;
use crate::class_facts::focus::FocusFacts;
use crate::error::Error;
use crate::read_file::{MAX_NESTED, read_class, read_file};

#[derive(Debug)]
enum Place {
    Directory(PathBuf),
    Jar(Jar),
    OnDisk(JarOnDisk),
}

/// An archive with its entries by name.
#[derive(Debug)]
struct Jar {
    bytes: Vec<u8>,
    directory: Directory,
    by_name: HashMap<Box<[u8]>, usize>,
}

impl Jar {
    fn read(path: &Path, bytes: Vec<u8>) -> Result<Self, Error> {
        let directory = Directory::read(&bytes)
            .map_err(|error| Error::NotAnArchive { path: path.into(), reason: error.to_string() })?;
        let entries = directory.entries.iter().enumerate();
        let by_name = entries.map(|(index, entry)| (entry.name_in(&bytes).into(), index)).collect();
        Ok(Self { bytes, directory, by_name })
    }

    fn entry(&self, name: &str, limit: u64) -> Option<Vec<u8>> {
        let entry = self.directory.entries.get(*self.by_name.get(name.as_bytes())?)?;
        Some(Inflater::default().read(&self.bytes, entry, limit).ok()?.into_owned())
    }
}

/// A jar of which only the directory is in memory, for a process that is not ours. It is not kept open.
#[derive(Debug)]
struct JarOnDisk {
    path: PathBuf,
    /// Classes by the names of their entries: where their compressed bytes are, and what the directory says of them.
    classes: HashMap<Box<[u8]>, (u64, Stored)>,
}

impl JarOnDisk {
    /// The jar, and what the `Class-Path` of its manifest names. `None` if it cannot be read: then nothing is known of its
    /// classes.
    fn open(path: &Path) -> Option<(Self, Vec<PathBuf>)> {
        let mut bytes = Vec::new();
        regular_file::open(path).ok()?.0.take(MAX_JAR).read_to_end(&mut bytes).ok()?;
        let directory = Directory::read(&bytes).ok()?;
        let class = |entry: &Entry| {
            let is_class = entry.name_in(&bytes).ends_with(b".class");
            let is_read = is_class && !entry.stored.is_encrypted() && entry.stored.size <= MAX_CLASS;
            is_read.then(|| (entry.name_in(&bytes).into(), (entry.data.start as u64, entry.stored)))
        };
        let classes = directory.entries.iter().filter_map(class).collect();
        let others = named_by_manifest(path, &bytes, &directory);
        Some((Self { path: path.into(), classes }, others))
    }

    /// A file that was replaced meanwhile has other contents there, which its checksum shows.
    fn class(&self, name: &str) -> Option<Vec<u8>> {
        let (at, stored) = self.classes.get(name.as_bytes())?;
        let mut bytes = vec![0; usize::try_from(stored.compressed).ok()?];
        let (mut file, _) = regular_file::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(*at)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        let Stored { method, crc, size, .. } = *stored;
        Some(Inflater::default().contents(method, crc, size, &bytes, MAX_CLASS).ok()?.into_owned())
    }
}

/// What the `Class-Path` of a jar's manifest names, relative to the jar as the JVM finds it.
#[cfg(unix)]
fn named_by_manifest(path: &Path, bytes: &[u8], directory: &Directory) -> Vec<PathBuf> {
    use crate::jar::class_path::{class_path_in, elements};
    let manifest = crate::jar::manifest_in(bytes, directory);
    let Some(class_path) = manifest.as_deref().and_then(class_path_in) else { return Vec::new() };
    let Ok(jar) = fs::canonicalize(path) else { return Vec::new() };
    elements(&class_path, &jar)
}

#[cfg(not(unix))]
fn named_by_manifest(_: &Path, _: &[u8], _: &Directory) -> Vec<PathBuf> {
    Vec::new()
}

/// The largest jar that is read for its directory, bytes.
const MAX_JAR: u64 = 1 << 30;

/// The most jars and directories of a running program. Its manifests may name any number.
const MAX_PLACES: usize = 4096;

/// The jars and directories in which super classes are searched.
#[derive(Debug, Default)]
pub(crate) struct ClassPath {
    places: Vec<Place>,
    /// Paths that are opened when a class is next looked up.
    unopened: VecDeque<PathBuf>,
    /// All paths that were added later.
    later: HashSet<PathBuf>,
    found: HashMap<Box<str>, Option<Arc<Node>>>,
}

impl ClassPath {
    /// Opens `paths`: jars, aars and directories.
    pub(crate) fn open(paths: &[PathBuf], pool: &ThreadPool) -> Result<Self, Error> {
        let mut places = Vec::with_capacity(paths.len());
        for path in paths {
            if fs::metadata(path).map_err(Error::reading(path))?.is_dir() {
                places.push(Place::Directory(path.clone()));
                continue;
            }
            let jar = Jar::read(path, read_file(path, pool).map_err(Error::reading(path))?)?;
            if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("aar")) {
                // An aar without code has no such entry.
                let Some(bytes) = jar.entry("classes.jar", MAX_NESTED) else { continue };
                places.push(Place::Jar(Jar::read(path, bytes)?));
            } else {
                places.push(Place::Jar(jar));
            }
        }
        Ok(Self { places, ..Self::default() })
    }

    /// The classes of `paths`: see [`Self::add_later`].
    pub(crate) fn later(paths: &[PathBuf]) -> Self {
        let mut this = Self::default();
        paths.iter().for_each(|path| this.add_later(path.clone()));
        this
    }

    /// Adds a jar or a directory, and what the manifest of the jar names. It is opened when a class is next looked up, and
    /// stays on disk. What cannot be read is left out.
    pub(crate) fn add_later(&mut self, path: PathBuf) {
        if self.later.len() < MAX_PLACES && self.later.insert(path.clone()) {
            self.unopened.push_back(path);
        }
    }

    fn open_the_rest(&mut self) {
        if self.unopened.is_empty() {
            return;
        }
        // What was missing may be there.
        self.found.retain(|_, found| found.is_some());
        while let Some(path) = self.unopened.pop_front() {
            if path.is_dir() {
                self.places.push(Place::Directory(path));
            } else if let Some((jar, others)) = JarOnDisk::open(&path) {
                self.places.push(Place::OnDisk(jar));
                others.into_iter().for_each(|path| self.add_later(path));
            }
        }
    }

    /// Adds a class that is known from elsewhere, in place of what was found under its name.
    pub(crate) fn add(&mut self, name: &str, node: Node) {
        self.found.insert(name.into(), Some(Arc::new(node)));
    }

    /// Returns the class with this internal name; `None` if it is missing or broken.
    pub(crate) fn class(&mut self, name: &str) -> Option<Arc<Node>> {
        if let Some(Some(found)) = self.found.get(name) {
            return Some(Arc::clone(found));
        }
        self.open_the_rest();
        if self.found.contains_key(name) || self.places.is_empty() {
            return None;
        }
        let entry = format!("{name}.class");
        let found = self.places.iter().find_map(|place| {
            let bytes = match place {
                Place::Directory(directory) => class_of_directory(directory, &entry),
                Place::Jar(jar) => jar.entry(&entry, MAX_CLASS),
                Place::OnDisk(jar) => jar.class(&entry),
            }?;
            let class = ClassFile::read(&bytes).ok()?;
            let focus = FocusFacts::scan(&class, false).ok()?;
            Some(Arc::new(Node { supertypes: class.names_of_supertypes(), focus }))
        });
        self.found.insert(name.into(), found.clone());
        found
    }
}

fn class_of_directory(directory: &Path, entry: &str) -> Option<Vec<u8>> {
    // A hostile class file may name its super class `../x`.
    if entry.split('/').any(|part| matches!(part, "" | "." | "..")) || entry.contains('\\') {
        return None;
    }
    read_class(&directory.join(entry)).ok()?
}
