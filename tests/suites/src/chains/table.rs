//! Counts outcomes by family.

use crate::chains::judge::{Judged, Outcome};
use crate::chains::label::Program;

/// How many of some programs had each outcome.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub programs: usize,
    pub named: usize,
    /// Incomplete although the recording has it.
    pub short: usize,
    /// Incomplete where the recording does not have it.
    pub allowed: usize,
    pub wrong: usize,
}

impl Counts {
    fn add(&mut self, program: &Program, judged: &Judged) {
        self.programs += 1;
        *match judged.outcome {
            Outcome::Named => &mut self.named,
            Outcome::Short if program.label.may_be_silent => &mut self.allowed,
            Outcome::Short => &mut self.short,
            Outcome::Wrong => &mut self.wrong,
        } += 1;
    }

    /// Percent of the programs of which the recording has everything that are named.
    pub(crate) fn percent(self) -> f64 {
        let of = self.programs - self.allowed;
        if of == 0 { 100.0 } else { self.named as f64 * 100.0 / of as f64 }
    }
}

/// The counts of all.
pub(crate) fn counts(results: &[(&Program, Judged)]) -> Counts {
    let mut all = Counts::default();
    for (program, judged) in results {
        all.add(program, judged);
    }
    all
}

/// A row for each family, and one for all.
pub(crate) fn table(results: &[(&Program, Judged)]) -> String {
    let mut text = format!(
        "{:<22} {:>8} {:>6} {:>6} {:>7} {:>6}\n",
        "family", "programs", "named", "short", "silent", "wrong"
    );
    let mut row = |name: &str, counts: Counts| {
        text += &format!(
            "{name:<22} {:>8} {:>6} {:>6} {:>7} {:>6}\n",
            counts.programs, counts.named, counts.short, counts.allowed, counts.wrong
        );
    };
    let mut families: Vec<&str> = results.iter().map(|(program, _)| program.family).collect();
    families.dedup();
    for family in families {
        let of: Vec<_> = results.iter().filter(|(program, _)| program.family == family).cloned().collect();
        row(family, counts(&of));
    }
    row("all", counts(results));
    text
}
