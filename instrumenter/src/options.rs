//! What a caller may choose.

use std::path::PathBuf;

use crate::filter::Filter;

/// Which ways out of a method call `o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exits {
    /// Returns and exceptions: every `i` has exactly one `o`.
    #[default]
    All,
    /// Returns only. Smaller, and readers must close what an exception left open.
    Normal,
}

/// How to instrument.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is traced.
    pub filter: Filter,
    /// A method map whose methods keep their ids, and are traced even if the filter would not.
    pub base_map: Option<PathBuf>,
    /// Compression of rewritten classes: 0 stores, 1 is fast, 9 is small.
    pub level: u8,
    /// Worker threads; 0 takes one for each processor.
    pub threads: usize,
    /// Internal name of the class whose `i(I)V` and `o(I)V` are called.
    pub call_class: String,
    /// Which ways out of a method call `o`.
    pub exits: Exits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            filter: Filter::default(),
            base_map: None,
            level: 6,
            threads: 0,
            call_class: crate::CALL_CLASS.to_owned(),
            exits: Exits::All,
        }
    }
}

/// One thing to instrument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// A jar, an aar, or a folder of class files.
    pub path: PathBuf,
    /// Where the instrumented one goes: a file for an archive, a folder for a folder.
    pub output: PathBuf,
    /// If given, replaces the `Class-Path` of a jar's manifest; an empty text removes it.
    pub manifest_class_path: Option<String>,
}

impl Input {
    /// An input whose manifest stays as it is.
    pub fn new(path: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), output: output.into(), manifest_class_path: None }
    }
}

/// Where the maps of a run are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapPaths {
    /// `id,access,class method (descriptor)` for each traced method; see [`crate::method_map`].
    pub methods: PathBuf,
    /// The methods that are not traced.
    pub ignored: Option<PathBuf>,
    /// `id,SourceFile,line` for each traced method that has them.
    pub lines: Option<PathBuf>,
}

impl MapPaths {
    /// `methods`, and beside it `ignoreMethodMapping.txt` and `methods` with `.lines` behind its
    /// name.
    pub fn beside(methods: impl Into<PathBuf>) -> Self {
        let methods = methods.into();
        let mut lines = methods.clone().into_os_string();
        lines.push(".lines");
        let ignored = methods.with_file_name("ignoreMethodMapping.txt");
        Self { ignored: Some(ignored), lines: Some(lines.into()), methods }
    }
}
