//! Super classes that are not inputs: looked up one by one in jars, aars and directories.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::ThreadPool;
use zip_archive::{Directory, Inflater};

use crate::class::class_file::{ClassFile, MAX_CLASS};
use crate::class_facts::Node;
use crate::class_facts::focus::FocusFacts;
use crate::error::Error;
use crate::read_file::{MAX_NESTED, read_file};
use crate::regular;

#[derive(Debug)]
enum Place {
    Directory(PathBuf),
    Jar(Jar),
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

/// The jars and directories in which super classes are searched.
#[derive(Debug, Default)]
pub(crate) struct ClassPath {
    places: Vec<Place>,
    found: HashMap<Box<str>, Option<Arc<Node>>>,
}

impl ClassPath {
    /// Opens `paths`: jars, aars and directories.
    pub(crate) fn open(paths: &[PathBuf], pool: &ThreadPool) -> Result<Self, Error> {
        let mut places = Vec::with_capacity(paths.len());
        for path in paths {
            let failed = |source| Error::Read { path: path.clone(), source };
            if fs::metadata(path).map_err(failed)?.is_dir() {
                places.push(Place::Directory(path.clone()));
                continue;
            }
            let jar = Jar::read(path, read_file(path, pool).map_err(failed)?)?;
            if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("aar")) {
                // An aar without code has no such entry.
                let Some(bytes) = jar.entry("classes.jar", MAX_NESTED) else { continue };
                places.push(Place::Jar(Jar::read(path, bytes)?));
            } else {
                places.push(Place::Jar(jar));
            }
        }
        Ok(Self { places, found: HashMap::new() })
    }

    /// Adds a class that is known from elsewhere, in place of what was found under its name.
    pub(crate) fn add(&mut self, name: &str, node: Node) {
        self.found.insert(name.into(), Some(Arc::new(node)));
    }

    /// Returns the class with this internal name; `None` if it is missing or broken.
    pub(crate) fn class(&mut self, name: &str) -> Option<Arc<Node>> {
        if let Some(found) = self.found.get(name) {
            return found.clone();
        }
        if self.places.is_empty() {
            return None;
        }
        let entry = format!("{name}.class");
        let found = self.places.iter().find_map(|place| {
            let bytes = match place {
                Place::Directory(directory) => class_of_directory(directory, &entry),
                Place::Jar(jar) => jar.entry(&entry, MAX_CLASS),
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
    let mut bytes = Vec::new();
    regular::open(&directory.join(entry)).ok()?.0.take(MAX_CLASS + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_CLASS).then_some(bytes)
}
