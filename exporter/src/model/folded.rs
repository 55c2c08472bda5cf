//! Counts of calls that were too short to leave a slice, by method.

use trace_format::event::Folded;

/// Maximum number of methods distinguished in one sum.
const MAX_METHODS: usize = 64;

/// A sum of short calls.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct ShortCalls {
    /// Approximate number of calls.
    pub(crate) calls: u64,
    /// Approximate number by method.
    by_method: Vec<(u32, u64)>,
}

impl ShortCalls {
    /// Adds the counts of an event.
    pub(crate) fn add(&mut self, folded: &Folded) {
        self.add_part(folded, 1, 1);
    }

    /// Adds the fraction `part`/`whole` of an event's counts.
    pub(crate) fn add_part(&mut self, folded: &Folded, part: u64, whole: u64) {
        let of = |n: u64, part: u64, whole: u64| {
            u64::try_from(u128::from(n) * u128::from(part) / u128::from(whole.max(1))).unwrap_or(u64::MAX)
        };
        let calls = of(folded.calls, part, whole);
        self.calls = self.calls.saturating_add(calls);
        for (id, share) in folded.hot.iter().take_while(|(id, _)| *id > 0) {
            let calls = of(calls, (*share).into(), 1_000_000).min(calls);
            let room = self.by_method.len() < MAX_METHODS;
            match self.by_method.iter_mut().find(|(known, _)| known == id) {
                Some((_, sum)) => *sum = sum.saturating_add(calls),
                None if room => self.by_method.push((*id, calls)),
                None => {}
            }
        }
    }

    /// The most frequent methods with their share in percent, if it is at least 1 %.
    pub(crate) fn hot(&self) -> impl Iterator<Item = (u32, u64)> {
        let percent = |calls: u64| (u128::from(calls) * 100 / u128::from(self.calls.max(1))) as u64;
        let mut hot: Vec<_> =
            self.by_method.iter().map(|(id, calls)| (*id, percent(*calls).min(100))).collect();
        hot.retain(|(_, percent)| *percent > 0);
        hot.sort_by_key(|(id, percent)| (std::cmp::Reverse(*percent), *id));
        hot.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_part_of_a_stretch_has_its_part_of_the_calls() {
        let folded = Folded { calls: 1_000, since: 0, hot: [(7, 900_000), (9, 90_000), (3, 1_000), (0, 0)] };
        let mut sum = ShortCalls::default();
        sum.add(&folded);
        sum.add_part(&folded, 1, 4);
        assert_eq!(sum.calls, 1_250);
        assert_eq!(sum.hot().collect::<Vec<_>>(), [(7, 90), (9, 8)]);
    }

    proptest! {
        #[test]
        fn any_figures_give_shares_of_a_whole(
            all in prop::collection::vec((any::<u64>(), any::<[(u32, u32); 4]>(), any::<u64>(), any::<u64>()), 0..40),
        ) {
            let mut sum = ShortCalls::default();
            for (calls, hot, part, whole) in all {
                sum.add_part(&Folded { calls, since: 0, hot }, part, whole);
            }
            prop_assert!(sum.hot().all(|(_, percent)| (1..=100).contains(&percent)));
            prop_assert!(sum.by_method.len() <= MAX_METHODS);
        }
    }
}
