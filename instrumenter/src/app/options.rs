//! The options of a run over an app.

use std::path::PathBuf;

use apk::sign::Identity;

use crate::options::Options;

/// The signing of the output.
#[derive(Debug)]
pub enum Signing {
    /// With this key.
    Key(Identity),
    /// Not at all: it is aligned, and `apksigner` must sign it before it can be installed.
    Unsigned,
}

/// The options of a run over an app.
#[derive(Debug)]
pub struct AppOptions<'a> {
    /// What is traced, and how. [`Options::cache`], [`Options::compat`] and [`Options::class_path`] do not apply.
    pub common: Options,
    /// The Android runtime.
    pub runtime: &'a [u8],
    /// The file it was read from, if it is not the program's own.
    pub runtime_path: Option<PathBuf>,
    /// The signing of the output.
    pub signing: Signing,
    /// Whether the app becomes debuggable.
    pub debuggable: bool,
    /// The ABIs that get the library, of those that the app has; all of them if empty.
    pub abis: Vec<String>,
    /// Options of the runtime, as `<meta-data>` names and values.
    pub settings: Vec<(String, String)>,
}
