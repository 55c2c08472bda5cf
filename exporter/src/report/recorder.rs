//! What recording cost, and what was changed while it ran.

use trace_format::{Recording, Source, Thread};

use super::RecorderReport;
use crate::model::{Names, RecorderFacts, first_event, percent};

/// `events`: of each thread.
pub(super) fn recorder_report<S: Source>(
    recording: &Recording<S>,
    facts: &RecorderFacts,
    names: &Names<'_>,
    events: &[u64],
    end: u64,
) -> RecorderReport {
    let off = facts.off().into_iter().map(|off| (names.method(off.method).into_owned(), off));
    let threads = recording.threads().iter().zip(events);
    let lived = |first: u64| end.saturating_sub(first);
    let (mut main, mut all) = (None, None);
    if let Some(measurement) = &facts.measurement {
        let cost = |(thread, events): (&Thread, &u64)| measurement.estimate(thread, *events);
        let of_main = threads.clone().find(|(thread, _)| thread.main);
        main = of_main.map(|(thread, n)| percent(cost((thread, n)), lived(first_event(thread))));
        let first = recording.threads().iter().map(first_event).filter(|t| *t > 0).min();
        all = first.map(|first| percent(threads.map(cost).sum(), lived(first)));
    }
    RecorderReport {
        measurement: facts.measurement.clone(),
        main_cost_percent: main,
        all_cost_percent: all,
        clamped: recording.header().clamped,
        pauses: facts.pauses(),
        off: off.collect(),
    }
}
