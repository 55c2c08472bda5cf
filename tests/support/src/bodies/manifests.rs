//! Manifests of apps.

use apk::manifest::{Addition, Manifest, attribute};

const LIBRARY: &str = include_str!("../../../../android/aar/AndroidManifest.xml");

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
        let _ = manifest.set_flag(attribute::DEBUGGABLE, true);
        let _ = manifest.set_flag(attribute::EXTRACT_NATIVE_LIBS, false);
        let _ = manifest.raise_min_sdk(addition.min_sdk());
        let again = read(&manifest.write()).expect("a manifest that was written");
        assert_eq!(again.facts(), manifest.facts());
    }
}
