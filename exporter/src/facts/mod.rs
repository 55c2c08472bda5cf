//! Reads a recording, in one place: each section is parsed here, and the events of a recording are only read here.
//!
//! ```text
//! sections     -> Sections   snapshots, samples, starts, verdicts, the recorder's measurements
//! service ring -> Incidents  ANRs and other SIGQUITs      RecorderFacts  changes, CPU time of main, standstills
//! all threads  -> Survey     ends, coverage, lock waits, frame metrics, events of later versions
//! one thread   -> Spans      its calls, messages, waits and frames, with what was open where words are missing
//! ```
//! Trace, report, Matrix's form, `diff`, `plan` and `profile` use these facts, so all of them know the same.
//! Everything kept here is bounded; what exceeds a limit is counted ([`Skipped`]).

mod anr;
mod component;
pub(crate) mod concurrency;
mod coverage;
mod frames;
mod main_unit;
mod overhead;
mod rate;
mod recorder;
mod restored;
mod samples;
mod sections;
mod service;
mod skipped;
mod spans;
mod stack;
mod subject;
mod survey;
pub(crate) mod system;
mod unit;
mod verdicts;

pub use anr::{Anr, Capture, Detector, Incidents};
pub use component::{Limit, MessageComponent};
pub use coverage::Coverage;
pub use main_unit::Unit;
pub use overhead::Overhead;
pub use recorder::{MethodOff, OffReason, Pause, PolledCpu, RecorderFacts, Standstills};
pub use samples::{Sample, Samples};
pub use sections::Sections;
pub use skipped::Skipped;
pub(crate) use trace_format::sections::MAX_TIME;
pub use trace_format::sections::overhead::Cost;
pub use trace_format::sections::self_measurement::SelfMeasurement;
pub use trace_format::sections::startup::{StartKind, Startup};
pub use unit::UnitKind;

pub(crate) use frames::FrameFacts;
pub(crate) use recorder::{EstimatedCosts, Switch, first_event, percent};
pub(crate) use spans::{Change, EndedBy, Spans};
pub(crate) use stack::{Open, OpenStack, Payload, ends, is_message, kind_name, name_before, typed};
pub(crate) use subject::known_form;
pub use survey::Survey;
pub(crate) use survey::{LockWait, last_moment};
pub(crate) use verdicts::{confidence_name, outcome_name, reasons_text, verdict_name};

use answers::text::clean;
use trace_format::event::Clocks;
use trace_format::sections::process::Process;
use trace_format::{Events, ReadError, Recording, Section, Source, TextId, Thread};

/// The facts of a recording.
pub struct Facts<'a> {
    pub(crate) recording: &'a Recording<dyn Source + 'a>,
    /// Sections of the monitors, the recorder and the system.
    pub sections: Sections,
    /// The recorder's own events.
    pub recorder: RecorderFacts,
    /// ANRs and other SIGQUITs.
    pub incidents: Incidents,
    /// Clock triples: the header's, then those of the service ring.
    pub(crate) clocks: Vec<Clocks>,
    /// Methods switched off and on, by time.
    pub(crate) switches: Vec<Switch>,
    /// Time of the last event in the service ring; 0 if it has none.
    last_of_service: u64,
    skipped: Skipped,
}

impl<'a> Facts<'a> {
    /// Reads the sections, the service ring, and main if a SIGQUIT does not record what main was in.
    ///
    /// # Errors
    /// If reading fails.
    pub fn of(recording: &'a Recording<dyn Source + 'a>) -> Result<Self, ReadError> {
        let mut skipped = Skipped::default();
        let mut sections = Sections::of(recording, &mut skipped)?;
        let service = service::Service::of(recording, &mut skipped)?;
        let overhead = std::mem::take(&mut sections.overhead);
        let measurement = sections.measurement.take();
        let recorder = RecorderFacts::new(measurement, overhead, &service);
        let switches = recorder.switches();
        let verdicts = std::mem::take(&mut sections.verdicts);
        let moments = anr::without_message(&service, &verdicts);
        let begun = match recording.threads().iter().find(|t| t.main).filter(|_| !moments.is_empty()) {
            Some(main) => {
                let spans = Spans::of(restored::restored(recording, main, &switches));
                unit::begun_at(spans, moments, &sections.samples)?
            }
            None => Default::default(),
        };
        let incidents = Incidents::new(verdicts, &service, begun);
        skipped.add("ANRs, captures and notices", incidents.more);
        let clocks = std::iter::once(recording.header().start).chain(service.clocks).collect();
        let last_of_service = service.last;
        Ok(Self { recording, sections, recorder, incidents, clocks, switches, last_of_service, skipped })
    }

    /// Reads all threads once; `main` takes main's changes, with what was open until each.
    pub(crate) fn survey(&self, main: impl FnMut(&Change<'_>, &OpenStack)) -> Result<Survey, ReadError> {
        Survey::of(self, main)
    }

    /// A thread's items, with calls restored where words are missing, and the ends of methods that were switched
    /// off.
    pub(crate) fn spans(&self, thread: &'a Thread) -> Spans<'_> {
        Spans::of(restored::restored(self.recording, thread, &self.switches))
    }

    /// A thread's events unchanged, for counting.
    pub(crate) fn events(&self, thread: &'a Thread) -> Events<'a, dyn Source + 'a> {
        self.recording.events(thread)
    }

    /// The recorded main thread.
    pub(crate) fn main(&self) -> Option<&'a Thread> {
        self.recording.threads().iter().find(|t| t.main)
    }

    /// The thread with this uid; 0 stands for none.
    pub(crate) fn thread(&self, uid: u32) -> Option<&'a Thread> {
        self.recording.threads().iter().find(|thread| uid > 0 && thread.uid == uid)
    }

    /// A text of the recording, cleaned for display; `None` without one.
    pub(crate) fn text(&self, id: TextId) -> Option<String> {
        self.recording.texts().get(id).filter(|text| !text.is_empty()).map(|text| clean(text).into_owned())
    }

    /// What could not be read or exceeded a limit, without events of threads.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The same, with the events of threads.
    pub(crate) fn all_skipped(&self, survey: &Survey) -> Skipped {
        let mut skipped = self.skipped.clone();
        skipped.add("events of later versions", survey.unknown);
        skipped.add("figures of frames", survey.frames.more);
        skipped
    }

    /// The system on which the recording was made.
    #[must_use]
    pub fn system(&self) -> Process {
        system::system(&self.sections.process)
    }

    pub(crate) fn payload<T>(
        &self,
        section: &Section,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Option<Result<T, ReadError>> {
        match self.recording.payload(section) {
            Ok(payload) => parse(&payload?).map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}
