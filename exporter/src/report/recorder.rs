//! The cost of recording, and what was changed while it ran.

use trace_format::{Recording, Source};

use crate::facts::{Cost, EstimatedCosts, MethodOff, Pause, RecorderFacts, SelfMeasurement, Standstills};
use crate::model::Names;

/// The cost of recording, and what was changed while it ran.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct RecorderReport {
    /// The measured cost of an event on the device, if present.
    pub measurement: Option<SelfMeasurement>,
    /// The cost measured while recording: the mean, in percent of the threads' time, and the maximum.
    pub measured: Option<(f64, Cost)>,
    /// Estimated cost to the main thread, in percent of its time since its first event.
    pub main_cost_percent: Option<f64>,
    /// Estimated cost to all threads together, in percent of one CPU.
    pub all_cost_percent: Option<f64>,
    /// Number of events missing because their threads found no free block.
    pub dropped: u64,
    /// Number of times adjusted so that none runs back.
    pub clamped: u64,
    /// The pauses.
    pub pauses: Vec<Pause>,
    /// The methods that were switched off, with their names, including those switched on again.
    pub off: Vec<(String, MethodOff)>,
    /// When coarse time stood still.
    pub standstills: Standstills,
}

impl RecorderReport {
    /// Number of methods that were off when the recording ended.
    #[must_use]
    pub fn methods_off(&self) -> usize {
        self.off.iter().filter(|(_, off)| off.until.is_none()).count()
    }
}

/// `events`: the number of each thread's events.
pub(super) fn recorder_report(
    recording: &Recording<dyn Source + '_>,
    facts: &RecorderFacts,
    names: &Names<'_>,
    events: &[u64],
    end: u64,
) -> RecorderReport {
    let off = facts.switched_off().into_iter().map(|off| (names.method(off.method).into_owned(), off));
    let measurement = facts.measurement.as_ref();
    let costs = measurement.map(|known| EstimatedCosts::of(known, recording.threads(), events, end));
    RecorderReport {
        measurement: facts.measurement.clone(),
        measured: facts
            .overhead
            .percent(recording.header().start.boottime, recording.header().last_alive)
            .zip(facts.overhead.worst()),
        main_cost_percent: costs.as_ref().and_then(|costs| costs.main),
        all_cost_percent: costs.and_then(|costs| costs.all),
        dropped: recording.header().dropped,
        clamped: recording.header().clamped,
        pauses: facts.pauses(),
        off: off.collect(),
        standstills: facts.standstills.clone(),
    }
}
