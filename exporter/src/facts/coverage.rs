//! How much of a thread's time is recorded.

use trace_format::Thread;

use super::recorder::{Pause, first_event};

/// How much of a thread's time is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Coverage {
    /// Its first event, overwritten or not, BOOTTIME ns.
    pub since: u64,
    /// Its end, or the recording's.
    pub until: u64,
    /// The first moment of which its words are left.
    pub from: u64,
    /// How much of the time up to `until` its words tell of, without pauses and without what is lost in between, ns.
    pub recorded: u64,
}

impl Coverage {
    /// From its first event to its end, ns.
    #[must_use]
    pub fn lived(&self) -> u64 {
        self.until.saturating_sub(self.since)
    }

    /// Whether anything is missing that is worth a word: a thousandth of the time.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.lived() - self.recorded > self.lived() / 1_000
    }
}

/// Finds it while the events of a thread pass.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Covering {
    first: Option<u64>,
    last: u64,
    /// Words are missing since the last event.
    missing: bool,
    /// Time between words that is lost.
    lost: u64,
}

impl Covering {
    /// An event at `time`.
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

    /// Words are missing.
    pub(crate) fn lost(&mut self) {
        self.missing = true;
    }

    /// The time of `thread`, of a recording that ends at `end`.
    pub(crate) fn finish(&self, thread: &Thread, end: u64, pauses: &[Pause]) -> Coverage {
        let until = if thread.ended > 0 { thread.ended.min(end) } else { end }.max(self.last);
        let since = first_event(thread).min(until);
        // Of one that lost nothing its first event is the first that is left.
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
        let mut covering = Covering::default();
        for item in recording.events(main) {
            match item.unwrap() {
                Item::Event { time, .. } => covering.event(time),
                _ => covering.lost(),
            }
        }
        covering.finish(main, 20 * S, pauses)
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
        // From 6 to 9 and from 14 on but for the pause.
        assert_eq!((part.recorded / S, part.lived() / S, part.is_partial()), (8, 18, true));
    }
}
