//! A case, and how long all cases take.

use std::path::PathBuf;

/// The size of the run.
pub(crate) struct Options {
    pub levels: Vec<u32>,
    /// How long main hangs.
    pub hang_ms: u64,
    /// When a message is a lag and an ANR, as options of the library; none: its defaults.
    pub limits: &'static [&'static str],
    /// How long main idles after a vsync that it did not request.
    pub still_ms: u64,
    /// Number of runs of the deadlock case, and of races of idle handlers.
    pub rounds: u32,
    pub races: u32,
    /// The library that the program carries.
    pub library: PathBuf,
}

/// One line of the result.
pub(crate) struct Line {
    pub good: bool,
    pub text: String,
}

/// A case at a level.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub level: u32,
    pub name: &'static str,
    pub run: fn(&Options, u32, &'static str) -> Line,
}
