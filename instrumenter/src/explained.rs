//! What was done to one class, as it is told to the caller: method by method, and why.

use std::path::PathBuf;

use crate::class_facts::focus::NAME;
use crate::error::SkipReason;
use crate::splice::report::Inserted;

/// What became of a method.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Decision {
    /// It has calls now.
    #[error("traced")]
    Traced,
    /// It has calls now, but not around its waits.
    #[error("traced without its waits: {0}")]
    TracedWithoutWaits(SkipReason),
    /// The rule of the filter.
    #[error(
        "not worth it: it calls nothing and has no loop, or is a constructor that only calls its super constructor and sets fields"
    )]
    NotWorthIt,
    /// The rule of the filter: it is over soon, whatever it is called with.
    #[error("not worth it: {instructions} instructions with all it calls, no loop")]
    Short {
        /// The most that one call can run, with all that it calls.
        instructions: u16,
    },
    /// A rule excludes it.
    #[error("excluded")]
    Excluded,
    /// With `--compat matrix`: Matrix passes its class or archive over.
    #[error("Matrix leaves it out")]
    NotMatrix,
    /// Its class is blocked, or belongs to the runtime.
    #[error("its class is blocked")]
    Blocked,
    /// Native or abstract.
    #[error("it has no code")]
    NoCode,
    /// It should be traced and cannot be.
    #[error("left as it is: {0}")]
    Skipped(SkipReason),
}

/// A method of an [`ExplainedClass`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedMethod {
    /// Access flags as they were.
    pub access: u16,
    /// Its name.
    pub name: String,
    /// Its descriptor.
    pub descriptor: String,
    /// What became of it.
    pub decision: Decision,
    /// File and line of the rule, or of the line of a block list, that decided.
    pub rule: Option<(PathBuf, usize)>,
    /// Its id, if it has one.
    pub id: Option<u32>,
    /// Bytes of its code before and after, if it was rewritten.
    pub code_bytes: Option<(usize, usize)>,
    /// What was inserted, in the order of the old code, each with its source line if that is known.
    pub inserted: Vec<(Inserted, Option<u16>)>,
}

/// A class, and what was done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedClass {
    /// The input that it is from.
    pub input: PathBuf,
    /// Internal name.
    pub name: String,
    /// Its `SourceFile`.
    pub source_file: Option<String>,
    /// What is done so that `at` is called.
    pub focus: Option<FocusCall>,
    /// In the order of the class file.
    pub methods: Vec<ExplainedMethod>,
}

/// How a class comes to call `at` when its window gains or loses focus.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FocusCall {
    /// The override calls `at` and then what was written, which is a method of its own now.
    #[error("{NAME} calls at, then what was written, which is {part} now{}", leads_to(above.as_deref()))]
    Split {
        /// Name of what was written.
        part: String,
        /// The method of the superclass that its calls of `super.onWindowFocusChanged` lead to now.
        above: Option<String>,
    },
    /// There was no override.
    #[error("{NAME} is added, calls at and then that of the superclass")]
    Added,
    /// It should call it and cannot.
    #[error("no call of at: {0}")]
    Failed(SkipReason),
}

fn leads_to(above: Option<&str>) -> String {
    above.map(|above| format!(" and calls super.{above}")).unwrap_or_default()
}
