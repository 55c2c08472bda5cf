//! What was done to an app.

use std::path::PathBuf;

use apk::protection::Finding;

/// The result of a run over an app.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct AppSummary {
    /// Classes, methods, ids, skips and warnings, as for class files.
    pub methods: crate::Summary,
    /// What was done to each package, in the order of the inputs; those in an APK set by name.
    pub packages: Vec<PackageSummary>,
    /// The bundle whose `mapping.txt` gave the original names, if none was given.
    pub mapping_of: Option<String>,
    /// What works differently, or not at all, in the instrumented app.
    pub findings: Vec<Finding>,
}

/// What was done to a package.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct PackageSummary {
    /// The file, or the name in an APK set.
    pub name: String,
    /// Whether it is an App Bundle.
    pub is_bundle: bool,
    /// Where it was written.
    pub output: PathBuf,
    /// The app's id; empty without a manifest.
    pub package: String,
    /// The version of the app.
    pub version_code: u64,
    /// The lowest API level, as written.
    pub min_sdk: u32,
    /// The level before it was raised.
    pub min_sdk_was: Option<u32>,
    /// Bytes of the file.
    pub size: Change,
    /// Dex files.
    pub dexes: Change,
    /// Bytes of dex, not compressed.
    pub dex_bytes: Change,
    /// Entries of the tables of methods of all dex files together, each of which has room for 65,536.
    pub method_ids: Change,
    /// ABIs for which the library was added.
    pub abis: Vec<String>,
    /// Elements that the manifest got.
    pub manifest: Vec<String>,
    /// Entries that were dropped, each with the reason.
    pub dropped: Vec<(String, &'static str)>,
    /// SHA-256 of the certificates that it was signed with before, in hexadecimal.
    pub was_signed_by: Vec<String>,
    /// Why the certificates are not known, as of a damaged signing block.
    pub signer_unknown: Option<String>,
    /// SHA-256 of the certificate that it is signed with; `None` if it is not signed.
    pub signed_by: Option<String>,
}

/// A number before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    #[allow(missing_docs)]
    pub before: u64,
    #[allow(missing_docs)]
    pub after: u64,
}
