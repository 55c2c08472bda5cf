//! The method that a busy method is mostly in: a loop or a recursion is one call, and its time is in the many that it makes.
//!
//! For example, `Video.transcode` calls 80 stages again and again. The call that lasts is the one of `transcode`, the root, but a
//! third of its time is in `stage_39`, which is where a change helps.

use std::collections::HashMap;

use serde::Serialize;

use super::activity::parts;
use super::id::CauseId;
use super::observed::{CalleeSummary, LEAST_SAMPLES, Observed};
use super::own::is_own;
use super::root;
use super::stack::Site;
use crate::dump::SampledStack;
use crate::words::{percent, rounded, times};

/// A method is named from this part of the time on: a quarter.
const PART: u64 = 4;

/// The method of the program's in which the root's time is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mostly {
    /// The method.
    #[serde(flatten)]
    pub site: Site,
    /// The share of the recorded part of the hang, or of the samples, in percent.
    pub percent: u64,
    /// The same in words, such as `4 of 5 samples`.
    pub share: String,
}

/// The method in which the time of the root is, if one stands out.
pub(super) fn of(facts: &Observed, cause: CauseId, root: &Site) -> Option<Mostly> {
    if !matches!(cause, CauseId::BusyMethod | CauseId::Gc) {
        return None;
    }
    let is_recorded = facts.method.as_ref().is_some_and(|(name, _)| *name == root.name);
    let callee = facts.callee.as_ref().filter(|callee| is_recorded && callee.total >= callee.of / PART);
    if let Some(CalleeSummary { name, calls, total, of }) = callee.filter(|callee| callee.of > 0) {
        let share = format!("{} in {}", rounded(*total), times(*calls, "recorded call"));
        return Some(Mostly { site: root::placed(facts, name), percent: percent(*total, *of), share });
    }
    let samples = &facts.dumped()?.samples;
    let all = samples.iter().map(|sample| sample.count).sum();
    let (name, count) = leaf(samples, &root.name).filter(|_| all >= LEAST_SAMPLES)?;
    let share = format!("{count} of {all} samples");
    Some(Mostly { site: root::placed(facts, name), percent: percent(count, all), share })
}

/// The method of the program's within the root that at least half of the samples have, of several the innermost; else the one of
/// most samples, if it is in two of them and a quarter, and no other is in as many.
fn leaf<'s>(samples: &'s [SampledStack], root: &str) -> Option<(&'s str, u64)> {
    // The samples that have a method, and its depth in all of them together.
    let mut found: HashMap<&str, (u64, u64)> = HashMap::new();
    for sample in samples {
        let within = sample.methods.iter().take_while(|name| *name != root);
        for (depth, name) in (0..).zip(within) {
            let is_first = !sample.methods[..depth as usize].contains(name);
            if is_first && is_own(parts(name).0) {
                let (count, depths) = found.entry(name).or_default();
                *count = count.saturating_add(sample.count);
                *depths = depths.saturating_add(sample.count.saturating_mul(depth));
            }
        }
    }
    let all = samples.iter().fold(0_u64, |sum, sample| sum.saturating_add(sample.count));
    let halves = found.iter().filter(|(_, (count, _))| *count >= all.div_ceil(2));
    // The mean depth, in thousandths of a frame.
    let depth = |(count, depths): &(u64, u64)| depths.saturating_mul(1000) / (*count).max(1);
    if let Some((name, (count, _))) = halves.min_by_key(|(name, seen)| (depth(seen), **name)) {
        return Some((name, *count));
    }
    let most = found.iter().max_by_key(|(_, (count, _))| *count);
    let (name, (count, _)) = most.filter(|(_, (count, _))| *count > 1 && *count >= all.div_ceil(PART))?;
    let is_alone = found.values().filter(|(other, _)| other == count).count() == 1;
    is_alone.then_some((*name, *count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_the_innermost_methods_of_half_of_the_samples() {
        // Methods of `a.B` in one line each, innermost first; a dot stands for the JDK's.
        let leaf_of = |texts: &[(u64, &str)]| {
            let name = |name: &str| match name {
                "." => "java.lang.Math.sin".to_owned(),
                own => format!("a.B.{own}"),
            };
            let stack = |(count, text): &(u64, &str)| SampledStack {
                count: *count,
                methods: text.split(' ').map(name).collect(),
            };
            let samples: Vec<SampledStack> = texts.iter().map(stack).collect();
            leaf(&samples, "a.B.root").map(|(name, count)| format!("{name} {count}"))
        };
        let named = |leaf: &str| Some(format!("a.B.{leaf}"));
        assert_eq!(leaf_of(&[(3, ". parse row root"), (1, "row root"), (1, "root")]), named("parse 3"));
        assert_eq!(leaf_of(&[(2, "row root"), (2, "trim row root"), (1, "root")]), named("row 4"));
        assert_eq!(leaf_of(&[(2, "a root"), (1, "b root"), (1, "c root"), (1, "root")]), named("a 2"));
        assert_eq!(leaf_of(&[(2, "a root"), (2, "b root"), (1, "root")]), None, "no method stands out");
        assert_eq!(leaf_of(&[(1, "a root"), (4, "root")]), None, "one sample");
        assert_eq!(leaf_of(&[(5, ". root")]), None, "the loop itself");
        assert_eq!(leaf_of(&[(5, "root outer")]), None, "what called the root");
    }

    #[test]
    fn recorded_callees_are_named_with_their_share_of_the_time() {
        let callee = |total| CalleeSummary { name: "a.B.row".into(), calls: 50, total, of: 6_000_000_000 };
        let root = Site::named("a.B.rows");
        let mostly = |total, method: &str| {
            let method = Some((method.to_owned(), 1));
            let facts = Observed { method, callee: Some(callee(total)), ..Observed::default() };
            of(&facts, CauseId::BusyMethod, &root)
                .map(|mostly| (mostly.site.name, mostly.percent, mostly.share))
        };
        let expected = Some(("a.B.row".to_owned(), 75, "4.5 s in 50 recorded calls".to_owned()));
        assert_eq!(mostly(4_500_000_000, "a.B.rows"), expected);
        assert_eq!(mostly(1_400_000_000, "a.B.rows"), None, "less than a quarter");
        assert_eq!(mostly(4_500_000_000, "a.B.main"), None, "another method's callee");
    }
}
