//! Finds the method map for each recording.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use answers::retrace::Mapping;
use anyhow::bail;
use exporter::MethodMap;
use trace_format::MapId;

use super::map_beside;
use crate::file_kind::FileKind;
use crate::terminal::{MAX_NAMED, causes, warn};
use crate::walk;

/// Maximum number of files in a directory of maps. Only the first bytes of each are read, unless they are those of a map.
const MAX_FILES: usize = 10_000;
/// How many maps are cached for the recordings that follow.
const CACHED_MAPS: usize = 4;

/// The method maps that recordings are read with.
#[derive(Debug)]
pub(crate) struct MethodMaps {
    from: From,
    /// The mapping of ProGuard or R8.
    mapping: Option<Mapping>,
    /// The cached maps, the most recently used at the end.
    kept: Vec<(Option<PathBuf>, Arc<MethodMap>)>,
    /// Builds without a map that were reported.
    missing: HashSet<MapId>,
}

#[derive(Debug)]
enum From {
    /// The map beside each recording, if it exists.
    Beside,
    File(PathBuf),
    /// The map with the recording's id.
    Directory {
        path: PathBuf,
        by_id: HashMap<MapId, PathBuf>,
    },
}

impl MethodMaps {
    /// `map` is that of all recordings, or a directory of maps; without it each recording uses the one beside it.
    ///
    /// # Errors
    /// If the mapping is invalid, or the directory has no map.
    pub(crate) fn new(map: Option<&Path>, mapping: Option<&Path>) -> anyhow::Result<Self> {
        let from = match map {
            None => From::Beside,
            Some(path) if path.is_dir() => From::Directory { path: path.to_owned(), by_id: by_id(path)? },
            Some(path) => From::File(path.to_owned()),
        };
        let mapping = mapping.map(Mapping::load).transpose()?;
        Ok(Self { from, mapping, kept: Vec::new(), missing: HashSet::new() })
    }

    /// The map for the recording `file` of the build with this id; empty, with a warning, if a directory has no such map.
    ///
    /// # Errors
    /// If it cannot be read, or is not a map.
    pub(super) fn of(&mut self, file: &Path, id: MapId) -> anyhow::Result<Arc<MethodMap>> {
        let path = match &self.from {
            From::Beside => map_beside(file),
            From::File(path) => Some(path.clone()),
            From::Directory { by_id, .. } => by_id.get(&id).cloned(),
        };
        if let (From::Directory { path: directory, .. }, None) = (&self.from, &path)
            && self.missing.len() < MAX_NAMED
            && self.missing.insert(id)
        {
            match id {
                MapId::UNKNOWN => warn(format_args!(
                    "{} does not say which build it is of: no map of {} is used",
                    file.display(),
                    directory.display()
                ))?,
                id => warn(format_args!(
                    "no map in {} has the id {id} of {}: its methods have no names",
                    directory.display(),
                    file.display()
                ))?,
            }
        }
        let map = if let Some(at) = self.kept.iter().position(|(known, _)| *known == path) {
            self.kept.remove(at).1
        } else {
            let loaded = path.as_deref().map(MethodMap::load).transpose()?.unwrap_or_default();
            if self.kept.len() == CACHED_MAPS {
                self.kept.remove(0);
            }
            Arc::new(self.mapping.as_ref().map(|mapping| loaded.retraced(mapping)).unwrap_or(loaded))
        };
        self.kept.push((path, Arc::clone(&map)));
        Ok(map)
    }
}

/// The maps of a directory and its subdirectories, by id; of equal ones the first by name.
fn by_id(directory: &Path) -> anyhow::Result<HashMap<MapId, PathBuf>> {
    let (mut found, mut unread) = (HashMap::new(), 0);
    for path in walk::files(directory, MAX_FILES, |_, kind| kind.is_file())? {
        if !matches!(FileKind::of(&path), Ok(FileKind::MethodMap)) {
            continue;
        }
        match MethodMap::id_of(&path) {
            Ok(id) => {
                found.entry(id).or_insert(path);
            }
            Err(error) => {
                unread += 1;
                if unread <= MAX_NAMED {
                    warn(causes(&error.into()))?;
                }
            }
        }
    }
    if unread > MAX_NAMED {
        warn(format_args!("{} more maps of {} cannot be read", unread - MAX_NAMED, directory.display()))?;
    }
    if found.is_empty() {
        bail!(
            "{}: no method map in this directory: name one that has the methodMapping.txt of each build",
            directory.display()
        );
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    /// A map with one method of this class.
    fn map(class: &str) -> (MapId, String) {
        let line = format!("1,1,{class} run ()V");
        (MapId::from_lines([line.as_str()]), format!("# a build\n{line}\n"))
    }

    fn class(map: &MethodMap) -> Option<String> {
        map.get(1).map(|method| method.class.to_owned())
    }

    #[test]
    fn each_recording_gets_the_map_with_its_id_under_any_name() {
        let scratch = Scratch::new();
        let builds: Vec<(MapId, String)> = (0..CACHED_MAPS + 2).map(|n| map(&format!("a.B{n}"))).collect();
        std::fs::create_dir(scratch.path().join("below")).unwrap();
        for (n, (_, text)) in builds.iter().enumerate() {
            scratch.file(&format!("{}{n}.txt", if n % 2 == 0 { "below/" } else { "" }), text.as_bytes());
        }
        // Other content: a copy of a map, a recording, a mapping, a broken map, a directory.
        scratch.file("again.txt", builds[1].1.as_bytes());
        scratch.file("a.anrscope", &trace_format::layout::MAGIC);
        scratch.file("mapping.txt", b"a.B0 -> a.a:\n    void run() -> a\n");
        scratch.file("broken.txt", b"1,1,a.B run ()V\n1,1,a.B run ()V\n");
        let mut maps = MethodMaps::new(Some(scratch.path()), None).unwrap();
        for _ in 0..2 {
            for (n, (id, _)) in builds.iter().enumerate() {
                let found = maps.of(Path::new("r"), *id).unwrap();
                assert_eq!((class(&found), found.map_id()), (Some(format!("a.B{n}")), *id));
            }
        }
        assert_eq!(maps.kept.len(), CACHED_MAPS);
        for id in [MapId(7), MapId::UNKNOWN] {
            assert!(maps.of(Path::new("r"), id).unwrap().is_empty());
        }
        assert_eq!(maps.missing.len(), 2);
    }

    #[test]
    fn a_file_is_the_map_of_all_recordings_and_a_mapping_restores_names() {
        let scratch = Scratch::new();
        let (id, text) = map("a.a");
        let path = scratch.file("m.txt", text.as_bytes());
        let mapping = scratch.file("mapping.txt", b"com.example.Main -> a.a:\n    void run() -> run\n");
        let mut maps = MethodMaps::new(Some(&path), Some(&mapping)).unwrap();
        for id in [id, MapId(7)] {
            assert_eq!(class(&maps.of(Path::new("r"), id).unwrap()).as_deref(), Some("com.example.Main"));
        }
        // A map is read once: later changes of the file have no effect.
        std::fs::remove_file(&path).unwrap();
        assert!(maps.of(Path::new("r"), id).is_ok());
    }

    #[test]
    fn a_directory_without_a_map_is_an_error() {
        let scratch = Scratch::new();
        scratch.file("a.txt", b"hello\n");
        let error = MethodMaps::new(Some(scratch.path()), None).unwrap_err().to_string();
        assert!(error.contains("no method map in this directory"), "{error}");
    }
}
