//! The options of a run.

use std::path::PathBuf;

use crate::filter::Filter;
use crate::waits::Catalogue;

/// Internal name of the class whose `i` and `o` are called by default.
pub const CALL_CLASS: &str = "dev/anrscope/MethodBeat";

/// Internal name of the class that Matrix's calls go to; the runtime contains a class of that name.
pub const MATRIX_CALL_CLASS: &str = "com/tencent/matrix/trace/core/AppMethodBeat";

/// The default of [`Options::short`].
pub const DEFAULT_SHORT: u16 = 100;

/// Which exits of a method call `o`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exits {
    /// Returns and exceptions: every `i` has exactly one `o`.
    #[default]
    All,
    /// Returns only: an exception leaves the `i` without an `o`, and readers have to pair by id.
    Normal,
    /// Each return and each `athrow`, as Matrix does, and no handler, because ART inlines no method that has one. A throw
    /// that the method itself catches calls one `o` too many. Unlike in Matrix's output, a throw before a constructor's
    /// super call has no `o`, because it had no `i`. On HotSpot such an `o` may overflow where the app would not. In dex
    /// files this is the form of [`Normal`](Self::Normal), too.
    Bare,
}

/// How methods are selected and numbered.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// The rules of this crate.
    #[default]
    None,
    /// Matrix's rules, quirks included: the same methods, ids and files as a single Matrix worker produces for the
    /// same inputs in the same order. [`Options::filter`] and [`Options::rules`] have no effect.
    Matrix,
}

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The classes that are traced.
    pub filter: Filter,
    /// A method map whose methods keep their ids and are always traced.
    pub base_map: Option<PathBuf>,
    /// Classes and packages that are not traced; see [`Filter::read_block_list`].
    pub block_list: Option<PathBuf>,
    /// A file of rules for what is traced; see [`crate::rules`].
    pub rules: Option<PathBuf>,
    /// The `mapping.txt` of ProGuard or R8, if the input is obfuscated. All other files, and the maps that are
    /// written, use the original names of classes and methods.
    pub mapping: Option<PathBuf>,
    /// Jars and directories to search for super classes of the inputs, such as `android.jar`.
    pub class_path: Vec<PathBuf>,
    /// How methods are selected and numbered.
    pub compat: Compat,
    /// Compression level of rewritten classes: 0 stores, 1 is fast, 9 is small.
    pub level: u8,
    /// Worker threads; 0 means one per CPU.
    pub threads: usize,
    /// Internal name of the class whose `i(I)V` and `o(I)V` are called.
    pub call_class: String,
    /// Which exits of a method call `o`.
    pub exits: Exits,
    /// The default rule skips methods without loops that execute at most this many instructions, those of called
    /// methods included; 0 skips none. See [`DEFAULT_SHORT`].
    pub short: u16,
    /// A directory in which a run saves what the next run needs to redo only what has changed. Unchanged methods keep
    /// their ids. Use one directory per combination of inputs, outputs and options.
    pub cache: Option<PathBuf>,
    /// The calls that are recorded as waits, besides monitors; `None` records no waits.
    pub waits: Option<Catalogue>,
    /// Name of the class, with `/` or `.`, that [`crate::Summary::explained`] describes.
    pub explain: Option<String>,
}

impl Options {
    /// Returns the options that reproduce Matrix: its selection, ids and exits, and a class of its own name as the
    /// target of the calls.
    #[must_use]
    pub fn matrix() -> Self {
        Self {
            compat: Compat::Matrix,
            exits: Exits::Bare,
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

/// An input of a run and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// A jar, an aar, or a directory of class files.
    pub path: PathBuf,
    /// The output: a file for an archive, a directory for a directory.
    pub output: PathBuf,
}

impl Input {
    /// Creates an input.
    pub fn new(path: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), output: output.into() }
    }
}

/// Where a run writes its maps.
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
    /// Returns `methods`, and next to it `ignoreMethodMapping.txt` and `methods` with `.lines` appended to its name.
    pub fn beside(methods: impl Into<PathBuf>) -> Self {
        let methods = methods.into();
        let mut lines = methods.clone().into_os_string();
        lines.push(".lines");
        let ignored = methods.with_file_name("ignoreMethodMapping.txt");
        Self { ignored: Some(ignored), lines: Some(lines.into()), methods }
    }
}
