//! What a run did.

use std::path::PathBuf;
use std::time::Duration;

use trace_format::MapId;

use crate::error::SkipReason;
use crate::explained::ExplainedClass;

/// A class or method that was copied as it was although it should be traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The input.
    pub input: PathBuf,
    /// The class, or the entry that should hold one.
    pub class: String,
    /// Name and descriptor of the method, or `None` for the whole class.
    pub method: Option<String>,
    /// Why.
    pub reason: SkipReason,
}

/// Something the caller should know that did not stop the run.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// A jar inside a jar, as Spring Boot packs them.
    #[error("{entry} is a jar inside the jar: copied, its classes are not traced")]
    NestedJar {
        /// Name of the entry.
        entry: String,
    },
    /// A jar or aar in a directory of class files.
    #[error(
        "{entry} is a jar among class files: copied, its classes are not traced; name it as an input of its own"
    )]
    JarInDirectory {
        /// Path in the input.
        entry: String,
    },
    /// A signature that the changes would have made false.
    #[error("{entry} is a signature of the jar as it was: dropped")]
    SignatureDropped {
        /// Name of the entry.
        entry: String,
    },
    /// Entries of one name. The last counts, as in the JVM.
    #[error("there are several entries of one name{}: the last of each was kept, as the JVM does",
        if archive.is_empty() { String::new() } else { format!(" in {archive}") })]
    DuplicateEntries {
        /// The jar inside an aar, or nothing.
        archive: String,
    },
    /// An entry that a careless program would unpack outside the directory it was told.
    #[error("{entry} leads out of the directory that the archive is unpacked to: copied as it is")]
    EscapingName {
        /// Name of the entry.
        entry: String,
    },
    /// The map id of an earlier run.
    #[error("{entry} is the map id of an earlier run: dropped")]
    OldMapId {
        /// Name of the entry.
        entry: String,
    },
    /// What an earlier run left for this one is of no use.
    #[error("the cache is of no use, so everything is made anew: {reason}")]
    CacheRejected {
        /// Why.
        reason: String,
    },
    /// A file name is no text, so that the next run could not find it again.
    #[error("a file name is no UTF-8: nothing is cached")]
    NotCacheable,
    /// A rule, or a line of a block list, by which nothing was decided.
    #[error("{}:{line}: nothing was decided by this line", path.display())]
    IdleLine {
        /// The rules file or block list.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A mapping of another build, or inputs that are only a part.
    #[error(
        "only {found} of the {classes} classes of this mapping are among the inputs: it may be of another build"
    )]
    ForeignMapping {
        /// Classes in the mapping.
        classes: usize,
        /// Those of them that are among the inputs.
        found: usize,
    },
    /// Lines of a mapping that are none.
    #[error("{count} lines are not those of a mapping, the first is line {line}: passed over")]
    UnreadMapping {
        /// How many.
        count: usize,
        /// The first of them, from 1.
        line: usize,
    },
    /// An activity that got no `at` because of a super class that was not found.
    #[error(
        "{class} gets no activity focus: its super class {super_class} is unknown; name its jar with --classpath"
    )]
    UnknownActivity {
        /// The class.
        class: String,
        /// The super class.
        super_class: String,
    },
    /// An activity that got no `at` because its super class, which is left alone, allows no override.
    #[error(
        "{class} gets no activity focus: onWindowFocusChanged is final above it, in a class that is not instrumented"
    )]
    FinalFocus {
        /// The class.
        class: String,
    },
    /// `--compat matrix`: a class that makes Matrix give up what is behind it.
    #[error("{class} is a class that Matrix cannot read: {}", match (directory, untouched) {
        (true, _) => "it stays as it is",
        (false, true) => "what follows it in the archive is not numbered, and the archive stays as it is",
        (false, false) => "what follows it in the archive is not traced",
    })]
    MatrixStops {
        /// The class.
        class: String,
        /// Whether the whole archive stays as it is.
        untouched: bool,
        /// Whether it lies in a directory, where only the class itself is concerned.
        directory: bool,
    },
    /// A directory that is a symbolic link.
    #[error("{entry} is a link to a directory: left out")]
    LinkedDirectory {
        /// Path in the input.
        entry: String,
    },
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
    /// Its code is broken, or its class is never touched.
    #[error("it cannot be traced")]
    Untraced,
}

