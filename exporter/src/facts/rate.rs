//! The rate of events over time.

/// Maximum number of windows. A longer recording has wider ones.
const MAX_WINDOWS: usize = 4096;
/// Initial width of a window, ns.
const WINDOW_WIDTH: u64 = 100_000_000;

/// Counts per window of equal width, in constant memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rate {
    begin: u64,
    /// Width of a window, ns.
    width: u64,
    /// End of the current window.
    until: u64,
    /// Number of events in the current window.
    current: u64,
    /// Number of events of each completed window.
    counts: Vec<u64>,
}

impl Default for Rate {
    fn default() -> Self {
        Self { begin: 0, width: WINDOW_WIDTH, until: 0, current: 0, counts: Vec::new() }
    }
}

impl Rate {
    /// Counts an event at `time`, which must not run back.
    #[inline]
    pub(crate) fn add(&mut self, time: u64) {
        if time >= self.until {
            self.open(time);
        }
        self.current += 1;
    }

    #[cold]
    #[inline(never)]
    fn open(&mut self, time: u64) {
        match self.counts.last_mut() {
            Some(count) => *count += std::mem::take(&mut self.current),
            None => self.begin = time,
        }
        let mut index = (time - self.begin) / self.width;
        while index >= MAX_WINDOWS as u64 {
            let pairs = self.counts.chunks(2).map(|pair| pair.iter().sum());
            self.counts = pairs.collect();
            self.width *= 2;
            index /= 2;
        }
        self.counts.resize(index as usize + 1, 0);
        self.until = self.begin.saturating_add((index + 1).saturating_mul(self.width));
    }

    /// Width of a window, ns.
    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// The start of each window and its number of events.
    pub(crate) fn windows(&self) -> impl Iterator<Item = (u64, u64)> {
        let in_hand = self.counts.len().saturating_sub(1);
        self.counts.iter().enumerate().map(move |(i, count)| {
            let current = if i == in_hand { self.current } else { 0 };
            (self.begin + i as u64 * self.width, *count + current)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_windows_count_too() {
        let mut rate = Rate::default();
        for ms in [1_000, 1_050, 1_099, 1_100, 1_350] {
            rate.add(ms * 1_000_000);
        }
        let windows: Vec<_> = rate.windows().map(|(begin, n)| (begin / 1_000_000, n)).collect();
        assert_eq!(windows, [(1_000, 3), (1_100, 1), (1_200, 0), (1_300, 1)]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_windows_stay_few(gaps in prop::collection::vec(
            prop_oneof![0..WINDOW_WIDTH, 0..1_000_000 * WINDOW_WIDTH, any::<u64>()], 0..200,
        )) {
            let (mut rate, mut now) = (Rate::default(), 0_u64);
            for gap in &gaps {
                now = now.saturating_add(*gap);
                rate.add(now);
            }
            prop_assert_eq!(rate.windows().map(|(_, n)| n).sum::<u64>(), gaps.len() as u64);
            prop_assert!(rate.windows().count() <= MAX_WINDOWS);
        }
    }
}
