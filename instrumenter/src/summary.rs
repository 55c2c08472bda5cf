//! The result of a run.

use std::path::PathBuf;
use std::time::Duration;

use trace_format::MapId;

use crate::error::SkipReason;
use crate::explained::ExplainedClass;

/// A class or method that was copied unchanged although it was selected.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The input.
    pub input: PathBuf,
    /// The class, or the archive entry that should contain one.
    pub class: String,
    /// Name and descriptor of the method; `None` for the whole class.
    pub method: Option<String>,
    /// The reason.
    pub reason: SkipReason,
}

/// A problem that did not stop the run.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// A jar inside a jar, as Spring Boot builds them.
    #[error("{0} is a jar inside the jar: copied without tracing its classes")]
    NestedJar(String),
    /// A jar or aar in a directory of class files.
    #[error(
        "{0} is a jar among class files: copied without tracing its classes; to trace them, make it a separate input"
    )]
    JarInDirectory(String),
    /// A signature file that the changes make invalid.
    #[error("{0} is a signature that the changes make invalid: dropped")]
    SignatureDropped(String),
    /// Entries with the same name. The JVM uses the last one.
    #[error("several entries have the same name{}: the last of each was kept, as the JVM does",
        if archive.is_empty() { String::new() } else { format!(" in {archive}") })]
    DuplicateEntries {
        /// The jar inside an aar, or empty.
        archive: String,
    },
    /// An entry that a careless program would unpack outside the target directory.
    #[error("{0} points outside the directory that the archive is unpacked to: copied unchanged")]
    EscapingName(String),
    /// The map id of a previous run.
    #[error("{0} is the map id of a previous run: dropped")]
    OldMapId(String),
    /// The cache of a previous run cannot be used.
    #[error("cache invalid ({0}): doing a full rebuild")]
    CacheRejected(String),
    /// A file name is not UTF-8, so that the next run could not find the file.
    #[error("a file name is not UTF-8: nothing is cached")]
    NotCacheable,
    /// A rule, or a line of a block list, that decided nothing.
    #[error("{}:{line}: this line matches nothing", path.display())]
    IdleLine {
        /// The rules file or block list.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The mapping of another build, or inputs that are only a part of the build.
    #[error(
        "only {found} of the {classes} classes of this mapping are among the inputs: it may belong to another build"
    )]
    ForeignMapping {
        /// Classes in the mapping.
        classes: usize,
        /// The number of them that are among the inputs.
        found: usize,
    },
    /// Invalid lines in a mapping.
    #[error("{count} lines are not valid in a mapping, the first is line {line}: ignored")]
    UnreadMapping {
        /// The number of lines.
        count: usize,
        /// The first of them, from 1.
        line: usize,
    },
    /// An activity without a call of `at`, because a super class was not found.
    #[error(
        "{class} gets no activity focus call: its super class {super_class} is unknown; add its jar with --classpath"
    )]
    UnknownActivity {
        /// The class.
        class: String,
        /// The super class.
        super_class: String,
    },
    /// An activity without a call of `at`, because its super class is not instrumented and its method is final.
    #[error(
        "{0} gets no activity focus call: onWindowFocusChanged is final in a super class that is not instrumented"
    )]
    FinalFocus(String),
    /// `--compat matrix`: a class at which Matrix stops reading the archive.
    #[error("{class} is a class that Matrix cannot read: {}", match (directory, untouched) {
        (true, _) => "it is copied unchanged",
        (false, true) => "the classes after it get no ids, and the archive is copied unchanged",
        (false, false) => "the classes after it are not traced",
    })]
    MatrixStops {
        /// The class.
        class: String,
        /// Whether the whole archive is copied unchanged.
        untouched: bool,
        /// Whether it is in a directory, where only the class itself is affected.
        directory: bool,
    },
    /// A symbolic link to a directory.
    #[error("{0} is a link to a directory: ignored")]
    LinkedDirectory(String),
}

