//! Reports what hung, on one page of text.
//!
//! ```
//! use std::path::Path;
//! use answers::answer::Conclusion;
//! use exporter::{MethodMap, Report};
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

mod answered;
mod busy;
mod chart;
mod collect;
mod computing;
mod context;
mod device;
mod findings;
mod hang;
mod history;
mod html;
mod idle;
mod json;
mod judge;
mod long_call;
mod long_waits;
mod measured;
mod native;
mod native_summary;
mod open_item;
mod owners;
mod platform;
mod question;
mod recorder;
mod rests;
mod sources;
mod stall;
mod stretches;
mod text;
mod turns;
mod waits;
mod walk;
mod why;

use std::fmt;

use crate::model::{ChainLink, Diagnosis};

pub use crate::facts::{Unit, UnitKind};
pub use crate::model::{StartPart, StartPartKind, StartSplit};
pub use busy::{Busy, Callee};
pub use chart::{Chart, ChartSlice};
pub use findings::{Report, ThreadCoverage};
pub use hang::Hang;
pub use html::MAX_EMBEDDED;
pub use json::SCHEMA_VERSION;
pub use long_call::Slow;
pub use long_waits::LongWait;
pub use native::{MissedBeat, NativeReport, ReportedStack};
pub use open_item::{OpenItem, OpenItemKind};
pub use recorder::RecorderReport;
pub use waits::{LockOwner, WaitFact};
pub use walk::Counts;
pub use why::{
    BusyThreads, Culprit, Posters, PreferenceWrites, QueueFact, TaskFact, Why, WhyCause, WhyLink, WriteSite,
};

/// Duration from which a message, or a call outside of messages, that ended is a hang, ns: the system's limit for input
/// (AOSP `ActivityManagerService`, API 21 to 34).
const MIN_ENDED_HANG: u64 = trace_format::android::ANR_LIMIT_NS;

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
