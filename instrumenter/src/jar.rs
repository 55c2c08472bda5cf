//! The manifest of a jar, and the class path in it.

use zip_archive::{Directory, Inflater};

pub mod class_path;

/// Entry name of the manifest.
const MANIFEST: &[u8] = b"META-INF/MANIFEST.MF";

/// The largest manifest that is read; those of pathing jars have a few hundred KiB.
const MAX_MANIFEST: u64 = 16 << 20;

/// Returns the manifest of a jar, in any spelling of its name; `None` if the jar has none, or it cannot be unpacked.
pub(crate) fn manifest_in(jar: &[u8], directory: &Directory) -> Option<Vec<u8>> {
    let is_manifest = |name: &[u8]| name.eq_ignore_ascii_case(MANIFEST);
    let entry = directory.entries.iter().find(|entry| is_manifest(entry.name_in(jar)))?;
    Some(Inflater::default().read(jar, entry, MAX_MANIFEST).ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Write};

    #[test]
    fn the_manifest_of_another_writers_jar_is_found_in_any_spelling() {
        for (name, expected) in
            [("META-INF/MANIFEST.MF", true), ("meta-inf/Manifest.mf", true), ("a.txt", false)]
        {
            let mut jar = zip::ZipWriter::new(Cursor::new(Vec::new()));
            for name in ["first", name, "last"] {
                jar.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
                jar.write_all(name.repeat(99).as_bytes()).unwrap();
            }
            let jar = jar.finish().unwrap().into_inner();
            let directory = Directory::read(&jar).unwrap();
            let expected = expected.then(|| name.repeat(99).into_bytes());
            assert_eq!(manifest_in(&jar, &directory), expected, "{name}");
        }
    }
}
