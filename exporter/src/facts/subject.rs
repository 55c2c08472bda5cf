//! The system's subject of an ANR, from the dump that it requested or its record of the process's exit.

use std::borrow::Cow;

use answers::dump::{AnrKind, Subject};

use super::{Anr, Detector, Facts, Sections};

/// Maximum time from the signal to the request of the dump, ns: the system first dumps its own processes.
const MAX_REQUEST_DELAY: u64 = 20_000_000_000;

impl Facts<'_> {
    /// The subject of this ANR: of the dump that may belong to it or, for the recording's `last` ANR, of the exit record. The
    /// system does not know of an ANR that only the watchdog found.
    pub(crate) fn subject(&self, anr: &Anr, last: bool) -> Option<&Subject> {
        if !matches!(anr.detector, Detector::Sigquit(_)) {
            return None;
        }
        let Sections { dumps, exits, .. } = &self.sections;
        let near = |at: u64| (anr.since..=anr.detected.saturating_add(MAX_REQUEST_DELAY)).contains(&at);
        let of_dumps = dumps.iter().filter_map(|(at, dump)| Some((*at, dump.subject.as_ref()?)));
        let of_dump = of_dumps.filter(|(at, _)| near(*at)).min_by_key(|(at, _)| at.abs_diff(anr.detected));
        let mut of_exits = exits.iter().filter(|(reason, _)| last && reason == "anr");
        of_dump
            .map(|(_, subject)| subject)
            .or_else(|| of_exits.find_map(|(_, dump)| dump.as_ref()?.subject.as_ref()))
    }
}

/// For each kind, the beginning of a subject by which Perfetto's `android.anrs` recognises the kind. Of
/// several, the first one contained in the text applies.
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

/// The subject in the form by which Perfetto's `android.anrs` recognises its kind: from the system's phrase on,
/// or appended to that phrase if the text has a different one.
pub(crate) fn known_form(subject: &Subject) -> Cow<'_, str> {
    let Some((kind, phrases)) = BEGINNINGS.iter().find(|(kind, _)| *kind == subject.kind) else {
        return Cow::Borrowed(&subject.text);
    };
    let appended = |what: &str| Cow::Owned(format!("{} ({what}{})", phrases[0], subject.text));
    let lower = subject.text.to_ascii_lowercase();
    if let Some(at) = phrases.iter().find_map(|phrase| lower.find(&phrase.to_ascii_lowercase())) {
        let from_there = &subject.text[at..];
        let phrase = phrases.iter().find(|phrase| from_there.starts_with(**phrase));
        return phrase.map_or_else(|| appended(""), |_| Cow::Borrowed(from_there));
    }
    match kind {
        AnrKind::NoFocusedWindow => appended("does not have a focused window: "),
        AnrKind::InputDispatching | AnrKind::ContentProvider => appended(""),
        _ => Cow::Borrowed(&subject.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_start_as_perfetto_expects() {
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
