//! Parses Android's thread dumps into threads, stacks and locks.
//!
//! ```text
//! bytes -> lines   -> prefix        -> reader  -> Dump { sections { threads { frames, locks } } }
//!          bounded    logcat, quotes   by line      -> graph: owners and waiters, cycles
//!                                                   -> answer, dump_report (page, JSON, groups)
//! ```
//! Supported inputs: ART's answer to SIGQUIT (Android 5 to 17) and Dalvik's before it, ApplicationExitInfo's
//! trace text with its subject and event log, `debuggerd -b` and tombstone backtraces, and the forms in which
//! people share such texts: logcat lines, the Play Console's and Crashlytics' export, quoted mail.
//! A file may hold several processes; each is a [`Section`].
//!
//! No input can make the reader panic or use unbounded memory; see [`limits`].
//!
//! ```
//! let text = "----- pid 7 at 2026-01-01 00:00:00 -----\nCmd line: com.example\n\nDALVIK THREADS (1):\n\
//!     \"main\" prio=5 tid=1 Sleeping\n  at java.lang.Thread.sleep(Native method)\n\n----- end 7 -----\n";
//! let dump = answers::dump::Dump::read("traces.txt".as_ref(), text.as_bytes())?;
//! assert_eq!(dump.sections[0].threads[0].state.as_deref(), Some("Sleeping"));
//! # Ok::<(), answers::dump::DumpError>(())
//! ```

pub(crate) mod address;
pub(crate) mod anr_report;
mod archive;
mod attributes;
pub(crate) mod channels;
mod coroutine;
mod error;
mod event_log;
pub(crate) mod facts;
pub(crate) mod frame;
pub(crate) mod graph;
mod jvm;
pub mod limits;
mod lines;
pub(crate) mod lock_line;
mod long_binary;
pub(crate) mod long_methods;
pub(crate) mod model;
mod native_frame;
mod native_names;
mod paste;
mod prefix;
mod pressure;
mod process;
mod reader;
mod retraced;
mod section;
mod source;
pub(crate) mod state;
pub(crate) mod subject;
mod thread_line;
mod thread_state;

pub use anr_report::{AnrReport, CpuRow, CpuUsage};
pub use archive::Opened;
pub use error::DumpError;
pub use event_log::CriticalEvent;
pub use facts::{Fact, FactValue};
pub use frame::{Frame, JavaFrame, KernelFrame, Place};
pub use graph::{Edge, LockGraph};
pub use lock_line::{LockKind, LockLine};
pub use long_methods::{LongMethods, LongRun};
pub use model::{Dump, SampledStack, Section, SectionKind, Standing, Thread, ThreadForm, WaitChannel};
pub use native_frame::NativeFrame;
pub use native_names::{MissingSymbols, NativeSymbols};
pub use process::AnrProcess;
pub use subject::{AnrKind, Subject};

pub(crate) use channels::Channels;
pub use frame::java_text as java_frame;
pub use state::{in_words, name as state_name};
pub(crate) use thread_state::StateKind;
