//! Apps: APKs, App Bundles and APK sets, whose dex files are instrumented without their build.
//!
//! ```text
//!   inputs     files, and the APKs in a set
//!   package    entries; for each module manifest and dex files
//!   load       the dex files
//!   facts      the classes of a dex file, with the decisions of crate::selection
//!   desugared  the code that D8 has written, which is not traced
//!   waits      what is recorded around calls and locks
//!   edit       the calls in traced methods
//!   output     dex files, runtime, manifest, libraries, signature
//! ```
//!
//! The crates `dex` and `apk` know the formats. Here they meet the selection, the ids and the maps that class files have too.

mod cost;
mod desugared;
mod edit;
mod error;
mod explain;
mod facts;
mod findings;
mod inputs;
mod load;
mod names;
mod options;
mod output;
mod package;
mod run;
mod runtime;
mod summary;
mod waits;

pub use apk::protection::{Finding, Severity};
pub use apk::sign::{Identity, KeyError};

pub use error::Error;
pub use options::{AppOptions, Signing};
pub use run::instrument_app;
pub use summary::{AppSummary, Change, PackageSummary};
