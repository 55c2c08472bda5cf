//! A cause with its evidence.

use serde::Serialize;
use trace_format::verdict::Confidence;

use super::id::CauseId;
use super::kind::CauseKind;
use super::observed::Observed;
use super::rules::{RULES, exceptions_beside};
use super::system_rules;
use crate::dump::AnrKind;

/// Maximum number of alternative causes listed.
const MAX_ALTERNATIVES: usize = 3;

/// A fact that supports a cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Fact"))]
pub struct Evidence {
    /// The time of the fact, if it is about a moment.
    #[serde(rename = "at_ns")]
    pub at: Option<u64>,
    /// The fact in words.
    pub text: String,
}

impl Evidence {
    pub(super) fn new(at: u64, text: String) -> Self {
        Self { at: (at > 0).then_some(at), text }
    }
}

/// A cause with its evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Cause {
    /// The cause's id.
    pub id: CauseId,
    /// The group of the cause.
    pub kind: CauseKind,
    /// The confidence.
    pub confidence: Confidence,
    /// The condition of the rule that fired.
    pub rule: &'static str,
    /// The supporting facts; the first one is the main finding.
    pub evidence: Vec<Evidence>,
    /// The method, call or message by which reports of the same cause are grouped.
    pub root: Option<String>,
    /// Other causes that the facts allow.
    pub also: Vec<CauseId>,
    /// Advice: what to do next.
    pub next: &'static str,
    /// The component that the system waited for, if it said so.
    pub component: Option<AnrKind>,
}

impl Cause {
    /// Evaluates the rules.
    pub(crate) fn of(facts: &Observed) -> Self {
        let rows = RULES.iter().flat_map(|rule| rule.causes.iter().map(move |cause| (rule, *cause)));
        let mut held = rows.filter_map(|(rule, cause)| Some((rule, cause, (rule.holds)(facts, cause)?)));
        let (id, confidence, rule, evidence) = match held.next() {
            // That a thread of a JVM waits for what is not owed to it does not say that it hangs.
            Some((rule, cause, evidence)) if facts.is_idle_in_a_dump() => {
                (cause, Confidence::Low, rule.when, evidence)
            }
            Some((rule, cause, evidence)) => (cause, rule.confidence, rule.when, evidence),
            None => (CauseId::Unknown, Confidence::Low, "nothing says why", facts.missing_evidence()),
        };
        let mut also: Vec<CauseId> = held.map(|(_, other, _)| other).filter(|other| *other != id).collect();
        also.dedup();
        also.truncate(MAX_ALTERNATIVES);
        Self {
            id,
            kind: id.kind(),
            confidence,
            rule,
            evidence: evidence
                .into_iter()
                .chain(exceptions_beside(facts, id))
                .chain(system_rules::collections(facts, id))
                .chain(facts.system_request())
                .collect(),
            root: super::root::of(facts, id).map(|site| site.name).or_else(|| facts.message.clone()),
            also,
            next: if facts.on_jvm { id.next_on_jvm() } else { id.next() },
            component: facts.component(),
        }
    }
}
