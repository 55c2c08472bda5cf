//! The answer in the trace: arguments of the ANR and of the hung message, a track for the hang of a JVM, and lines of the log.

use answers::answer::{Answer, Conclusion};
use answers::text::clean;

use super::sink::{Arg, Level, Sink, TallySink, Track, Value};
use super::tasks::ChainLink;
use crate::ExportError;
use crate::facts::confidence_name;
use crate::text::short;

/// Maximum number of log lines; viewers show about this many without a click.
const MAX_LINES: usize = 6;
/// Maximum length of the cause and its owners in a name, in characters.
const MAX_WHY: usize = 160;
/// Argument keys of the evidence.
const EVIDENCE: [&str; 6] =
    ["evidence_0", "evidence_1", "evidence_2", "evidence_3", "evidence_4", "evidence_5"];

/// What is known of a hang: the answer, and the chain of waits behind it.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnosis {
    /// The answer.
    pub answer: Answer,
    /// The threads of the chain, main first; empty if main does not wait, or no step of concurrent work was recorded.
    pub chain: Vec<ChainLink>,
}

/// An answer in the words of the trace.
#[derive(Debug)]
pub(crate) struct TraceAnswer {
    /// The thread that hung.
    thread: String,
    /// The begin of the hang, BOOTTIME ns, if it is known.
    pub(super) since: Option<u64>,
    /// Its length, ns.
    duration: u64,
    /// The cause and the owner for a name: `LOCK WAIT, lock owner SyncWorker`.
    pub(super) why: String,
    args: Vec<(&'static str, String)>,
    lines: Vec<String>,
}

impl TraceAnswer {
    /// `None` if nothing hung.
    pub(super) fn of(answer: &Answer) -> Option<Self> {
        if answer.conclusion == Conclusion::NoHang {
            return None;
        }
        let text = |text: &str| clean(text).into_owned();
        let cause = &answer.cause;
        let mut args = vec![
            ("cause", text(cause.id.name())),
            ("cause_confidence", text(confidence_name(cause.confidence))),
        ];
        args.extend(answer.place().map(|place| ("root", text(&place))));
        args.extend(answer.owners.first().map(|owner| {
            ("owner", text(&format!("{} (tid {}): {}", owner.thread, owner.tid, owner.place())))
        }));
        let first = answer.cycle.first().into_iter();
        let cycle: Vec<&str> = answer.cycle.iter().chain(first).map(String::as_str).collect();
        if !cycle.is_empty() {
            args.push(("deadlock", text(&cycle.join(" > "))));
        }
        args.extend(EVIDENCE.into_iter().zip(&cause.evidence).map(|(key, e)| (key, text(&e.text))));
        args.push(("next", text(cause.next)));
        let name = cause.id.name().to_uppercase();
        let why = match (answer.owners.first(), answer.place()) {
            _ if !cycle.is_empty() => format!("{name} {}", cycle.join(" > ")),
            (Some(owner), _) => format!("{name}, lock owner {}", owner.thread),
            (None, Some(place)) => format!("{name} in {place}"),
            (None, None) => name,
        };
        let why = text(&short(&why, MAX_WHY));
        let get = answer.lines();
        // The advice comes last and is never truncated.
        let (last, get) = get.split_last()?;
        let get = get.iter().take(MAX_LINES - 2).chain([last]);
        let mut lines = vec![text(&answer.headline())];
        lines.extend(get.map(|(label, line)| text(&format!("{label}: {line}"))));
        let (since, duration) = answer.span.map(|span| (span.since, span.duration)).unzip();
        let (thread, duration) = (text(&answer.thread.name), duration.unwrap_or(0));
        Some(Self { thread, since, duration, why, args, lines })
    }

    /// The answer as arguments.
    pub(super) fn args(&self) -> impl Iterator<Item = Arg<'_>> {
        self.args.iter().map(|(key, text)| Arg::new(key, Value::Text(text)))
    }

    /// Writes the log lines at the begin of the hang, or at `start` if that is not known or later.
    pub(super) fn log<K: Sink>(&self, start: u64, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
        let at = self.since.map_or(start, |since| since.max(start));
        self.lines.iter().try_for_each(|line| out.log(at, Level::Error, line))
    }

    /// Writes the track of the hang, from `start` on.
    pub(super) fn track<K: Sink>(&self, start: u64, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
        let Some(since) = self.since else { return Ok(()) };
        let begin = since.max(start);
        out.track(Track::Hang)?;
        let args: Vec<Arg<'_>> = self.args().collect();
        out.begin(begin, &format!("Hang of {}: {}", self.thread, self.why), &args)?;
        out.end(since.saturating_add(self.duration).max(begin), &[])
    }
}