/// A line of the base map for a method that has no calls now. It stays in the map, so that its id is
/// not given to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Its id. Maps of Matrix may have negative ones.
    pub id: i64,
    /// `class method (descriptor)`, with dots.
    pub method: String,
    /// Why.
    pub reason: StaleReason,
}

/// How a mapping and the inputs fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingUse {
    /// Classes in the mapping.
    pub classes: usize,
    /// Those of them that are among the inputs.
    pub found: usize,
    /// Methods that kept their name, because the mapping has several for it and none fits.
    pub ambiguous: usize,
}

/// How long the steps of a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Reading the inputs' files, the base map and the cache.
    pub read: Duration,
    /// Inflating and looking at the classes.
    pub collect: Duration,
    /// Numbering the methods and making the maps' texts.
    pub number: Duration,
    /// Rewriting, compressing and writing.
    pub write: Duration,
    /// Moving everything to its place, and writing the cache.
    pub commit: Duration,
    /// Of `collect`, the sum over all threads: inflating.
    pub inflate: Duration,
    /// Of `collect`, the sum over all threads: parsing classes and looking at their methods.
    pub parse: Duration,
    /// Of `write`, the sum over all threads: rewriting classes.
    pub rewrite: Duration,
    /// Of `write`, the sum over all threads: compressing.
    pub deflate: Duration,
}

/// What a run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Classes that were looked at.
    pub classes: usize,
    /// Classes that have calls now.
    pub classes_changed: usize,
    /// Classes that the cache knew, so that they were not looked at again.
    pub classes_cached: usize,
    /// Of those, the ones of which not even what the cache knows was read: all, if what has changed
    /// concerns no other class, and else none.
    pub classes_carried: usize,
    /// Methods of all classes, native and abstract ones included.
    pub methods_seen: usize,
    /// Methods that have calls now.
    pub traced: usize,
    /// Methods that are not worth it.
    pub ignored: usize,
    /// Of those, the ones that are too short with all that they call: see [`Options::short`].
    ///
    /// [`Options::short`]: crate::Options::short
    pub short: usize,
    /// Methods of blocked classes.
    pub blocked: usize,
    /// Native and abstract methods.
    pub without_code: usize,
    /// Methods that a rule excludes; with `--compat matrix`, those that Matrix leaves out in silence.
    pub excluded: usize,
    /// Classes that were changed so that `at` is called.
    pub focus: usize,
    /// Ids of methods that could not be rewritten. They stay in the map, unused: the numbers of all
    /// others must not depend on it.
    pub unused_ids: usize,
    /// What of the base map is not traced any more, by id.
    pub stale: Vec<Stale>,
    /// How the mapping fits, if there is one.
    pub mapping: Option<MappingUse>,
    /// What should be traced and is not, by input, class and method.
    pub skipped: Vec<Skip>,
    /// Input and warning, in the order of the inputs.
    pub warnings: Vec<(PathBuf, Warning)>,
    /// The identity of the method map.
    pub map_id: MapId,
    /// The classes of the name that [`Options::explain`](crate::Options::explain) gives, in the order of
    /// the inputs.
    pub explained: Vec<ExplainedClass>,
    /// How long it took.
    pub times: Times,
}

/// A step of a run, for a progress display.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// An input is read and looked at.
    Reading(&'a std::path::Path),
    /// All inputs were looked at.
    Numbered {
        /// Classes seen.
        classes: usize,
        /// Methods that get calls.
        methods: usize,
    },
    /// An output is written.
    Writing(&'a std::path::Path),
}
