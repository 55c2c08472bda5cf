//! The parts of the page around the hang: why, what ran before, starts, and the five answers.

use std::fmt::{self, Formatter};

use trace_format::event::WaitKind;

use super::findings::Report;
use super::moments::moment;
use super::waits::doing;
use crate::answer::Cause;
use crate::facts::Before;
use crate::facts::confidence_name;
use crate::text::clean;
use crate::words::{seconds, times};

/// Facts of a cause, kinds of messages and starts that are listed.
const LISTED: usize = 5;

/// What everybody asks of a hang, answered in a line each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answers {
    /// What hung: the method or wait that main was in.
    pub what: String,
    /// How long, and whether it ended.
    pub how_long: String,
    /// Under which message.
    pub message: String,
    /// Who held what main waited for.
    pub holder: String,
    /// What to look at next.
    pub next: String,
}

impl Answers {
    /// The five, with their questions.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, &str); 5] {
        [
            ("what hung", &self.what),
            ("how long", &self.how_long),
            ("under which message", &self.message),
            ("who held what", &self.holder),
            ("what to look at next", &self.next),
        ]
    }
}

impl Report {
    /// The five answers; without a hang or a cause there are none.
    #[must_use]
    pub fn answers(&self) -> Option<Answers> {
        let next = self.cause.as_ref().map_or("", |cause| cause.next).to_owned();
        let Some(hang) = &self.hang else {
            let cause = self.cause.as_ref()?;
            return Some(Answers {
                what: match self.open.as_ref().filter(|_| !self.anrs.is_empty()) {
                    Some(open) => {
                        format!("main was in {} when the system asked, and not for long", open.name)
                    }
                    None => format!("main did not hang in one message: {}", cause.kind.name()),
                },
                how_long: format!(
                    "the messages of {} took {}",
                    seconds(self.before.to - self.before.from),
                    seconds(self.before.busy)
                ),
                message: self.before.kinds.first().map_or("none", |kind| &kind.name).to_owned(),
                holder: "main waited for nobody".to_owned(),
                next,
            });
        };
        let root = self.cause.as_ref().and_then(|cause| cause.root.clone());
        let what = hang
            .main_method()
            .map(|m| m.name.clone())
            .or(root)
            .unwrap_or_else(|| "no recorded method".to_owned());
        let holder = match &hang.wait {
            Some(wait) => {
                let class = wait.class.as_deref().unwrap_or("an object of unknown class");
                match (&wait.holder, wait.kind) {
                    (Some(holder), _) => {
                        format!(
                            "thread \"{}\" held the lock of {class}, and {}",
                            holder.name,
                            does(doing(holder))
                        )
                    }
                    (None, WaitKind::Monitor) => format!("somebody unknown held the lock of {class}"),
                    (None, WaitKind::Blocking) => format!("nobody: main was in {class}"),
                    (None, _) => format!("nobody known: main waited on {class}"),
                }
            }
            None => format!("main waited {}", self.unrecorded_wait()),
        };
        let ended = if hang.ended { "then it went on" } else { "to the last moment recorded" };
        Some(Answers {
            what,
            how_long: format!(
                "{}{}, {ended}",
                if hang.began_before() { "at least " } else { "" },
                seconds(hang.duration())
            ),
            message: match &hang.unit {
                Some(unit) if unit.message().is_none() => format!("none: main was in {}", unit.name),
                Some(unit) => unit.name.clone(),
                None => "not recorded".to_owned(),
            },
            holder,
            next,
        })
    }
}

impl Report {
    /// What main waited for, where no wait was recorded in the hang.
    pub(super) fn unrecorded_wait(&self) -> String {
        let cause = self.cause.as_ref();
        let owner = self.answer.owners.first();
        match owner.and_then(|owner| Some((owner.lock.as_ref()?, owner))) {
            Some((lock, owner)) => {
                format!(
                    "for the lock of {lock}, owned by \"{}\" in {} (says the dump)",
                    owner.thread,
                    owner.place()
                )
            }
            None if cause.is_some_and(|cause| cause.kind.is_wait()) => {
                "(for whom is not recorded: see the cause)".to_owned()
            }
            None => "for nobody that was recorded".to_owned(),
        }
    }
}

/// `which was in X` as a sentence's end.
fn does(doing: String) -> String {
    doing.strip_prefix("which ").map_or_else(|| doing.clone(), str::to_owned)
}

pub(super) fn write_cause(r: &Report, cause: &Cause, f: &mut Formatter<'_>) -> fmt::Result {
    let name = cause.kind.name();
    writeln!(f, "  cause       {name} ({}): {}", confidence_name(cause.confidence), cause.rule)?;
    for evidence in cause.evidence.iter().take(LISTED) {
        let at = evidence.at.map_or_else(String::new, |at| format!("{}: ", moment(r, at)));
        writeln!(f, "              {at}{}", clean(&evidence.text))?;
    }
    if !cause.also.is_empty() {
        let also: Vec<&str> = cause.also.iter().map(|kind| kind.name()).collect();
        writeln!(f, "              also possible: {}", also.join(", "))?;
    }
    writeln!(f, "  look at     {}", cause.next)
}

/// What ran in the seconds before.
pub(super) fn write_before(before: &Before, f: &mut Formatter<'_>) -> fmt::Result {
    if before.messages + before.not_queued == 0 {
        return Ok(());
    }
    let others = match before.not_queued {
        0 => String::new(),
        n => format!(" and {} in no message", times(n, "call")),
    };
    let share = u128::from(before.busy) * 100 / u128::from(before.to.saturating_sub(before.from).max(1));
    writeln!(
        f,
        "  {}{others} took {} together, {share} % of it",
        times(before.messages, "message"),
        seconds(before.busy)
    )?;
    for kind in before.kinds.iter().take(LISTED) {
        writeln!(
            f,
            "  {:>10}  {} of {}, the longest {}",
            seconds(kind.total),
            kind.count,
            kind.name,
            seconds(kind.longest)
        )?;
    }
    Ok(())
}

/// How the process and its pages started.
pub(super) fn write_starts(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    if r.starts.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nSTARTS")?;
    for start in r.starts.iter().take(LISTED * 2) {
        let took = |to: u64| seconds(to.saturating_sub(start.begin));
        let application = start.application_end.map(|at| format!("application {}, ", took(at)));
        let drawn = start.first_draw.map(|at| format!("first draw {}, ", took(at)));
        let activity =
            if start.activity.is_empty() { String::new() } else { format!("  {}", start.activity) };
        writeln!(
            f,
            "  {:>10}  at {}  {}{activity} ({}{}{})",
            seconds(start.duration()),
            moment(r, start.begin),
            start.kind.word(),
            application.unwrap_or_default(),
            drawn.unwrap_or_default(),
            start.grade.word()
        )?;
    }
    if let Some(more) = r.starts.len().checked_sub(LISTED * 2).filter(|n| *n > 0) {
        writeln!(f, "  and {more} more")?;
    }
    Ok(())
}
