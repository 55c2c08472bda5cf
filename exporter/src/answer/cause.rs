//! A cause with its evidence.

use trace_format::verdict::Confidence;

use super::id::CauseId;
use super::kind::CauseKind;
use super::observed::Observed;
use super::rules::RULES;
use crate::dump::AnrKind;

/// Other causes that are listed.
const ALSO: usize = 3;

/// A fact that speaks for a cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// When it was so, BOOTTIME ns, where it is of a moment.
    pub at: Option<u64>,
    /// In words.
    pub text: String,
}

impl Evidence {
    pub(super) fn new(at: u64, text: String) -> Self {
        Self { at: (at > 0).then_some(at), text }
    }
}

/// A cause, and what speaks for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    /// By name.
    pub id: CauseId,
    /// The group that it is in.
    pub kind: CauseKind,
    /// How sure.
    pub confidence: Confidence,
    /// The row of the table, in its words.
    pub rule: &'static str,
    /// The facts; the first one is the finding.
    pub evidence: Vec<Evidence>,
    /// The method, call or message that reports of the same cause are grouped by.
    pub root: Option<String>,
    /// What else the facts allow.
    pub also: Vec<CauseId>,
    /// What to do next.
    pub next: &'static str,
    /// What the system waited for, where it said so.
    pub component: Option<AnrKind>,
}

impl Cause {
    /// The cause that the table finds.
    pub(crate) fn of(facts: &Observed) -> Self {
        let mut held = RULES.iter().filter_map(|rule| Some((rule, (rule.holds)(facts, rule.cause)?)));
        let found = held.next();
        let also = |found: CauseId| {
            let mut also: Vec<CauseId> =
                held.map(|(other, _)| other.cause).filter(|id| *id != found).collect();
            also.dedup();
            also.truncate(ALSO);
            also
        };
        let (id, confidence, rule, evidence) = match found {
            Some((rule, evidence)) => (rule.cause, rule.confidence, rule.when, evidence),
            None => (CauseId::Unknown, Confidence::Low, "nothing says why", facts.what_is_missing()),
        };
        Self {
            id,
            kind: id.kind(),
            confidence,
            rule,
            evidence: evidence.into_iter().chain(facts.asked_for()).collect(),
            root: super::root::of(facts, id).map(|site| site.name),
            also: also(id),
            next: id.next(),
            component: facts.component(),
        }
    }
}
