//! Operations on arbitrary bytes: they may find nothing, but must not panic, and their results are bounded. Tests run them on samples, and
//! the fuzzers on what they make up.

#[cfg(feature = "instrumenter")]
pub mod classes;
#[cfg(feature = "dex")]
pub mod dex;
#[cfg(feature = "answers")]
pub mod dumps;
#[cfg(feature = "apk")]
pub mod manifests;
#[cfg(feature = "native-stacks")]
pub mod native;
