//! A sample of a thread's calls that are too short to be recorded: how many there were, and which methods
//! were called most.
//!
//! Calls are not counted one by one. `MethodBeat` times one call in thousands, at random distances, and
//! reports its method: that is a sample, and the distances add up to the number of calls.

use trace_format::event::Folded;

/// The event comes this often at most, ns.
const INTERVAL: u64 = 200_000_000;

/// Methods that are counted at a time; the one with the fewest samples gives way to a new one.
const COUNTED: usize = 8;

/// The sample of one thread.
#[derive(Debug)]
pub(crate) struct ShortCalls {
    calls: u64,
    samples: u32,
    since: u64,
    hot: [(u32, u32); COUNTED],
    /// Calls until the next sample.
    distance: u32,
    random: u32,
    /// The window of the [overhead](crate::writing::overhead) in which the thread was counted last.
    pub(crate) window: u32,
}

impl ShortCalls {
    pub(crate) const fn new(seed: u32) -> Self {
        Self {
            calls: 0,
            samples: 0,
            since: 0,
            hot: [(0, 0); COUNTED],
            distance: 1_000,
            random: seed | 1,
            window: 0,
        }
    }

    /// Adds a sample, taken `now`; returns how many calls it stands for.
    pub(crate) fn add(&mut self, id: u32, now: u64) -> u32 {
        let passed = self.distance;
        if self.samples == 0 {
            self.since = now;
        }
        self.calls += u64::from(passed);
        self.samples += 1;
        let known = self.hot.iter().position(|(hot, _)| *hot == id);
        let place =
            known.or_else(|| self.hot.iter().position(|(_, count)| *count == 0)).unwrap_or_else(|| {
                let least = (0..COUNTED).min_by_key(|i| self.hot[*i].1);
                least.unwrap_or(0)
            });
        if known.is_none() {
            // A method that is called often comes again; one that is not loses its entry.
            self.hot[place] = (id, 0);
        }
        self.hot[place].1 += 1;
        passed
    }

    /// Calls until the next sample: 1,024 to 2,047, so that no loop keeps step with it (Marsaglia, Xorshift RNGs, 2003).
    pub(crate) fn next(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.distance = 1_024 + self.random % 1_024;
        self.distance
    }

    /// The event to record `now`, if it is due.
    pub(crate) fn take(&mut self, now: u64) -> Option<Folded> {
        if self.samples < 2 || now.saturating_sub(self.since) < INTERVAL {
            return None;
        }
        let mut hot = self.hot;
        hot.sort_unstable_by_key(|(_, count)| std::cmp::Reverse(*count));
        let share = |(id, count): (u32, u32)| {
            let millionths = u64::from(count) * 1_000_000 / u64::from(self.samples);
            if count == 0 { (0, 0) } else { (id, millionths as u32) }
        };
        let folded =
            Folded { calls: self.calls, since: self.since, hot: [hot[0], hot[1], hot[2], hot[3]].map(share) };
        (self.calls, self.samples, self.since, self.hot) = (0, 0, now, [(0, 0); COUNTED]);
        Some(folded)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_methods_that_are_called_most_are_recorded_with_their_share() {
        let mut short = ShortCalls::new(7);
        let mut calls = 0;
        for n in 0..1_000_u32 {
            // 60 % one method, 30 % another, the rest all different.
            let id = match n % 10 {
                0..6 => 1,
                6..9 => 2,
                _ => 100 + n,
            };
            calls += u64::from(short.add(id, u64::from(n) * 1_000_000));
            assert!((1_024..2_048).contains(&short.next()));
        }
        assert_eq!(short.take(INTERVAL - 1), None);
        let folded = short.take(1_000_000_000).unwrap();
        assert_eq!((folded.calls, folded.since), (calls, 0));
        assert_eq!(folded.hot[..2], [(1, 600_000), (2, 300_000)]);
        assert_eq!(short.take(u64::MAX), None);
    }
}
