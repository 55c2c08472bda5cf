//! The explanation of what was done to one class, method by method.

use std::path::PathBuf;

use crate::class_facts::focus::NAME;
use crate::error::SkipReason;
use crate::splice::report::Inserted;

/// What was done to a method.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Decision {
    /// It has calls now.
    #[error("traced")]
    Traced,
    /// It has calls now, but not around its waits.
    #[error("traced without its waits: {0}")]
    TracedWithoutWaits(SkipReason),
    /// The default rule skips it.
    #[error(
        "not worth it: it calls nothing and has no loop, or is a constructor that only calls its super constructor and sets fields"
    )]
    NotWorthIt,
    /// The default rule skips it because it is short for any arguments.
    #[error("not worth it: {0} instructions with all it calls, no loop")]
    Short(u16),
    /// A rule excludes it.
    #[error("excluded")]
    Excluded,
    /// With `--compat matrix`: Matrix skips its class or archive.
    #[error("Matrix skips it")]
    NotMatrix,
    /// Its class is blocked, or belongs to the runtime.
    #[error("its class is blocked")]
    Blocked,
    /// Native or abstract.
    #[error("it has no code")]
    NoCode,
    /// It was selected, but cannot be traced.
    #[error("copied unchanged: {0}")]
    Skipped(SkipReason),
}

/// A method of an [`ExplainedClass`].
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedMethod {
    /// Access flags before the rewrite.
    pub access: u16,
    /// Its name.
    pub name: String,
    /// Its descriptor.
    pub descriptor: String,
    /// What was done to it.
    pub decision: Decision,
    /// File and line of the rule or block list entry that decided.
    pub rule: Option<(PathBuf, usize)>,
    /// Its id, if it has one.
    pub id: Option<u32>,
    /// Bytes of its code before and after the rewrite.
    pub code_bytes: Option<(usize, usize)>,
    /// The inserted code, in the order of the old code, each piece with its source line if known.
    pub inserted: Vec<(Inserted, Option<u16>)>,
}

/// A class, and what was done to it.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedClass {
    /// The input that contains it.
    pub input: PathBuf,
    /// Internal name.
    pub name: String,
    /// Its `SourceFile`.
    pub source_file: Option<String>,
    /// How it calls `at`, if it does.
    pub focus: Option<FocusCall>,
    /// Its methods, in the order of the class file.
    pub methods: Vec<ExplainedMethod>,
}

/// How a class calls `at` when its window gains or loses focus.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FocusCall {
    /// The override calls `at` and then its former body, which is a separate method now.
    #[error("{NAME} calls at, then what was written, which is {part} now{}", leads_to(above.as_deref()))]
    Split {
        /// The name of the method with the former body.
        part: String,
        /// The superclass method that its calls of `super.onWindowFocusChanged` call now.
        above: Option<String>,
    },
    /// The class had no override.
    #[error("{NAME} is added, calls at and then the superclass's")]
    Added,
    /// It should call `at`, but cannot.
    #[error("no call of at: {0}")]
    Failed(SkipReason),
}

fn leads_to(above: Option<&str>) -> String {
    above.map(|above| format!(" and calls super.{above}")).unwrap_or_default()
}
