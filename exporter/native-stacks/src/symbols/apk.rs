//! Libraries that are stored in an APK, which Android maps from there without unpacking them.

use zip_archive::{Listing, STORED};

use super::source::Source;

/// Most bytes of an archive's directory.
const MAX_DIRECTORY: u64 = 64 << 20;

/// A library in an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stored {
    /// Its name in the archive: `lib/arm64-v8a/libexample.so`.
    pub(super) name: String,
    /// Where its bytes begin in the archive.
    pub(super) offset: u64,
    /// How many there are.
    pub(super) len: u64,
}

/// Returns the libraries that are stored without compression; none if it is not an archive.
pub(super) fn libraries(archive: &mut Source) -> Vec<Stored> {
    let Ok(listing) = Listing::read(archive, MAX_DIRECTORY) else { return Vec::new() };
    let libraries = listing.entries().map_while(Result::ok);
    let libraries = libraries.filter(|entry| entry.method == STORED && entry.name.ends_with(b".so"));
    let stored = libraries.filter_map(|entry| {
        let name = String::from_utf8_lossy(entry.name).into_owned();
        Some(Stored { name, offset: entry.data_at(archive).ok()?, len: entry.size })
    });
    stored.collect()
}
