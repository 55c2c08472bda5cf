//! Why an app was not instrumented.

use std::path::PathBuf;

/// Why a run wrote nothing.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Options, maps and files, as in runs over class files.
    #[error(transparent)]
    Common(#[from] crate::Error),
    /// A package that is not a zip file, or is damaged.
    #[error("{package} is not an APK, App Bundle or APK set, or it is damaged: {reason}")]
    Package {
        /// Its file.
        package: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An entry that cannot be read.
    #[error("{package}: cannot read {entry}: {reason}")]
    Entry {
        /// The package's file.
        package: String,
        /// The entry's name.
        entry: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No dex file.
    #[error("{0} has no classes.dex: give the base APK of the app, or all its splits")]
    NoCode(String),
    /// The output of a previous run.
    #[error("{0} is already instrumented: give the APK as it was built")]
    AlreadyInstrumented(String),
    /// An app whose classes are encrypted.
    #[error(
        "{package} is packed, so that its own classes cannot be read: {evidence}. Give an APK from before packing"
    )]
    Packed {
        /// The package's file.
        package: String,
        /// What shows it.
        evidence: String,
    },
    /// The Android runtime is missing or damaged.
    #[error("cannot use the Android runtime {}: {reason}", path.as_ref().map_or("in this program".to_owned(), |path| path.display().to_string()))]
    Runtime {
        /// The file; `None` for the one in the program.
        path: Option<PathBuf>,
        /// What is wrong with it.
        reason: String,
    },
    /// The manifest cannot be changed.
    #[error("{package}: cannot change the manifest: {reason}")]
    Manifest {
        /// The package's file.
        package: String,
        /// The reason.
        reason: String,
    },
    /// A dex file cannot be written.
    #[error("{package}: cannot write {entry}: {reason}")]
    Dex {
        /// The package's file.
        package: String,
        /// The entry's name.
        entry: String,
        /// The reason.
        reason: String,
    },
    /// The package cannot be written.
    #[error("cannot write {package}: {reason}")]
    Layout {
        /// The package's file.
        package: String,
        /// The reason.
        reason: String,
    },
    /// The signing key.
    #[error(transparent)]
    Key(#[from] apk::sign::KeyError),
}
