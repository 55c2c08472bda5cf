//! Why main did not come back: rules in a table, on facts that the recording holds.
//!
//! [`Facts`] gathers what is known, [`table::RULES`] says which of it means what, in the order in which the rows are asked;
//! the first that holds is the cause, and further ones are told as *also possible*. A row never concludes from what is
//! missing: where nothing is known, the cause is unknown.

mod dumped;
mod facts;
mod kind;
mod table;

pub use facts::{Evidence, Facts};
pub use kind::CauseKind;
pub use table::{RULES, Rule};

use trace_format::verdict::Confidence;

use crate::dump::AnrKind;

const OTHERS_WAITED_FOR: &str =
    "what the system waited for (a service, a broadcast, a window), and what the other threads did meanwhile";

/// A cause, and why one says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    /// Which.
    pub kind: CauseKind,
    /// How sure.
    pub confidence: Confidence,
    /// The row of the table, in its words.
    pub rule: &'static str,
    /// The facts.
    pub evidence: Vec<Evidence>,
    /// The method, call or message that reports of the same cause are grouped by.
    pub root: Option<String>,
    /// What else the facts allow.
    pub also: Vec<CauseKind>,
    /// What to look at next.
    pub next: &'static str,
    /// What the system waited for, where it said so.
    pub component: Option<AnrKind>,
    /// What main waited for, as the dump tells it: for where no wait was recorded.
    pub waiting: Option<String>,
}

impl Cause {
    /// The cause that the table finds.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let mut held = RULES.iter().filter_map(|rule| Some((rule, (rule.holds)(facts)?)));
        let Some((rule, evidence)) = held.next() else { return Self::unknown(facts) };
        let mut also: Vec<CauseKind> =
            held.map(|(other, _)| other.cause).filter(|cause| *cause != rule.cause).collect();
        also.dedup();
        also.truncate(3);
        Self {
            kind: rule.cause,
            confidence: rule.confidence,
            rule: rule.when,
            evidence: evidence.into_iter().chain(facts.asked_for()).collect(),
            root: facts.root(rule.cause),
            also,
            next: rule.cause.next(),
            component: facts.component(),
            waiting: facts.dumped_wait().filter(|_| rule.cause == CauseKind::LockWait),
        }
    }

    fn unknown(facts: &Facts) -> Self {
        Self {
            kind: CauseKind::Unknown,
            confidence: Confidence::Low,
            rule: "nothing that was recorded says why",
            evidence: facts.what_is_missing().into_iter().chain(facts.asked_for()).collect(),
            root: facts.root(CauseKind::Unknown),
            also: Vec::new(),
            // An idle main is no riddle about main: a service, a broadcast or a window was waited for.
            next: if facts.main_was_idle() { OTHERS_WAITED_FOR } else { CauseKind::Unknown.next() },
            component: facts.component(),
            waiting: None,
        }
    }
}
