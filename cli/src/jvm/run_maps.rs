//! The method maps of a run: the program's, and those of JVMs that it started with its own options.
//!
//! An agent numbers methods as its JVM loads them, so that each JVM has a map of its own. The first line of such a map
//! states its id, which is also in the recording.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use trace_format::{MapId, ids};

use crate::recordings::MAP_NAME;

/// What the name of a further map starts with, in front of the pid.
const FURTHER: &str = "methodMapping-";

/// The files in `dir` that an agent may have written a map to, with their source lines.
fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    let maps = entries.iter().filter(|entry| has(&entry.file_name()));
    Ok(maps.map(fs::DirEntry::path).collect())
}

/// Returns true if a file of this name may be one of an agent's maps, or have source lines.
pub(super) fn has(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(FURTHER) || name.strip_suffix(".lines").unwrap_or(&name) == MAP_NAME
}

/// Removes the maps of an earlier run, which an agent would not replace.
///
/// # Errors
/// If one cannot be removed.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    files(dir)?.into_iter().try_for_each(fs::remove_file)
}

/// The maps in `dir` by their ids.
///
/// # Errors
/// If the directory cannot be read.
pub(super) fn read(dir: &Path) -> io::Result<HashMap<MapId, PathBuf>> {
    let ids = files(dir)?.into_iter().filter_map(|path| Some((id_of(&path)?, path)));
    Ok(ids.collect())
}

/// How many methods the map at `path` has; 0 if it does not exist.
pub(super) fn methods_in(path: &Path) -> usize {
    let Ok(file) = File::open(path) else { return 0 };
    let lines = BufReader::new(file).lines().map_while(Result::ok);
    let id = |line: String| line.split_once(',').and_then(|(id, _)| id.parse().ok());
    lines.filter_map(id).filter(|id| ids::is_method(*id)).count()
}

fn id_of(map: &Path) -> Option<MapId> {
    let mut line = String::new();
    // A map's first line is short; any other file may have none.
    let file = io::Read::take(File::open(map).ok()?, 200);
    BufReader::new(file).read_line(&mut line).ok()?;
    MapId::of_first_line(line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn each_recording_has_the_map_with_its_id() {
        let scratch = Scratch::new();
        let text = |id: u64| format!("{}\n1048574,1,a.B x ()V\n1,1,a.B c ()V\n", MapId(id).first_line());
        let first = scratch.file("methodMapping.txt", text(7).as_bytes());
        let second = scratch.file("methodMapping-81.txt", text(8).as_bytes());
        let lines = scratch.file("methodMapping.txt.lines", b"1,B.java,3\n");
        let other = scratch.file("notes.txt", text(9).as_bytes());
        let maps = read(scratch.path()).unwrap();
        assert_eq!([7, 8, 9].map(|id| maps.get(&MapId(id))), [Some(&first), Some(&second), None]);
        assert_eq!((methods_in(&first), methods_in(Path::new("/no/such"))), (1, 0));
        remove(scratch.path()).unwrap();
        assert_eq!([first, second, lines, other].map(|path| path.exists()), [false, false, false, true]);
    }
}
