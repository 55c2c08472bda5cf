//! Counts of the methods of a class, or of all classes.

use core::ops::AddAssign;

use crate::class_facts::{ClassFacts, Verdict};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) methods: usize,
    /// Methods that have an id.
    pub(crate) traced: usize,
    pub(crate) ignored: usize,
    /// The number of those that are too short.
    pub(crate) short: usize,
    pub(crate) blocked: usize,
    pub(crate) excluded: usize,
    pub(crate) without_code: usize,
}

impl Tally {
    /// Returns all counts, in the order of the cache.
    pub(crate) fn counts(&mut self) -> [&mut usize; 7] {
        let Self { methods, traced, ignored, short, blocked, excluded, without_code } = self;
        [methods, traced, ignored, short, blocked, excluded, without_code]
    }

    /// Counts the methods of a class that have these ids.
    pub(crate) fn count(class: &ClassFacts, ids: &[u32]) -> Self {
        let mut tally = Self {
            methods: class.methods.len(),
            traced: ids.iter().filter(|&&id| id != 0).count(),
            ..Self::default()
        };
        for method in &class.methods {
            match method.verdict {
                Verdict::Trace | Verdict::Skip(_) => {}
                Verdict::Ignore => tally.ignored += 1,
                Verdict::Short => {
                    tally.ignored += 1;
                    tally.short += 1;
                }
                Verdict::Block => tally.blocked += 1,
                Verdict::Exclude => tally.excluded += 1,
                Verdict::NoCode => tally.without_code += 1,
            }
        }
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, mut other: Self) {
        for (sum, count) in self.counts().into_iter().zip(other.counts()) {
            *sum += *count;
        }
    }
}
