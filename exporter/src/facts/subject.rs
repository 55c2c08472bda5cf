//! What the system itself called an ANR: the subject of the dump that it asked for, or of its account of the process's end.

use std::borrow::Cow;
use std::path::Path;

use trace_format::{ReadError, Source};

use super::{Anr, Detector, Facts};
use crate::dump::{AnrKind, Dump, Subject};

/// A dump is asked for so long after the signal at most, ns: the system dumps its own processes before.
const AFTER: u64 = 20_000_000_000;

/// The system's subjects of a recording.
#[derive(Debug, Default)]
pub(crate) struct Subjects {
    /// Of dumps, with the moment that each was asked for.
    dumps: Vec<(u64, Subject)>,
    /// Of the process's end by an ANR, which is its last one.
    end: Option<Subject>,
}

impl Subjects {
    /// Reads the dumps and the accounts of the end, if there is an ANR that one could be of.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn of<S: Source>(facts: &Facts<'_, S>) -> Result<Self, ReadError> {
        let mut found = Self::default();
        if facts.incidents.anrs.is_empty() {
            return Ok(found);
        }
        for dump in facts.dumps() {
            let (at, dump) = dump?;
            found.dumps.extend(dump.subject.map(|subject| (at, subject)));
        }
        for exit in facts.exits() {
            let exit = exit?;
            if exit.reason == "anr" && found.end.is_none() {
                found.end = Dump::read(Path::new("exit"), &exit.text[..]).ok().and_then(|dump| dump.subject);
            }
        }
        Ok(found)
    }

    /// The subject of this ANR; `last` says that it is the recording's last. The system never heard of one that only the
    /// watchdog found.
    pub(crate) fn of_anr(&self, anr: &Anr, last: bool) -> Option<&Subject> {
        if !matches!(anr.detector, Detector::Sigquit(_)) {
            return None;
        }
        let near = |at: &u64| (anr.since..=anr.detected.saturating_add(AFTER)).contains(at);
        let of_dump = self.dumps.iter().filter(|(at, _)| near(at));
        let of_dump = of_dump.min_by_key(|(at, _)| at.abs_diff(anr.detected)).map(|(_, subject)| subject);
        of_dump.or(self.end.as_ref().filter(|_| last))
    }
}

/// What a subject of each kind begins with where Perfetto's `android.anrs` is to know the kind. Of several the first that is in
/// the text.
const BEGINNINGS: [(AnrKind, &[&str]); 11] = [
    (AnrKind::InputDispatching, &["Input dispatching timed out"]),
    (AnrKind::NoFocusedWindow, &["Input dispatching timed out"]),
    (AnrKind::Broadcast, &["Broadcast of"]),
    (AnrKind::ExecutingService, &["executing service"]),
    (
        AnrKind::StartForegroundService,
        &["Context.startForegroundService() did not then call Service.startForeground()"],
    ),
    (AnrKind::ForegroundServiceTimeout, &["A foreground service of"]),
    (AnrKind::ContentProvider, &["ContentProvider not responding"]),
    (
        AnrKind::JobService,
        &["No response to onStartJob", "No response to onStopJob", "Timed out while trying to bind"],
    ),
    (AnrKind::ProcessStart, &["Process ProcessRecord{"]),
    (AnrKind::GpuHang, &["App requested: "]),
    (AnrKind::AppRequested, &["App requested: "]),
];

/// A subject in the form in which Perfetto's `android.anrs` knows its kind: from where the system's phrase begins, or behind that
/// phrase where the text has another one for it.
pub(crate) fn known_form(subject: &Subject) -> Cow<'_, str> {
    let Some((kind, phrases)) = BEGINNINGS.iter().find(|(kind, _)| *kind == subject.kind) else {
        return Cow::Borrowed(&subject.text);
    };
    let lower = subject.text.to_ascii_lowercase();
    if let Some(at) = phrases.iter().find_map(|phrase| lower.find(&phrase.to_ascii_lowercase())) {
        let from_there = &subject.text[at..];
        let phrase = phrases.iter().find(|phrase| from_there.starts_with(**phrase));
        return phrase.map_or_else(
            || Cow::Owned(format!("{} ({})", phrases[0], subject.text)),
            |_| Cow::Borrowed(from_there),
        );
    }
    match kind {
        AnrKind::NoFocusedWindow => {
            Cow::Owned(format!("{} (does not have a focused window: {})", phrases[0], subject.text))
        }
        AnrKind::InputDispatching | AnrKind::ContentProvider => {
            Cow::Owned(format!("{} ({})", phrases[0], subject.text))
        }
        _ => Cow::Borrowed(&subject.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_begin_as_perfetto_wants_them() {
        for (text, wanted) in [
            ("Input dispatching timed out (x)", "Input dispatching timed out (x)"),
            ("user request after error: Input dispatching timed out (x)", "Input dispatching timed out (x)"),
            ("keyDispatchingTimedOut", "Input dispatching timed out (keyDispatchingTimedOut)"),
            ("executing service a.b/.C", "executing service a.b/.C"),
            (
                "content provider a.b timed out",
                "ContentProvider not responding (content provider a.b timed out)",
            ),
            ("bg anr: Broadcast of Intent { act=x }", "Broadcast of Intent { act=x }"),
            ("something else", "something else"),
        ] {
            assert_eq!(known_form(&Subject::parse(text)), wanted);
        }
    }
}
