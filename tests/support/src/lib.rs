//! What the tests of several crates share.
//!
//! ```text
//! recordings, scenario, recorded, art    recordings and dumps from descriptions
//! bodies, damage, memory, random         hostile files: what is done with them, damaged forms, and the memory that a reader takes
//! engine, schema, signed judges of what was written: the Perfetto engine, the schema of reports, a verifier of APKs
//! program, jdk, android, library         programs that run: anrscope, Java, an app on the fakes of Android
//! binaries, unwinding                    native programs, and captures of their stacks
//! ```
#![allow(missing_docs, reason = "the names say what they are; what is not evident has a comment")]
#![allow(
    clippy::len_without_is_empty,
    clippy::new_without_default,
    clippy::should_implement_trait,
    reason = "no library for others: it has what tests use"
)]

use std::path::{Path, PathBuf};

pub mod android;
pub mod art;
#[cfg(feature = "native-stacks")]
pub mod binaries;
pub mod bodies;
#[cfg(feature = "runtime")]
pub mod churn;
pub mod damage;
#[cfg(feature = "dex")]
pub mod dex;
pub mod engine;
pub mod jdk;
pub mod library;
pub mod memory;
pub mod program;
pub mod random;
#[cfg(feature = "exporter")]
pub mod recorded;
#[cfg(feature = "exporter")]
pub mod recordings;
#[cfg(feature = "exporter")]
pub mod scenario;
pub mod schema;
#[cfg(feature = "apk")]
pub mod signed;
pub mod temp_dir;
#[cfg(feature = "native-stacks")]
pub mod unwinding;

/// The top of the repository.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .and_then(Path::parent)
        .expect("tests/support is two levels down")
}

/// What `scripts/install-test-needs` fetched.
#[must_use]
pub fn test_data() -> PathBuf {
    std::env::var_os("ANRSCOPE_TEST_DATA").map_or_else(|| root().join("target/test-data"), PathBuf::from)
}

/// The directory of a build's programs and libraries, such as `target/debug`. Test programs are in its `deps`.
#[must_use]
pub fn built() -> PathBuf {
    let own = std::env::current_exe().expect("a program has a path");
    let directory = own.parent().expect("it is in a directory");
    if directory.ends_with("deps") || directory.ends_with("examples") {
        directory.parent().expect("deps is in one").to_owned()
    } else {
        directory.to_owned()
    }
}

/// Cargo's directory for the files of tests.
#[must_use]
pub fn temporary() -> PathBuf {
    built().parent().expect("a profile is in target").join("tmp")
}
