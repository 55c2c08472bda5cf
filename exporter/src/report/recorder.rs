//! What recording cost, and what was changed while it ran.

use trace_format::{Recording, Source, Thread};

use crate::facts::{
    Cost, Off, Pause, RecorderFacts, SelfMeasurement, Standstills, estimate, first_event, percent,
};
use crate::model::Names;

/// What recording cost, and what was changed while it ran.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct RecorderReport {
    /// What an event costs on the device, if that was measured.
    pub measurement: Option<SelfMeasurement>,
    /// What recording cost as it was measured while it ran, if it was: the mean, percent of the threads' time, and the most.
    pub measured: Option<(f64, Cost)>,
    /// What recording cost the main thread, estimated, in percent of its time since its first event.
    pub main_cost_percent: Option<f64>,
    /// What it cost all threads together, estimated, in percent of one processor.
    pub all_cost_percent: Option<f64>,
    /// Events of threads that found no room, which are missing.
    pub dropped: u64,
    /// Times that were moved so that none runs back.
    pub clamped: u64,
    /// When nothing was recorded.
    pub pauses: Vec<Pause>,
    /// The methods that were switched off, with their names, those that were switched on again too.
    pub off: Vec<(String, Off)>,
    /// When coarse time stood still.
    pub standstills: Standstills,
}

impl RecorderReport {
    /// How many methods were switched off when the recording ended.
    #[must_use]
    pub fn methods_off(&self) -> usize {
        self.off.iter().filter(|(_, off)| off.until.is_none()).count()
    }
}

/// `events`: of each thread.
pub(super) fn recorder_report<S: Source>(
    recording: &Recording<S>,
    facts: &RecorderFacts,
    names: &Names<'_>,
    events: &[u64],
    end: u64,
) -> RecorderReport {
    let off = facts.switched_off().into_iter().map(|off| (names.method(off.method).into_owned(), off));
    let threads = recording.threads().iter().zip(events);
    let lived = |first: u64| end.saturating_sub(first);
    let (mut main, mut all) = (None, None);
    if let Some(measurement) = &facts.measurement {
        let cost = |(thread, events): (&Thread, &u64)| estimate(measurement, thread, *events);
        let of_main = threads.clone().find(|(thread, _)| thread.main);
        main = of_main.map(|(thread, n)| percent(cost((thread, n)), lived(first_event(thread))));
        let first = recording.threads().iter().map(first_event).filter(|t| *t > 0).min();
        all = first.map(|first| percent(threads.map(cost).sum(), lived(first)));
    }
    RecorderReport {
        measurement: facts.measurement.clone(),
        measured: facts.overhead.percent(recording.header().start.boottime).zip(facts.overhead.worst()),
        main_cost_percent: main,
        all_cost_percent: all,
        dropped: recording.header().dropped,
        clamped: recording.header().clamped,
        pauses: facts.pauses(),
        off: off.collect(),
        standstills: facts.standstills.clone(),
    }
}
