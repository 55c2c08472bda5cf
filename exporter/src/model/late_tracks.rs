//! Writes late events at their intended times, and the messages that were waiting at an ANR.

use trace_format::Source;

use super::Tally;
use super::flows::LateEvent;
use super::sink::{Arg, Name, Sink, Track, Value};
use super::snapshot::{self, Pending};
use super::thread::Shared;
use crate::ExportError;

/// Maximum number of waiting messages displayed, over all snapshots.
const MAX_PENDING: usize = 8192;

/// An event on the queue's track.
enum Mark<'a> {
    Due(&'a LateEvent),
    Pending(&'a Pending),
    More(u64),
}

/// Writes the messages that were due long before main dispatched them, and those that were waiting when an ANR
/// was detected.
pub(super) fn queue_track<S: Source + ?Sized, K: Sink>(
    shared: &Shared<'_, S>,
    late: &mut [LateEvent],
    tally: &mut Tally,
    sink: &mut K,
) -> Result<(), ExportError> {
    let mut marks: Vec<(u64, Mark<'_>)> = late.iter().map(|event| (event.at, Mark::Due(event))).collect();
    let snapshots = &shared.facts.sections.snapshots;
    let waiting: Vec<_> = snapshots.iter().map(|s| (s.at, snapshot::waiting(s))).collect();
    let shown = waiting.iter().flat_map(|(at, (shown, _))| shown.iter().map(|p| (*at, Mark::Pending(p))));
    marks.extend(shown.take(MAX_PENDING));
    marks.extend(
        waiting.iter().filter(|(_, (_, more))| *more > 0).map(|(at, (_, more))| (*at, Mark::More(*more))),
    );
    if marks.is_empty() {
        return Ok(());
    }
    // Stable: keeps the queue's order.
    marks.sort_by_key(|(at, _)| *at);
    sink.track(Track::Queue)?;
    tally.tracks += 1;
    for (at, mark) in marks {
        let at = at.max(shared.start);
        tally.instants += 1;
        match mark {
            Mark::Due(event) => due(at, event, sink)?,
            Mark::Pending(pending) => {
                let args = [
                    Arg::new("place", Value::Uint(pending.place)),
                    Arg::new("when", Value::Text(&pending.when)),
                ];
                sink.instant(at, Name::Text(&format!("waiting: {}", pending.name)), &args)?;
            }
            Mark::More(more) => {
                let args = [Arg::new("messages", Value::Uint(more))];
                sink.instant(at, Name::Text("waiting: more messages"), &args)?;
            }
        }
    }
    Ok(())
}

fn due<K: Sink>(at: u64, event: &LateEvent, sink: &mut K) -> Result<(), ExportError> {
    let args = [Arg::flow(event.flow), Arg::new("late_ms", Value::Millis(event.late))];
    sink.instant(at, Name::Text(&event.name), &args)
}

/// Writes the vsyncs whose frames were late.
pub(super) fn vsync_track<S: Source + ?Sized, K: Sink>(
    shared: &Shared<'_, S>,
    late: &mut [LateEvent],
    tally: &mut Tally,
    sink: &mut K,
) -> Result<(), ExportError> {
    if late.is_empty() {
        return Ok(());
    }
    late.sort_by_key(|event| event.at);
    sink.track(Track::Vsync)?;
    tally.tracks += 1;
    for event in late.iter() {
        tally.instants += 1;
        due(event.at.max(shared.start), event, sink)?;
    }
    Ok(())
}