/// Why a method of the base map has no calls.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StaleReason {
    /// No input has a method of this name and descriptor.
    #[error("no input has it")]
    Gone,
    /// It is native or abstract.
    #[error("it has no code")]
    NoCode,
    /// Its code is broken, or its class is never traced.
    #[error("it cannot be traced")]
    Untraced,
}

/// A line of the base map for a method that has no calls now. It stays in the map, so that its id is not reused.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Its id. Matrix's maps may contain negative ids.
    pub id: i64,
    /// `class method (descriptor)`, with dots.
    pub method: String,
    /// The reason.
    pub reason: StaleReason,
}

/// How well a mapping fits the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingUse {
    /// Classes in the mapping.
    pub classes: usize,
    /// The number of them that are among the inputs.
    pub found: usize,
    /// Methods that kept their name, because the mapping has several methods of that name and none fits.
    pub ambiguous: usize,
}

/// The time that each pass of a run took.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Reading the inputs' files, the base map and the cache.
    pub read: Duration,
    /// Scanning: inflating and parsing the classes.
    pub collect: Duration,
    /// Assigning ids to methods and building the texts of the maps.
    pub number: Duration,
    /// Rewriting, compressing and writing.
    pub write: Duration,
    /// Committing: moving the outputs to their final paths, and writing the cache.
    pub commit: Duration,
    /// Of `collect`, the sum over all threads: inflating.
    pub inflate: Duration,
    /// Of `collect`, the sum over all threads: parsing classes.
    pub parse: Duration,
    /// Of `write`, the sum over all threads: rewriting classes.
    pub rewrite: Duration,
    /// Of `write`, the sum over all threads: compressing.
    pub deflate: Duration,
}

/// The result of a run.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Classes in the inputs.
    pub classes: usize,
    /// Classes that have calls now.
    pub classes_changed: usize,
    /// Classes that were unchanged since the previous run, so that they were not scanned again.
    pub classes_cached: usize,
    /// The number of those whose facts were not even unpacked from the cache. If a change affects other classes, all
    /// are unpacked.
    pub classes_carried: usize,
    /// Methods of all classes, native and abstract ones included.
    pub methods_seen: usize,
    /// Methods that have calls now.
    pub traced: usize,
    /// Methods that the default rule skips.
    pub ignored: usize,
    /// The number of those that are too short, called methods included: see [`Options::short`].
    ///
    /// [`Options::short`]: crate::Options::short
    pub short: usize,
    /// Methods of blocked classes.
    pub blocked: usize,
    /// Native and abstract methods.
    pub without_code: usize,
    /// Methods that a rule excludes; with `--compat matrix`, those that Matrix skips silently.
    pub excluded: usize,
    /// Classes that were changed so that they call `at`.
    pub focus: usize,
    /// Ids of methods that could not be rewritten. They stay unused in the map, so that the ids of all others do not
    /// depend on them.
    pub unused_ids: usize,
    /// The methods of the base map that are not traced any more, by id.
    pub stale: Vec<Stale>,
    /// How well the mapping fits, if there is one.
    pub mapping: Option<MappingUse>,
    /// What was selected and is not traced, by input, class and method.
    pub skipped: Vec<Skip>,
    /// Inputs and their warnings, in the order of the inputs.
    pub warnings: Vec<(PathBuf, Warning)>,
    /// The id of the method map.
    pub map_id: MapId,
    /// The classes whose name is [`Options::explain`](crate::Options::explain), in the order of the inputs.
    pub explained: Vec<ExplainedClass>,
    /// The time that each pass took.
    pub times: Times,
}

/// A step of a run, for a progress display.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// An input is being read and scanned.
    Reading(&'a std::path::Path),
    /// All inputs are scanned and methods have ids.
    Numbered {
        /// Classes in the inputs.
        classes: usize,
        /// Methods that get calls.
        methods: usize,
    },
    /// An output is being written.
    Writing(&'a std::path::Path),
}
