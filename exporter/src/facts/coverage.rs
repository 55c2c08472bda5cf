//! The recorded part of a thread's time.

use trace_format::Thread;

use super::recorder::{Pause, first_event};

/// The recorded part of a thread's time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Coverage {
    /// Time of its first event, overwritten or not, BOOTTIME ns.
    pub since: u64,
    /// Its end, or the recording's.
    pub until: u64,
    /// The first moment whose events are still present.
    pub from: u64,
    /// Time up to `until` that the events cover, without pauses and gaps, ns.
    pub recorded: u64,
}

impl Coverage {
    /// From its first event to its end, ns.
    #[must_use]
    pub fn lived(&self) -> u64 {
        self.until.saturating_sub(self.since)
    }

    /// Whether a thousandth of the time or more is missing.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.lived() - self.recorded > self.lived() / 1_000
    }
}

/// Computes the coverage while a thread's events are read.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CoverageBuilder {
    first: Option<u64>,
    last: u64,
    /// Whether words are missing since the last event.
    missing: bool,
    /// Time of gaps between events.
    lost: u64,
}

impl CoverageBuilder {
    /// Takes an event at `time`.
    #[inline]
    pub(crate) fn event(&mut self, time: u64) {
        if self.first.is_none() || self.missing {
            self.after_loss(time);
        }
        self.last = time;
    }

    #[cold]
    fn after_loss(&mut self, time: u64) {
        let last = if self.first.is_some() { self.last } else { time };
        self.lost = self.lost.saturating_add(time.saturating_sub(last));
        self.first.get_or_insert(time);
        self.missing = false;
    }

    /// Notes that words are missing.
    pub(crate) fn lost(&mut self) {
        self.missing = true;
    }

    /// The coverage of `thread`, in a recording that ends at `end`.
    pub(crate) fn finish(&self, thread: &Thread, end: u64, pauses: &[Pause]) -> Coverage {
        let until = if thread.ended > 0 { thread.ended.min(end) } else { end }.max(self.last);
        let since = first_event(thread).min(until);
        // If nothing was lost, the first event is the first one present.
        let from = match self.first {
            Some(_) if thread.overwritten() == 0 => since,
            Some(first) => first.clamp(since, until),
            None => until,
        };
        let paused = pauses.iter().map(|pause| {
            let (begin, end) = (pause.begin.max(from), pause.end.unwrap_or(until).min(until));
            end.saturating_sub(begin)
        });
        let missing = paused.fold(self.lost, u64::saturating_add);
        Coverage { since, until, from, recorded: (until - from).saturating_sub(missing) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};
    use trace_format::{Item, Recording};

    const S: u64 = 1_000_000_000;

    fn of(fill: impl FnOnce(&mut ThreadBuilder), pauses: &[Pause]) -> Coverage {
        let recording = Recording::open(RecordingBuilder::new(1, "p").main("main", fill).build()).unwrap();
        let main = &recording.threads()[0];
        let mut coverage_builder = CoverageBuilder::default();
        for item in recording.events(main) {
            match item.unwrap() {
                Item::Event { time, .. } => coverage_builder.event(time),
                _ => coverage_builder.lost(),
            }
        }
        coverage_builder.finish(main, 20 * S, pauses)
    }

    fn four_blocks(t: &mut ThreadBuilder) {
        for at in [2, 6, 10, 14] {
            t.new_block(at * S).enter(at * S, 1).exit((at + 3) * S, 1);
        }
    }

    #[test]
    fn what_is_overwritten_lost_or_paused_is_not_recorded() {
        let whole = of(four_blocks, &[]);
        assert_eq!((whole.since / S, whole.from / S, whole.recorded / S), (2, 2, 18));
        assert!(!whole.is_partial());
        let part = of(
            |t| {
                four_blocks(t);
                t.lose(0..1).lose(2..3);
            },
            &[Pause { begin: 17 * S, end: Some(18 * S) }],
        );
        assert_eq!((part.since / S, part.from / S, part.until / S), (2, 6, 20));
        // From 6 to 9, and from 14 on except the pause.
        assert_eq!((part.recorded / S, part.lived() / S, part.is_partial()), (8, 18, true));
    }
}
