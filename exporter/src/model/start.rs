//! Starts of the app and of its pages, as the app wrote them when they were complete.

use trace_format::section::{SectionKind, key_values};
use trace_format::{ReadError, Recording, Source};

use super::clean;
use super::sink::{Arg, Value};
use super::survey::MAX_TIME;

/// The longest section of a start that is read; it has nine short lines.
const MAX_SECTION: u64 = 4096;
/// Starts that are kept. A page is one too.
const MAX_KEPT: usize = 4096;

/// What started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartKind {
    /// The process, for a page.
    Cold,
    /// A page, in a process that had none.
    Warm,
    /// A page that was there.
    Hot,
    /// One page after another.
    Page,
    /// The process, for a service.
    Service,
    /// The process, for a broadcast.
    Receiver,
    /// The page again, since the configuration changed.
    Relaunch,
}

impl StartKind {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Cold, "cold"),
        (Self::Warm, "warm"),
        (Self::Hot, "hot"),
        (Self::Page, "page"),
        (Self::Service, "service"),
        (Self::Receiver, "receiver"),
        (Self::Relaunch, "relaunch"),
    ];

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, name)| *name == word).map(|(kind, _)| kind)
    }

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// Whether Perfetto's `android_startups` knows it.
    pub(super) fn is_launch(self) -> bool {
        matches!(self, Self::Cold | Self::Warm | Self::Hot)
    }
}

/// One start that is complete. Times are BOOTTIME ns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// What started.
    pub kind: StartKind,
    /// The page's class; empty if there is none.
    pub activity: String,
    /// Its begin.
    pub begin: u64,
    /// When the application object was ready, if it started too.
    pub application_end: Option<u64>,
    /// When the page had the focus, or the process was up.
    pub end: u64,
    /// When it first drew, if that is known.
    pub first_draw: Option<u64>,
    /// When the page in front of it went, if there was one.
    pub splash_end: Option<u64>,
    /// `good`, `bad` or `unknown`.
    pub grade: &'static str,
}

impl Start {
    /// Reads a section. `None` if it says no kind or no times that can be.
    fn parse(text: &str) -> Option<Self> {
        let value = |key| key_values(text).find(|(k, _)| *k == key).map(|(_, value)| value);
        let time = |key| value(key).and_then(|text| text.parse().ok()).filter(|t| (1..MAX_TIME).contains(t));
        let (begin, end) = (time("begin")?, time("end")?);
        let within = |key| time(key).filter(|t| (begin..=end).contains(t));
        (begin <= end).then_some(())?;
        Some(Self {
            kind: StartKind::parse(value("kind")?)?,
            activity: clean(value("activity").unwrap_or_default()).into_owned(),
            begin,
            application_end: within("application_end"),
            end,
            // A page may draw before it has the focus, and after.
            first_draw: time("first_draw").filter(|t| *t >= begin),
            splash_end: within("splash_end"),
            grade: match value("grade") {
                Some("good") => "good",
                Some("bad") => "bad",
                _ => "unknown",
            },
        })
    }

    /// How long it took, ns: to the focus, or until the process was up.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.end - self.begin
    }

    pub(super) fn args(&self) -> Vec<Arg<'_>> {
        let mut args = vec![Arg::new("kind", Value::Text(self.kind.name()))];
        if !self.activity.is_empty() {
            args.push(Arg::new("activity", Value::Text(&self.activity)));
        }
        let since = |at: u64| Value::Millis(at.saturating_sub(self.begin));
        args.extend(self.application_end.map(|at| Arg::new("application_ms", since(at))));
        args.extend(self.splash_end.map(|at| Arg::new("splash_ms", since(at))));
        args.extend(self.first_draw.map(|at| Arg::new("first_draw_ms", since(at))));
        args.push(Arg::new("focus_ms", since(self.end)));
        args.push(Arg::new("grade", Value::Text(self.grade)));
        args
    }
}

/// The starts of a recording, by their begin; and how many sections were none, or too many.
///
/// # Errors
/// If the device fails.
pub(crate) fn starts<S: Source>(recording: &Recording<S>) -> Result<(Vec<Start>, u64), ReadError> {
    let (mut starts, mut skipped) = (Vec::new(), 0);
    for section in recording.sections().iter().filter(|s| s.kind == Some(SectionKind::Startup)) {
        let readable = section.length <= MAX_SECTION && starts.len() < MAX_KEPT;
        let payload = if readable { recording.payload(section)? } else { None };
        match payload.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(Start::parse) {
            Some(start) => starts.push(start),
            None => skipped += 1,
        }
    }
    starts.sort_by_key(|start| (start.begin, u64::MAX - start.end));
    Ok((starts, skipped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_section_is_a_start_or_nothing() {
        let text = "kind=cold\nactivity=com.example.Main\nbegin=100\napplication_end=200\nend=900\nfirst_draw=0\n\
                    splash_end=950\ngrade=bad\n";
        let start = Start::parse(text).unwrap();
        assert_eq!((start.kind, start.begin, start.end, start.grade), (StartKind::Cold, 100, 900, "bad"));
        assert_eq!((start.application_end, start.first_draw, start.splash_end), (Some(200), None, None));
        assert_eq!(Start::parse("kind=cold\nbegin=9\nend=8\n"), None);
        assert_eq!(Start::parse("kind=lukewarm\nbegin=8\nend=9\n"), None);
        assert_eq!(Start::parse("begin=8\nend=9\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_wild(text in "((kind|begin|end|first_draw|grade)=(cold|[0-9]{0,20}|.{0,5})\n?){0,9}") {
            if let Some(start) = Start::parse(&text) {
                prop_assert!(start.begin <= start.end && start.end < MAX_TIME);
            }
        }
    }
}
