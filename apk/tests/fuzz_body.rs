//! What a fuzz target does with bytes, and a test that it does so with the repository's own files.

use apk::manifest::{Addition, Manifest};

const LIBRARY: &str = include_str!("../../android/aar/AndroidManifest.xml");

/// Reads a manifest, makes every edit, and reads what was written.
///
/// # Panics
///
/// If an unedited manifest changes, or an edited one cannot be read or says something else.
pub fn manifest(bytes: &[u8]) {
    for read in [Manifest::read_binary, Manifest::read_protobuf] {
        let Ok(mut manifest) = read(bytes) else { continue };
        assert_eq!(manifest.write(), bytes);
        let mut addition = Addition::parse(LIBRARY).expect("the library's own manifest");
        addition.set_meta_data("anrscope.slow", "900").expect("a value");
        let _ = manifest.merge(&addition);
        let _ = manifest.set_debuggable(true);
        let _ = manifest.set_extract_native_libs(false);
        let _ = manifest.raise_min_sdk(addition.min_sdk());
        let again = read(&manifest.write()).expect("a manifest that was written");
        assert_eq!(again.facts(), manifest.facts());
    }
}

#[test]
fn the_body_accepts_the_repositorys_own_files() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/manifest");
    let files =
        std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    for path in files {
        manifest(&std::fs::read(path).expect("a file"));
    }
}
