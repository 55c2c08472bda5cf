//! Reports what hung, on one page of text.
//!
//! ```
//! use std::path::Path;
//! use exporter::{MethodMap, Report, answer::Conclusion};
//! use trace_format::{Recording, synth::RecordingBuilder};
//!
//! let bytes = RecordingBuilder::new(42, "com.example")
//!     .main("main", |t| {
//!         t.enter(2_000, 7).exit(3_000, 7);
//!     })
//!     .build();
//! let recording = Recording::open(bytes).unwrap();
//! let report = Report::build(Path::new("a.anrscope"), &recording, &MethodMap::empty())?;
//! assert_eq!(report.answer.conclusion, Conclusion::NoHang);
//! assert!(report.to_string().starts_with("No hang in com.example"));
//! # Ok::<(), exporter::ExportError>(())
//! ```

mod busy;
mod chart;
mod collect;
mod context;
mod device;
mod findings;
mod hang;
mod history;
mod html;
mod json;
mod long_call;
mod long_waits;
mod moments;
mod native;
mod open_item;
mod owners;
mod platform;
mod recorder;
mod text;
mod waits;
mod walk;
mod why;

use std::fmt;
use std::path::{Path, PathBuf};

use trace_format::{Recording, Source};

use crate::model::{ChainLink, Diagnosis};
use crate::{ExportError, MethodMap};

pub use crate::answer::{Cause, CauseId, CauseKind, Evidence};
pub use crate::facts::{MessageKind, RecentWork, Unit, UnitKind};
pub use crate::model::{StartPart, StartPartKind, StartSplit};
pub use busy::{Busy, Callee};
pub use chart::{Chart, ChartSlice};
use collect::Wanted;
pub use findings::{Report, ThreadCoverage};
pub use hang::Hang;
pub use html::MAX_EMBEDDED;
pub use json::SCHEMA_VERSION;
pub use long_call::LongCall;
pub use long_waits::LongWait;
pub use native::{MissedBeat, NativeReport, ReportedStack};
pub use open_item::{OpenItem, OpenItemKind};
pub use recorder::RecorderReport;
pub use waits::{LockOwner, WaitFact};
pub use walk::{Counts, Slow};
pub use why::{
    BusyThreads, Culprit, Posters, PreferenceWrites, QueueFact, TaskFact, Why, WhyCause, WhyLink, WriteSite,
};

/// Duration from which a message, or a call outside of messages, that ended is a hang, ns: the system's limit for input
/// (AOSP `ActivityManagerService`, API 21 to 34).
const MIN_ENDED_HANG: u64 = trace_format::android::ANR_LIMIT_NS;

impl Report {
    /// Reads a recording. `file` is used in messages, and in the commands that the page lists.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn build(
        file: &Path,
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
    ) -> Result<Self, ExportError> {
        Self::with_symbols(file, recording, map, &[])
    }

    /// As [`Report::build`]; functions of native stacks are named by the files in the directories `symbols`.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn with_symbols(
        file: &Path,
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
        symbols: &[PathBuf],
    ) -> Result<Self, ExportError> {
        collect::build(file, recording, map, symbols, Wanted::Worst)
    }

    /// The report on the last stall of main: the last message, or call outside of messages, that took at least
    /// `least` ns, or what main has been in for 2 s or more at the end. Earlier hangs and their ANRs are left out.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn latest_stall<S: Source>(
        file: &Path,
        recording: &Recording<S>,
        map: &MethodMap,
        least: u64,
    ) -> Result<Self, ExportError> {
        collect::build(file, recording, map, &[], Wanted::Latest(least))
    }

    /// A chart of what main did in the hang and the 10 s before it, or in the last 10 s.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn chart(
        &self,
        file: &Path,
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
    ) -> Result<Chart, ExportError> {
        collect::chart(file, recording, map, self)
    }
}

impl From<Report> for Diagnosis {
    fn from(report: Report) -> Self {
        let links = report.hang.and_then(|hang| hang.why).map(|why| why.links).unwrap_or_default();
        let chain = links.iter().map(|link| ChainLink { tid: link.tid, since: link.since }).collect();
        Self { answer: report.answer, chain }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}
