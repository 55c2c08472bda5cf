//! What a caller may choose.

use std::path::PathBuf;

use crate::filter::Filter;
use crate::waits::Catalogue;

/// Internal name of the class whose `i` and `o` are called by default.
pub const CALL_CLASS: &str = "dev/anrscope/MethodBeat";

/// Internal name of the class that Matrix's calls go to; one of ours by that name is in the runtime.
pub const MATRIX_CALL_CLASS: &str = "com/tencent/matrix/trace/core/AppMethodBeat";

/// [`Options::short`], unless it is said otherwise.
pub const DEFAULT_SHORT: u16 = 100;

/// Which ways out of a method call `o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exits {
    /// Returns and exceptions: every `i` has exactly one `o`.
    #[default]
    All,
    /// Before each return and each `athrow`, as Matrix does. Smaller; but what a called method throws
    /// leaves the `i` open, and a throw that the method itself catches tells an `o` too many: readers
    /// have to pair by id. Unlike Matrix's, a throw before a constructor's super call tells none, as
    /// there was no `i`.
    Normal,
}

/// Whose way of choosing and numbering methods is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// Our own: the rules of this crate.
    #[default]
    None,
    /// Matrix's, with its traps: the same methods, numbers and files as one single worker of it gives
    /// for the same inputs in the same order. [`Options::filter`] and [`Options::rules`] do not count.
    Matrix,
}

/// How to instrument.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is traced.
    pub filter: Filter,
    /// A method map whose methods keep their ids, and are traced even if nothing else would trace them.
    pub base_map: Option<PathBuf>,
    /// Classes and packages that are left alone; see [`Filter::read_block_list`].
    pub block_list: Option<PathBuf>,
    /// What is traced, in rules of one's own; see [`crate::rules`].
    pub rules: Option<PathBuf>,
    /// A `mapping.txt` of ProGuard or R8, if the input is obfuscated already. All other files name
    /// classes and methods as they were before, and so do the maps that are written.
    pub mapping: Option<PathBuf>,
    /// Jars and directories in which super classes of the inputs are looked for, such as `android.jar`.
    pub class_path: Vec<PathBuf>,
    /// Whose way is followed.
    pub compat: Compat,
    /// Compression of rewritten classes: 0 stores, 1 is fast, 9 is small.
    pub level: u8,
    /// Worker threads; 0 takes one for each processor.
    pub threads: usize,
    /// Internal name of the class whose `i(I)V` and `o(I)V` are called.
    pub call_class: String,
    /// Which ways out of a method call `o`.
    pub exits: Exits,
    /// Methods that run at most so many instructions with all that they call, and no loop, are left out by
    /// the default rule; 0 leaves none out for this. See [`DEFAULT_SHORT`].
    pub short: u16,
    /// A directory in which a run leaves for the next what it needs to redo only what has changed. Ids of
    /// unchanged methods stay. One directory serves one combination of inputs, outputs and options.
    pub cache: Option<PathBuf>,
    /// The calls that are told as waits, with the monitors; `None` tells none.
    pub waits: Option<Catalogue>,
    /// Name of a class, with `/` or `.`, of which [`crate::Summary::explained`] is to tell all.
    pub explain: Option<String>,
}

impl Options {
    /// What Matrix does, in its build of an app: its choice and numbers, its form of exits, and a class
    /// by the name of its own for the calls to go to.
    #[must_use]
    pub fn matrix() -> Self {
        Self {
            compat: Compat::Matrix,
            exits: Exits::Normal,
            call_class: MATRIX_CALL_CLASS.to_owned(),
            ..Self::default()
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            filter: Filter::default(),
            base_map: None,
            block_list: None,
            rules: None,
            mapping: None,
            class_path: Vec::new(),
            compat: Compat::None,
            level: 6,
            threads: 0,
            call_class: CALL_CLASS.to_owned(),
            exits: Exits::All,
            short: DEFAULT_SHORT,
            cache: None,
            waits: None,
            explain: None,
        }
    }
}

/// One thing to instrument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// A jar, an aar, or a directory of class files.
    pub path: PathBuf,
    /// Where the instrumented one goes: a file for an archive, a directory for a directory.
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
