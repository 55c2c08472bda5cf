//! Jars of programs that run: the manifest of one, its class path, and a new jar with one entry.

use std::io::Read;
use std::path::Path;

use zip_archive::{
    Directory, Inflater, Label, STORED, Stored, UTF8, crc32, push_central, push_end, push_local,
};

use trace_format::regular_file;

#[cfg(unix)]
pub mod class_path;

/// Entry name of the manifest.
pub(crate) const MANIFEST: &str = "META-INF/MANIFEST.MF";

/// The largest manifest that is read; those of pathing jars have a few hundred KiB.
const MAX_MANIFEST: u64 = 16 << 20;

/// Returns the manifest of the jar at `path`, in any spelling of its name; `None` if the jar has none.
///
/// # Errors
/// A message, if the file cannot be read or is not a jar, or the manifest cannot be unpacked.
pub fn manifest_of(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let mut bytes = Vec::new();
    let read = regular_file::open(path).and_then(|(mut file, _)| file.read_to_end(&mut bytes));
    read.map_err(|e| e.to_string())?;
    let directory = Directory::read(&bytes).map_err(|e| e.to_string())?;
    manifest_in(&bytes, &directory)
}

/// Like [`manifest_of`], of a jar in memory.
pub(crate) fn manifest_in(bytes: &[u8], directory: &Directory) -> Result<Option<Vec<u8>>, String> {
    let is_manifest = |name: &[u8]| name.eq_ignore_ascii_case(MANIFEST.as_bytes());
    let Some(entry) = directory.entries.iter().find(|entry| is_manifest(entry.name_in(bytes))) else {
        return Ok(None);
    };
    let contents = Inflater::default().read(bytes, entry, MAX_MANIFEST);
    contents.map(|contents| Some(contents.into_owned())).map_err(|e| format!("{}: {e}", MANIFEST))
}

/// Returns a jar with one entry of this name, stored.
#[must_use]
pub fn jar_of(name: &str, contents: &[u8]) -> Vec<u8> {
    let label = Label::new(name.as_bytes());
    let length = contents.len() as u64;
    let stored = Stored::fresh(UTF8, STORED, crc32(contents), length, length);
    let mut jar = Vec::new();
    push_local(&label, &stored, &mut jar);
    jar.extend_from_slice(contents);
    let at = jar.len() as u64;
    push_central(&label, &stored, 0, &mut jar);
    let directory = jar.len() as u64 - at;
    push_end(1, directory, at, &[], &mut jar);
    jar
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Write};

    #[test]
    fn a_jar_of_one_entry_is_read_by_another_reader() {
        let mut jar = zip::ZipArchive::new(Cursor::new(jar_of("a/Ä.class", b"contents"))).unwrap();
        assert_eq!(jar.len(), 1);
        let mut contents = String::new();
        jar.by_name("a/Ä.class").unwrap().read_to_string(&mut contents).unwrap();
        assert_eq!(contents, "contents");
    }

    #[test]
    fn the_manifest_of_another_writers_jar_is_found_in_any_spelling() {
        let path = std::env::temp_dir().join(format!("anrscope-jar-{}", std::process::id()));
        for (name, expected) in
            [("META-INF/MANIFEST.MF", true), ("meta-inf/Manifest.mf", true), ("a.txt", false)]
        {
            let mut jar = zip::ZipWriter::new(Cursor::new(Vec::new()));
            for name in ["first", name, "last"] {
                jar.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
                jar.write_all(name.repeat(99).as_bytes()).unwrap();
            }
            std::fs::write(&path, jar.finish().unwrap().into_inner()).unwrap();
            let expected = expected.then(|| name.repeat(99).into_bytes());
            assert_eq!(manifest_of(&path), Ok(expected), "{name}");
        }
        std::fs::write(&path, "no jar").unwrap();
        assert!(manifest_of(&path).is_err());
        std::fs::remove_file(&path).unwrap();
        assert!(manifest_of(&path).is_err());
    }
}
