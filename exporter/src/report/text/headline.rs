//! Writes the first line: what hung, for how long, and how it ended.

use answers::answer::{CauseId, Conclusion, Due, due_to_recorded};
use answers::text::clean;
use answers::words::rounded;
use trace_format::layout::State;

use super::super::{LongWait, MIN_ENDED_HANG, Report};

impl Report {
    /// The first line of the page: what hung, for how long, and how it ended.
    #[must_use]
    pub fn headline(&self) -> String {
        let answer = &self.answer;
        let process =
            if self.pid > 0 { format!("{} (pid {})", self.process, self.pid) } else { self.process.clone() };
        let thread = match answer.thread.main {
            true => "main thread".to_owned(),
            false => format!("thread \"{}\"", answer.thread.name),
        };
        let took = answer.span.map(|span| {
            format!("{}{}", if span.at_least { "at least " } else { "" }, rounded(span.duration))
        });
        match (answer.conclusion, took) {
            (Conclusion::NoHang, _) => match self.long_pause() {
                Some((what, did, ns)) => {
                    format!("Long {what} in {process}: {thread} {did} for {}, then it continued", rounded(ns))
                }
                None => format!("No hang in {process}: {} recorded{}", self.recorded(rounded), self.closed()),
            },
            (Conclusion::OtherProcess, None) => {
                format!("No ANR of {process}: the system asked because of another process")
            }
            (Conclusion::OtherProcess, Some(took)) => format!(
                "No ANR of {process}: the system asked because of another process; {thread} was busy for {took}"
            ),
            (Conclusion::Recovered, None) => {
                format!("ANR in {process}: {thread} was not blocked when the system asked")
            }
            (Conclusion::Recovered, Some(took)) => {
                format!("ANR in {process}: {thread} blocked for {took}, and no longer when the system asked")
            }
            (Conclusion::Anr, None) if answer.cause.id == CauseId::MessageStorm => {
                format!("ANR in {process}: {thread} busy with many short messages")
            }
            (Conclusion::Anr, None) if self.open.is_some() => {
                format!("ANR in {process}: {thread} was busy when the system asked, and not for long")
            }
            (Conclusion::Anr, None) if answer.cause.id.is_main_responsive() => {
                format!("ANR in {process}: {thread} was not blocked when the system asked")
            }
            (Conclusion::Anr, None) => format!("ANR in {process}: {thread} was in no long message"),
            (Conclusion::Hang, None) if !answer.cycle.is_empty() => {
                format!("Deadlock in {process}: {thread} never came back")
            }
            (Conclusion::Hang, None) => format!("Hang in {process}: {thread} blocked"),
            (conclusion, Some(took)) => {
                let what = if conclusion == Conclusion::Anr { "ANR" } else { "Hang" };
                format!("{what} in {process}: {thread} blocked for {took}{}", self.then())
            }
        }
    }

    /// The longest wait or call of main that would be a hang in a message: its kind, what main did, and for how long, ns. Outside of
    /// messages no rule says how long it may take, so the page calls it neither a hang nor none.
    fn long_pause(&self) -> Option<(&'static str, String, u64)> {
        // A sleep, or a wait for work, may take as long as it likes.
        let is_owed = |wait: &&LongWait| due_to_recorded(wait.waited()) != Due::Nothing;
        let wait = self.waits.iter().find(is_owed).filter(|wait| wait.duration >= MIN_ENDED_HANG);
        let wait = wait.map(|wait| ("wait", "waited".to_owned(), wait.duration));
        let call = self.long_call.as_ref();
        let call = call.map(|call| ("call", format!("was in {}", clean(&call.name)), call.duration));
        wait.into_iter().chain(call).max_by_key(|(_, _, duration)| *duration)
    }

    /// What followed the hang.
    fn then(&self) -> &'static str {
        match self.state {
            _ if self.answer.span.is_some_and(|span| span.ended) => ", then it continued",
            Some(State::Open) => "; the process was then killed, or still runs",
            Some(State::Ended) => "; the process then ended",
            Some(State::Disarmed) => "; the recorder then switched itself off",
            None => "",
        }
    }

    /// The recorded part of main's time, `12.4 s of main's 14.0 s`, or `14.0 s`; `time` puts a time into words.
    pub(super) fn recorded(&self, time: fn(u64) -> String) -> String {
        match self.partial_main() {
            Some(main) => format!("{} of main's {}", time(main.recorded), time(main.lived())),
            None => time(self.end.saturating_sub(self.first)),
        }
    }

    /// Says in words how the recording ended.
    pub(super) fn ended(&self) -> &'static str {
        match self.state {
            Some(State::Open) => "the process was killed, crashed, or is still running",
            Some(State::Ended) => "the process ended normally",
            Some(State::Disarmed) => "the recorder switched itself off",
            None => "how the recording ended is unknown to this version",
        }
    }

    /// Says how a recording without a hang ended, unless it is open.
    fn closed(&self) -> String {
        if self.state == Some(State::Open) { String::new() } else { format!("; {}", self.ended()) }
    }
}
