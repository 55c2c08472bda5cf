//! Why a manifest cannot be read or edited.

pub use dex::Malformed;

/// Why a manifest cannot be read or edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes violate the format.
    #[error("the manifest is malformed: {0}")]
    Malformed(#[from] Malformed),
    /// The root is not `<manifest>`, or it has no `package`.
    #[error("the manifest has no <manifest package=\"...\"> element")]
    NoManifest,
    /// There is nothing that components could be added to.
    #[error("the manifest has no <application> element")]
    NoApplication,
    /// The form of the string pool has no room for the length of this string.
    #[error("a string of {0} UTF-16 units does not fit into the manifest's string pool")]
    StringTooLong(usize),
    /// An element would have more than 65,535 attributes, or a chunk more than 4 GiB.
    #[error("the edit makes a part of the manifest too large for the format")]
    TooLarge,
    /// An option stands in the manifest as a resource, which takes precedence over the value that was to be set.
    #[error(
        "<meta-data android:name=\"{0}\"> has its value from a resource (android:resource), which cannot be replaced"
    )]
    MetaDataFromResource(String),
}
