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
    fn add_assign(&mut self, other: Self) {
        self.methods += other.methods;
        self.traced += other.traced;
        self.ignored += other.ignored;
        self.short += other.short;
        self.blocked += other.blocked;
        self.excluded += other.excluded;
        self.without_code += other.without_code;
    }
}
