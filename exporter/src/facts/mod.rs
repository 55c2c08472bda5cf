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
pub(crate) use restored::name_before;
pub(crate) use spans::{Change, EndedBy, Spans};
pub(crate) use stack::{Open, OpenStack, Payload, ends, is_message, typed};
pub(crate) use subject::{Subjects, known_form};
pub(crate) use survey::{LockWait, Survey, last_moment};
pub(crate) use verdicts::{confidence_name, outcome_name, reasons_text, verdict_name};

use std::path::Path;

use answers::dump::Dump;
use trace_format::event::Clocks;
use trace_format::sections::exit_info::ExitInformation;
use trace_format::sections::process::Process;
use trace_format::sections::timed;
use trace_format::{Events, ReadError, Recording, Section, Source, Thread};

/// The facts of a recording.
#[derive(Debug)]
pub struct Facts<'a, S: ?Sized = dyn Source + 'a> {
    pub(crate) recording: &'a Recording<S>,
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

impl<'a, S: Source + ?Sized> Facts<'a, S> {
    /// Reads the sections, the service ring, and main if a SIGQUIT does not record what main was in.
    ///
    /// # Errors
    /// If reading fails.
    pub fn of(recording: &'a Recording<S>) -> Result<Self, ReadError> {
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

    /// Reads all threads once. Events of later versions are added to the skipped counts.
    pub(crate) fn survey(&mut self) -> Result<Survey, ReadError> {
        let survey = Survey::of(self.recording, self.last_of_service)?;
        self.skipped.set("events of later versions", survey.unknown);
        self.skipped.set("figures of frames", survey.frames.more);
        Ok(survey)
    }

    /// A thread's items, with calls restored where words are missing, and the ends of methods that were switched
    /// off.
    pub(crate) fn spans(&self, thread: &'a Thread) -> Spans<'_, S> {
        Spans::of(restored::restored(self.recording, thread, &self.switches))
    }

    /// A thread's events unchanged, for counting.
    pub(crate) fn events(&self, thread: &'a Thread) -> Events<'a, S> {
        self.recording.events(thread)
    }

    /// The recorded main thread.
    pub(crate) fn main(&self) -> Option<&'a Thread> {
        self.recording.threads().iter().find(|t| t.main)
    }

    /// What could not be read or exceeded a limit. Includes events of later versions once all threads have been read.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The system on which the recording was made.
    #[must_use]
    pub fn system(&self) -> Process {
        system::system(&self.sections.process)
    }

    /// The thread dumps, each with the moment of its request, BOOTTIME ns; each is read on demand.
    ///
    /// # Errors
    /// If reading fails.
    pub(crate) fn dumps(&self) -> impl Iterator<Item = Result<(u64, Dump), ReadError>> {
        self.sections.dumps.iter().filter_map(|section| {
            self.payload(section, |payload| {
                let (at, text) = timed::parse(section.kind?, payload)?;
                Some((at, Dump::read(Path::new("dump"), text).ok()?))
            })
        })
    }

    /// Whether there are any thread dumps.
    pub(crate) fn has_dumps(&self) -> bool {
        !self.sections.dumps.is_empty()
    }

    /// The system's records of the process's exit, each read on demand.
    ///
    /// # Errors
    /// If reading fails.
    pub(crate) fn exits(&self) -> impl Iterator<Item = Result<ExitInformation, ReadError>> {
        self.sections.exits.iter().filter_map(|section| self.payload(section, ExitInformation::parse))
    }

    /// The reports as the app received them, each one JSON object on one line, by time.
    ///
    /// # Errors
    /// If reading fails.
    pub(crate) fn issues(&self) -> impl Iterator<Item = Result<String, ReadError>> {
        self.sections.issues.iter().filter_map(|(_, section)| {
            self.payload(section, |payload| sections::one_line(timed::parse(section.kind?, payload)?.1))
        })
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
