//! What a run did.

use std::path::PathBuf;
use std::time::Duration;

use trace_format::MapId;

use crate::error::SkipReason;

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
    /// The map id of an earlier run.
    #[error("{entry} is the map id of an earlier run: dropped")]
    OldMapId {
        /// Name of the entry.
        entry: String,
    },
    /// A folder that is a symbolic link.
    #[error("{entry} is a link to a folder: left out")]
    LinkedFolder {
        /// Path in the input.
        entry: String,
    },
}

/// How long the steps of a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Reading the inputs' files and the base map.
    pub read: Duration,
    /// Inflating and looking at the classes.
    pub collect: Duration,
    /// Numbering the methods and making the maps' texts.
    pub number: Duration,
    /// Rewriting, compressing and writing.
    pub write: Duration,
}

/// What a run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Classes that were looked at.
    pub classes: usize,
    /// Classes that have calls now.
    pub classes_changed: usize,
    /// Their methods, native and abstract ones included.
    pub methods_seen: usize,
    /// Methods that have calls now.
    pub traced: usize,
    /// Methods that are not worth it.
    pub ignored: usize,
    /// Methods of blocked classes.
    pub blocked: usize,
    /// What should be traced and is not, by input, class and method.
    pub skipped: Vec<Skip>,
    /// Input and warning, in the order of the inputs.
    pub warnings: Vec<(PathBuf, Warning)>,
    /// The identity of the method map.
    pub map_id: MapId,
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
