//! What a recording says, gathered in one place: each section is parsed here, and the events of a recording are read from
//! here alone.
//!
//! ```text
//! sections     -> Sections   snapshots, samples, starts, verdicts, the recorder's measurements
//! service ring -> Incidents  ANRs and other SIGQUITs      RecorderFacts  changes, CPU time of main, standstills
//! all threads  -> Survey     ends, coverage, lock waits, figures of frames, what is of a later version
//! one thread   -> steps      its events, with what was open where words are missing
//! ```
//! Trace, report, Matrix's form, `diff`, `plan` and `profile` are pages over these: what one of them knows or could not
//! read is what all of them know or could not read. Everything kept here is bounded, and counted where it is too much
//! ([`Skipped`]).

mod anr;
mod before;
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
mod stack;
mod subject;
mod survey;
mod system;
mod unit;
mod verdicts;

pub use anr::{Anr, Capture, Detector, Incidents};
pub use before::{Before, MessageKind};
pub use coverage::Coverage;
pub use main_unit::Unit;
pub use overhead::Overhead;
pub use recorder::{Off, Pause, Processor, RecorderFacts, Standstills, Why};
pub use samples::{Sample, Samples};
pub use sections::Sections;
pub use skipped::Skipped;
pub use system::SystemInfo;
pub use trace_format::sections::overhead::Cost;
pub use trace_format::sections::self_measurement::SelfMeasurement;
pub use trace_format::sections::startup::{StartKind, Startup};
pub use unit::UnitKind;

pub(crate) use frames::FrameFacts;
pub(crate) use recorder::{Switch, estimate, first_event, percent};
pub(crate) use restored::{Restored, Step, name_before};
pub(crate) use stack::{Open, OpenStack, typed};
pub(crate) use subject::{Subjects, known_form};
pub(crate) use survey::{LockWait, Survey, last_moment};
pub(crate) use unit::{Loops, begins, is_message};
pub(crate) use verdicts::{confidence_name, outcome_name, reasons_text, verdict_name};

use std::path::Path;

use trace_format::event::Clocks;
use trace_format::sections::timed;
use trace_format::sections::{MAX_TIME as LATEST, exit_info::ExitInformation};
use trace_format::{Events, ReadError, Recording, Section, Source, Thread};

use crate::dump::Dump;

/// The latest time that is shown.
pub(crate) const MAX_TIME: u64 = LATEST;

/// What a recording says.
#[derive(Debug)]
pub struct Facts<'a, S> {
    pub(crate) recording: &'a Recording<S>,
    /// What the monitors, the recorder and the system left in sections.
    pub sections: Sections,
    /// What the recorder says of itself.
    pub recorder: RecorderFacts,
    /// ANRs and other SIGQUITs.
    pub incidents: Incidents,
    /// Clock triples: the header's, then those of the service ring.
    pub(crate) clocks: Vec<Clocks>,
    /// Methods that were switched off and on, by time.
    pub(crate) switches: Vec<Switch>,
    /// Time of the last event of the service ring; 0 if it has none.
    last_of_service: u64,
    skipped: Skipped,
}

impl<'a, S: Source> Facts<'a, S> {
    /// Reads the sections and the service ring, and main where a SIGQUIT does not say what main was in.
    ///
    /// # Errors
    /// If the device fails.
    pub fn of(recording: &'a Recording<S>) -> Result<Self, ReadError> {
        let mut skipped = Skipped::default();
        let mut sections = Sections::of(recording, &mut skipped)?;
        let service = service::Service::of(recording, &mut skipped)?;
        let overhead = std::mem::take(&mut sections.overhead);
        let measurement = sections.measurement.take();
        let recorder = RecorderFacts::new(measurement, overhead, &service);
        let switches = recorder.switches();
        let verdicts = std::mem::take(&mut sections.verdicts);
        let moments = anr::unplaced(&service, &verdicts);
        let begun = match recording.threads().iter().find(|t| t.main).filter(|_| !moments.is_empty()) {
            Some(main) => {
                unit::begun_at(restored::restored(recording, main, &switches), moments, &sections.samples)?
            }
            None => Default::default(),
        };
        let incidents = Incidents::new(verdicts, &service, begun);
        skipped.add("ANRs, captures and notices", incidents.more);
        let clocks = std::iter::once(recording.header().start).chain(service.clocks).collect();
        let last_of_service = service.last;
        Ok(Self { recording, sections, recorder, incidents, clocks, switches, last_of_service, skipped })
    }

    /// Reads all threads once. What is of a later version is counted with what was skipped.
    pub(crate) fn survey(&mut self) -> Result<Survey, ReadError> {
        let survey = Survey::of(self.recording, self.last_of_service)?;
        self.skipped.set("events of later versions", survey.unknown);
        self.skipped.set("figures of frames", survey.frames.more);
        Ok(survey)
    }

    /// A thread's events, with what was open where words are missing, and the ends of what was switched off.
    pub(crate) fn steps(&self, thread: &'a Thread) -> Restored<'_, S> {
        restored::restored(self.recording, thread, &self.switches)
    }

    /// A thread's words as they are, for who counts words.
    pub(crate) fn events(&self, thread: &'a Thread) -> Events<'a, S> {
        self.recording.events(thread)
    }

    /// The recorded main thread.
    pub(crate) fn main(&self) -> Option<&'a Thread> {
        self.recording.threads().iter().find(|t| t.main)
    }

    /// What could not be read, or was too much to keep. Events of later versions are among it once a page has read all threads.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The system that the recording was made on.
    #[must_use]
    pub fn system(&self) -> SystemInfo {
        SystemInfo::new(&self.sections.process)
    }

    /// The thread dumps, one at a time, with the moment that each was asked for, BOOTTIME ns; each is read when it is its turn.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn dumps(&self) -> impl Iterator<Item = Result<(u64, Dump), ReadError>> {
        self.sections.dumps.iter().filter_map(|section| {
            self.payload(section, |payload| {
                let (at, text) = timed::parse(section.kind?, payload)?;
                Some((at, Dump::read(Path::new("dump"), text).ok()?))
            })
        })
    }

    /// Whether there are any.
    pub(crate) fn has_dumps(&self) -> bool {
        !self.sections.dumps.is_empty()
    }

    /// What the system says of the process's end, one at a time.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn exits(&self) -> impl Iterator<Item = Result<ExitInformation, ReadError>> {
        self.sections.exits.iter().filter_map(|section| self.payload(section, ExitInformation::parse))
    }

    /// The reports as the app got them, each one JSON object in one line, by time.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn issues(&self) -> impl Iterator<Item = Result<String, ReadError>> {
        self.sections.issues.iter().filter_map(|(_, section)| {
            self.payload(section, |payload| sections::one_line(timed::parse(section.kind?, payload)?.1))
        })
    }

    fn payload<T>(
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
