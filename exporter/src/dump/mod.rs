//! Thread dumps as Android writes them, read back into threads, stacks and locks.
//!
//! ```text
//! bytes -> lines   -> prefix        -> reader  -> Dump { sections { threads { frames, locks } } }
//!          bounded    logcat, quotes   by line      -> graph: who holds what whom, cycles
//!                                                   -> page, json
//! ```
//! What is read: ART's answer to SIGQUIT (Android 5 to 17) and Dalvik's before it, ApplicationExitInfo's
//! trace text with its subject and event log, `debuggerd -b` and tombstone backtraces, and the forms in
//! which people pass such texts on: logcat lines, the Play Console's and Crashlytics' export, quoted mail.
//! A file may hold several processes; each is a [`Section`].
//!
//! Nothing in a text can make the reader panic or grow without bound; the bounds are in [`limits`].
//!
//! ```
//! let text = "----- pid 7 at 2026-01-01 00:00:00 -----\nCmd line: com.example\n\nDALVIK THREADS (1):\n\
//!     \"main\" prio=5 tid=1 Sleeping\n  at java.lang.Thread.sleep(Native method)\n\n----- end 7 -----\n";
//! let dump = exporter::dump::Dump::read("traces.txt".as_ref(), text.as_bytes())?;
//! assert_eq!(dump.sections[0].threads[0].state.as_deref(), Some("Sleeping"));
//! # Ok::<(), exporter::dump::DumpError>(())
//! ```

mod anr_report;
mod archive;
mod attributes;
mod channels;
mod coroutine;
mod error;
mod event_log;
mod facts;
mod fold;
mod frame;
mod graph;
mod group;
mod json;
mod jvm;
pub mod limits;
mod lines;
mod lock_line;
mod long_binary;
mod long_methods;
mod model;
mod native_frame;
mod page;
mod paste;
mod prefix;
mod pressure;
mod process;
mod reader;
mod retraced;
mod section;
mod source;
mod state;
mod subject;
mod thread_line;

pub use anr_report::{AnrReport, CpuRow, CpuUsage};
pub use archive::Opened;
pub use error::DumpError;
pub use event_log::CriticalEvent;
pub use facts::{Fact, FactValue};
pub use frame::{Frame, JavaFrame, KernelFrame, Place};
pub use graph::{Edge, LockGraph};
pub use group::{Group, Groups};
pub use json::write_json;
pub use lock_line::{LockKind, LockLine};
pub use long_methods::{LongMethods, LongRun};
pub use model::{Dump, Section, SectionKind, Thread, ThreadForm, WaitChannel};
pub use native_frame::NativeFrame;
pub use page::PageOptions;
pub use process::Blamed;
pub use subject::{AnrKind, Subject};

pub(crate) use channels::Channels;
pub(crate) use frame::java_text as java_frame;
pub(crate) use state::{doing, name as state_name};
