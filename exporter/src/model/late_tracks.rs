//! Writes late events at their intended times, and the messages that were waiting at an ANR.

use std::borrow::Cow;

use super::flows::LateEvent;
use super::sink::{Arg, Sink, TallySink, Track, Value};
use super::snapshot;
use super::thread::Shared;
use crate::ExportError;

/// Maximum number of waiting messages displayed, over all snapshots.
const MAX_PENDING: usize = 8192;

/// An instant: when, its name, and its arguments.
type Instant<'a> = (u64, Cow<'a, str>, Vec<Arg<'a>>);

/// Writes the messages that were due long before main dispatched them, and those that were waiting when an ANR
/// was detected.
pub(super) fn queue_track<K: Sink>(
    shared: &Shared<'_>,
    late: &[LateEvent],
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let mut instants: Vec<Instant<'_>> = late.iter().map(due).collect();
    let snapshots = &shared.facts.sections.snapshots;
    let waiting: Vec<_> = snapshots.iter().map(|s| (s.at, snapshot::waiting(s))).collect();
    let shown = waiting.iter().flat_map(|(at, (shown, _))| shown.iter().map(|pending| (*at, pending)));
    instants.extend(shown.take(MAX_PENDING).map(|(at, pending)| {
        let place = Arg::new("place", Value::Uint(pending.place));
        let name = format!("waiting: {}", pending.name);
        (at, name.into(), vec![place, Arg::new("when", Value::Text(&pending.when))])
    }));
    let more = waiting.iter().filter(|(_, (_, more))| *more > 0);
    instants.extend(more.map(|(at, (_, more))| {
        (*at, "waiting: more messages".into(), vec![Arg::new("messages", Value::Uint(*more))])
    }));
    write(Track::Queue, shared.start, instants, out)
}

/// Writes the vsyncs whose frames were late.
pub(super) fn vsync_track<K: Sink>(
    shared: &Shared<'_>,
    late: &[LateEvent],
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    write(Track::Vsync, shared.start, late.iter().map(due).collect(), out)
}

fn due(event: &LateEvent) -> Instant<'_> {
    let late = Arg::new("late_ms", Value::Millis(event.late));
    (event.at, Cow::Borrowed(&event.name), vec![Arg::flow(event.flow), late])
}

/// Writes instants by time, on a track of their own. Several of one moment keep the order of the queue.
fn write<K: Sink>(
    track: Track,
    start: u64,
    mut instants: Vec<Instant<'_>>,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    if instants.is_empty() {
        return Ok(());
    }
    instants.sort_by_key(|(at, ..)| *at);
    out.track(track)?;
    instants.into_iter().try_for_each(|(at, name, args)| out.instant(at.max(start), &name, &args))
}
