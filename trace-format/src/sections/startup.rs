//! A start of the process or of a page that is complete: the payload of [`SectionKind::Startup`].
//!
//! ```text
//! kind=cold | warm | hot | page | service | receiver | relaunch    activity=<class>
//! begin= application_end= end= first_draw= splash_end=             BOOTTIME ns, 0 if not known
//! grade=good | bad | unknown
//! ```

use super::lines::{Keys, Lines};
use super::text_of;
use crate::section::SectionKind;

words! {
    /// What started.
    StartKind {
        /// The process, for a page.
        Cold = "cold",
        /// A page, in a process that had none.
        Warm = "warm",
        /// A page that existed already.
        Hot = "hot",
        /// One page after another.
        Page = "page",
        /// The process, for a service.
        Service = "service",
        /// The process, for a broadcast.
        Receiver = "receiver",
        /// The page again, since the configuration changed.
        Relaunch = "relaunch",
    }
}

words! {
    /// Whether a start was within its limit.
    Grade {
        /// Within the limit.
        Good = "good",
        /// Above the limit.
        Bad = "bad",
        /// This kind has no limit.
        Unknown = "unknown",
    }
}

/// One start that is complete. Times are BOOTTIME ns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Startup {
    /// What started.
    pub kind: StartKind,
    /// The page's class; empty if no page is known.
    pub activity: String,
    /// When it began.
    pub begin: u64,
    /// When the application object was ready, if it started too.
    pub application_end: Option<u64>,
    /// When the page had the focus, or the process was up.
    pub end: u64,
    /// When it first drew, if that is known.
    pub first_draw: Option<u64>,
    /// When the splash page in front of it ended, if there was one.
    pub splash_end: Option<u64>,
    /// Whether a start was within its limit.
    pub grade: Grade,
}

impl Startup {
    /// The section's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut lines = Lines::default();
        lines.text("kind", self.kind.word());
        lines.text("activity", &self.activity);
        lines.number("begin", self.begin);
        lines.number("application_end", self.application_end.unwrap_or(0));
        lines.number("end", self.end);
        lines.number("first_draw", self.first_draw.unwrap_or(0));
        lines.number("splash_end", self.splash_end.unwrap_or(0));
        lines.text("grade", self.grade.word());
        lines.into_bytes()
    }

    /// Reads a payload; `None` if it is too long, has no known kind, or no valid times.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let text = text_of(SectionKind::Startup, payload)?;
        let keys = Keys::new(&text);
        let (begin, end) = (keys.time("begin")?, keys.time("end")?);
        let within = |key| keys.time(key).filter(|t| (begin..=end).contains(t));
        (begin <= end).then_some(())?;
        Some(Self {
            kind: keys.text("kind")?.parse().ok()?,
            activity: keys.owned("activity").unwrap_or_default(),
            begin,
            application_end: within("application_end"),
            end,
            // A page may draw before it has the focus, and after.
            first_draw: keys.time("first_draw").filter(|t| *t >= begin),
            splash_end: within("splash_end"),
            grade: keys.text("grade").and_then(|word| word.parse().ok()).unwrap_or(Grade::Unknown),
        })
    }

    /// How long it took, ns: to the focus, or until the process was up.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.end - self.begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::MAX_TIME;
    use proptest::prelude::*;

    #[test]
    fn a_section_is_a_start_or_nothing() {
        let of = |text: &str| Startup::parse(text.as_bytes());
        let text = "kind=cold\nactivity=com.example.Main\nbegin=100\napplication_end=200\nend=900\nfirst_draw=0\n\
                    splash_end=950\ngrade=bad\n";
        let start = of(text).unwrap();
        assert_eq!(
            (start.kind, start.begin, start.end, start.grade),
            (StartKind::Cold, 100, 900, Grade::Bad)
        );
        assert_eq!((start.application_end, start.first_draw, start.splash_end), (Some(200), None, None));
        assert_eq!(of("kind=cold\nbegin=9\nend=8\n"), None);
        assert_eq!(of("kind=lukewarm\nbegin=8\nend=9\n"), None);
        assert_eq!(of("begin=8\nend=9\n"), None);
    }

    proptest! {
        #[test]
        fn starts_round_trip(
            kind in prop::sample::select(StartKind::ALL),
            grade in prop::sample::select(Grade::ALL),
            activity in "[a-zA-Z.$]{0,20}",
            begin in 1..1_000u64,
            took in any::<[u16; 4]>(),
        ) {
            let end = begin + u64::from(took[0]);
            let within = |n: u16| Some(begin + u64::from(n.min(took[0]))).filter(|_| !n.is_multiple_of(3));
            let first_draw = Some(begin + u64::from(took[3]));
            let (application_end, splash_end) = (within(took[1]), within(took[2]));
            let start = Startup { kind, activity, begin, application_end, end, first_draw, splash_end, grade };
            let payload = start.encode();
            prop_assert_eq!(Startup::parse(&payload), Some(start));
            for cut in 0..payload.len() {
                if let Some(read) = Startup::parse(&payload[..cut]) {
                    prop_assert!(read.begin <= read.end && read.end < MAX_TIME);
                }
            }
        }

        #[test]
        fn no_text_is_too_wild(text in "((kind|begin|end|first_draw|grade)=(cold|[0-9]{0,20}|.{0,5})\n?){0,9}") {
            if let Some(start) = Startup::parse(text.as_bytes()) {
                prop_assert!(start.begin <= start.end && start.end < MAX_TIME);
            }
        }
    }
}
