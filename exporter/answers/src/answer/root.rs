//! The root of a hang: the frame in the app's own code to change.

use super::exceptions::loop_around;
use super::id::CauseId;
use super::kind::CauseKind;
use super::observed::Observed;
use super::stack::{self, Site};
use super::wait_cause::wait_cause;

/// True if a method's name is only its number, for lack of a method map: `method 43`.
#[must_use]
pub fn is_method_number(name: &str) -> bool {
    name.strip_prefix("method ").is_some_and(|id| id.bytes().all(|b| b.is_ascii_digit()))
}

/// The root for a cause. A name is preferred to a method's number, which differs between builds.
pub(super) fn of(facts: &Observed, cause: CauseId) -> Option<Site> {
    if let Some(decided) = by_cause(facts, cause) {
        return decided;
    }
    if let Some(site) = facts.native_root(cause) {
        return Some(site.clone());
    }
    // In native code, the stack frame that enters it is more specific than the recorded caller.
    if cause.kind() == CauseKind::NativeStretch
        && let Some(site) =
            facts.dumped().filter(|_| facts.sampled.samples == 0).and_then(|d| stack::root(&d.stack))
    {
        return Some(site);
    }
    // The task that waits for another one of its pool.
    let found = facts.dumped().and_then(|dumped| dumped.why.as_ref()?.found.as_ref());
    if let Some(site) = found.filter(|found| found.cause == cause).and_then(|found| found.root.clone()) {
        return Some(site);
    }
    if cause.kind() == CauseKind::BusyMethod
        && let Some(computes) = facts.dumped().and_then(|dumped| dumped.computes.as_ref())
    {
        return Some(busy(facts, &computes.site));
    }
    // Of many waits the method that was in them, not the one that called it again and again.
    let waits = facts.waits.iter().filter(|sum| sum.count > 1 && wait_cause(facts, sum) == cause);
    if let Some(method) = waits.max_by_key(|sum| sum.total).and_then(|sum| sum.method.as_deref()) {
        return Some(placed(facts, method));
    }
    let (recorded, numbered) = match facts.method.as_ref().map(|(name, _)| name.as_str()) {
        Some(name) if is_method_number(name) => (None, Some(name)),
        recorded => (recorded, None),
    };
    let sampled = facts.sampled.own.as_ref().map(|(name, _)| name.as_str());
    let dumped = || facts.dumped().and_then(|dump| stack::root(&dump.stack));
    // One wait is in one place, which a dump shows also where the method is not traced.
    if let (Some(recorded), Some(dumped)) = (recorded, facts.dumped().filter(|_| cause.kind().is_wait()))
        && facts.waits.iter().all(|sum| sum.count == 1)
        && dumped.stack.iter().any(|line| line.site.name == recorded)
        && let Some(site) = stack::root(&dumped.stack)
    {
        return Some(site);
    }
    if let Some(name) = recorded.or(sampled) {
        return Some(placed(facts, name));
    }
    let seen = || stack::root(&facts.recorded).filter(|site| !is_method_number(&site.name));
    let native = || facts.native.as_ref().and_then(|native| stack::root(&native.heaviest));
    dumped().or_else(seen).or_else(native).or_else(|| numbered.map(Site::named))
}

/// The root, or that there is none, where the cause alone decides it.
fn by_cause(facts: &Observed, cause: CauseId) -> Option<Option<Site>> {
    let before = || facts.before.kinds.first().map(|kind| Site::named(&kind.name));
    match cause {
        CauseId::MessageStorm => Some(before()),
        CauseId::ExceptionStorm => Some(facts.exceptions().map(|(maker, ..)| placed(facts, &maker))),
        CauseId::Recovered if facts.method.is_none() => Some(before()),
        CauseId::OtherProcess | CauseId::DeadlockElsewhere => Some(None),
        CauseId::Frozen => Some(facts.message.as_deref().map(Site::named)),
        CauseId::Recovered => None,
        cause => cause.is_main_responsive().then_some(None),
    }
}

/// The method that samples share, also where the methods within the recorded one are not traced; or a recorded call that it
/// made, since older samples are of the time before.
fn busy(facts: &Observed, shared: &Site) -> Site {
    let depth = |name: &str| facts.recorded.iter().position(|line| line.site.name == name);
    let recorded = facts.method.as_ref().map(|(name, _)| name.as_str());
    let inner =
        recorded.filter(|name| depth(name).is_some_and(|at| depth(&shared.name).is_some_and(|of| at < of)));
    inner.map_or_else(|| shared.clone(), |name| placed(facts, name))
}

/// Around a root that makes exceptions: the method that goes on after each of them.
pub(super) fn around(facts: &Observed, cause: CauseId, root: &Site) -> Option<Site> {
    let dumped = facts.dumped().filter(|_| cause == CauseId::ExceptionStorm)?;
    loop_around(&dumped.samples, &root.name).map(|name| placed(facts, name))
}

/// Adds file and line from any stack that has them.
pub(super) fn placed(facts: &Observed, name: &str) -> Site {
    let dumped = facts.dumped().into_iter().flat_map(|dump| &dump.stack);
    let lines = facts.sampled.heaviest.iter().chain(dumped).chain(&facts.recorded);
    let known = lines.filter(|line| line.site.name == name).find(|line| line.site.file.is_some());
    known.map_or_else(|| Site::named(name), |line| line.site.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::dump_summary::{Computes, DumpSummary};
    use crate::answer::observed::SampleSummary;
    use crate::answer::stack::StackLine;

    #[test]
    fn a_root_is_a_name_if_there_is_one_and_else_the_methods_number() {
        let root = |method: &str, sampled: Option<&str>| {
            let own = sampled.map(|name| (name.to_owned(), 7));
            let sampled = SampleSummary { own, ..SampleSummary::default() };
            let facts = Observed { method: Some((method.to_owned(), 0)), sampled, ..Observed::default() };
            of(&facts, CauseId::BusyMethod).unwrap().name
        };
        assert_eq!(root("com.acme.Feed.parse", Some("com.acme.Feed.next")), "com.acme.Feed.parse");
        assert_eq!(root("method 43", Some("com.acme.Feed.next")), "com.acme.Feed.next");
        assert_eq!(root("method 43", None), "method 43");
        assert_eq!(root("method of.mine", Some("com.acme.Feed.next")), "method of.mine");
    }

    #[test]
    fn recorded_calls_within_the_method_that_samples_share_are_the_root() {
        let root = |shared: &str, method: &str| {
            let recorded = ["a.B.work", "a.B.busy", "a.B.main"];
            let recorded = recorded.map(|name| StackLine::recorded(name, None, 5)).to_vec();
            let computes = Some(Computes { site: Site::named(shared), ns: 4 });
            let dump = Some((0, DumpSummary { computes, ..DumpSummary::default() }));
            let method = Some((method.to_owned(), 5));
            let facts = Observed { method, recorded, dump, ..Observed::default() };
            of(&facts, CauseId::BusyMethod).unwrap().name
        };
        assert_eq!(root("a.B.main", "a.B.work"), "a.B.work");
        assert_eq!(root("a.B.work", "a.B.main"), "a.B.work");
        assert_eq!(root("a.B.untraced", "a.B.work"), "a.B.untraced");
    }
}
