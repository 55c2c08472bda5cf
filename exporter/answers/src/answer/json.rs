//! The answer as JSON: the key `answer` of a report and of a dump. `docs/report-schema.json` is made from these types.

use serde::Serialize;
use serde_json::Value;

use super::stack::MAX_STACK_FRAMES;
use super::{Answer, Conclusion, Evidence, HungThread, Mostly, Owner, Site, StackLine};

/// Maximum number of facts listed.
const MAX_LISTED: usize = 512;

/// The answer: what hung, why, where, and what to do.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Answer"))]
pub struct AnswerJson<'a> {
    /// The first line of the page: the verdict in words.
    headline: String,
    /// The verdict on main. A minor version may add words.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["anr", "hang", "recovered", "other-process", "no-hang"])))]
    verdict: Conclusion,
    /// The package or program name of the process.
    process: Option<&'a str>,
    /// The process id.
    pid: Option<u32>,
    /// The thread that hung.
    thread: &'a HungThread,
    /// The time at which the hang began, CLOCK_BOOTTIME; null without one, and in a dump.
    since_ns: Option<u64>,
    /// The known length of the hang.
    duration_ns: Option<u64>,
    /// True if the hang ended.
    ended: Option<bool>,
    /// True if it began before `since_ns`, because older events were overwritten.
    at_least: Option<bool>,
    /// Main's unit.
    message: Option<&'a str>,
    /// The reason of the hang, with its confidence.
    cause: AnsweredCause,
    /// The first item of the evidence.
    finding: &'a str,
    /// The frame of the app that a developer would change.
    root: Option<&'a Site>,
    /// The method in which the root's time is, if it is busy with many calls and one method stands out.
    mostly: Option<&'a Mostly>,
    /// The method around a root that makes exceptions, which goes on after each of them.
    around: Option<&'a Site>,
    /// The heaviest stack of that thread, innermost first.
    stack: &'a [StackLine],
    /// The number of samples behind the stack; 0 if it is not from samples.
    samples: u64,
    /// The chain of owners: the lock's owner, the owner of the lock that this thread waits for, and so on.
    owners: &'a [Owner],
    /// The threads of a deadlock, first the one that hung if it is among them; empty without a deadlock.
    cycle: &'a [String],
    /// The facts that support the cause.
    evidence: &'a [Evidence],
    /// In words, the facts that a dump cannot show, if it is all that is known of a hang: where a recording may say more, or
    /// something else.
    not_shown: Option<&'a str>,
    /// Ids of other causes that the facts allow.
    also: Vec<&'static str>,
    /// Advice, in one sentence.
    next: String,
}

/// The cause of a hang.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AnsweredCause {
    /// The cause, by a word of docs/causes.md. A minor version may add words.
    id: &'static str,
    /// The cause in words.
    name: &'static str,
    /// The group of causes. A minor version may add words.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = super::CauseKind::ALL.map(super::CauseKind::word))))]
    kind: &'static str,
    /// The certainty of the cause, as a word.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["low", "medium", "high"])))]
    confidence: &'static str,
    /// The condition of the row of the table in docs/causes.md.
    rule: &'static str,
}

impl Answer {
    /// The answer as JSON, under the headline of a dump's page.
    #[must_use]
    pub fn to_json(&self) -> Value {
        // Keys are texts, and every number has a JSON form.
        serde_json::to_value(AnswerJson::new(self, self.headline())).unwrap_or_default()
    }
}

impl<'a> AnswerJson<'a> {
    /// Returns the answer in the form of JSON, under the headline of its page.
    pub fn new(answer: &'a Answer, headline: String) -> Self {
        let cause = &answer.cause;
        Self {
            headline,
            verdict: answer.conclusion,
            process: answer.process.as_deref(),
            pid: answer.pid,
            thread: &answer.thread,
            since_ns: answer.span.map(|span| span.since),
            duration_ns: answer.span.map(|span| span.duration),
            ended: answer.span.map(|span| span.ended),
            at_least: answer.span.map(|span| span.at_least),
            message: answer.message.as_deref(),
            cause: AnsweredCause {
                id: cause.id.word(),
                name: cause.id.name(),
                kind: cause.kind.word(),
                confidence: cause.confidence.word(),
                rule: cause.rule,
            },
            finding: answer.finding(),
            root: answer.root.as_ref(),
            mostly: answer.mostly.as_ref(),
            around: answer.around.as_ref(),
            stack: &answer.stack[..answer.stack.len().min(MAX_STACK_FRAMES)],
            samples: answer.samples,
            owners: &answer.owners,
            cycle: &answer.cycle,
            evidence: &cause.evidence[..cause.evidence.len().min(MAX_LISTED)],
            not_shown: answer.not_shown.as_deref(),
            also: cause.also.iter().map(|id| id.word()).collect(),
            next: answer.advice(),
        }
    }
}
