//! What recording cost by the recorder's own measurements, and which methods it switched off for that.

use trace_format::section::SectionKind;
use trace_format::{ReadError, Recording, Source};

use super::recorder::MAX_NS;
use super::survey::MAX_TIME;

/// Lines that are kept.
const MAX_KEPT: usize = 8192;
/// The longest section that is read.
const MAX_SECTION: u64 = 4 << 20;
/// What nothing costs, in percent: a damaged or forged figure is no measurement. A thousand processors have this much.
const MAX_PERCENT: f64 = 1e5;

/// One measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// When it was complete, BOOTTIME ns.
    pub at: u64,
    /// What an event took, ns.
    pub ns: f64,
    /// Events a second, of all threads.
    pub events: u64,
    /// What they took together, in percent of the threads' time.
    pub percent: f64,
}

/// A method was switched off, or on again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Switched {
    pub(crate) at: u64,
    pub(crate) method: u32,
    /// Its calls a second, if it was switched off.
    pub(crate) off: Option<u64>,
}

/// All measurements of a recording.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Overhead {
    /// What recording cost, by time.
    pub costs: Vec<Cost>,
    /// Methods off and on again, by time.
    pub(crate) switched: Vec<Switched>,
    /// Lines that could not be read, or were too many.
    pub(crate) skipped: u64,
}

/// One line.
enum Line {
    Cost(Cost),
    Switched(Switched),
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let at = words.next()?.parse::<u64>().ok()?.min(MAX_TIME);
        let kind = words.next()?;
        let mut number = || words.next()?.parse::<f64>().ok().filter(|n| *n >= 0.0);
        Some(match kind {
            "cost" => Self::Cost(Cost {
                at,
                ns: number().filter(|ns| *ns <= MAX_NS)?,
                // From a number with a fraction, too; it saturates.
                events: number()? as u64,
                percent: number().filter(|percent| *percent <= MAX_PERCENT)?,
            }),
            "off" | "on" => {
                let method = words.next()?.parse().ok()?;
                let calls = words.next().and_then(|calls| calls.parse().ok()).unwrap_or(0);
                Self::Switched(Switched { at, method, off: (kind == "off").then_some(calls) })
            }
            _ => return None,
        })
    }
}

impl Overhead {
    /// Reads the sections.
    pub(crate) fn of<S: Source>(recording: &Recording<S>) -> Result<Self, ReadError> {
        let mut found = Self::default();
        let of_kind = |section: &&trace_format::Section| section.kind == Some(SectionKind::Overhead);
        for section in recording.sections().iter().filter(of_kind) {
            let payload = if section.length <= MAX_SECTION { recording.payload(section)? } else { None };
            match payload {
                Some(payload) => found.read(&String::from_utf8_lossy(&payload)),
                None => found.skipped += 1,
            }
        }
        found.costs.sort_by_key(|cost| cost.at);
        found.switched.sort_by_key(|switched| switched.at);
        Ok(found)
    }

    fn read(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match Line::parse(line) {
                Some(_) if self.costs.len() + self.switched.len() >= MAX_KEPT => self.skipped += 1,
                Some(Line::Cost(cost)) => self.costs.push(cost),
                Some(Line::Switched(switched)) => self.switched.push(switched),
                None => self.skipped += 1,
            }
        }
    }

    /// What recording cost from `since` to the last measurement, each weighed by the time that it is of: percent of the threads' time.
    /// `None` if nothing was measured.
    #[must_use]
    pub fn percent(&self, since: u64) -> Option<f64> {
        let (mut sum, mut time, mut before) = (0.0, 0.0, since);
        for cost in &self.costs {
            let weight = cost.at.saturating_sub(before).max(1) as f64;
            (sum, time, before) = (sum + cost.percent * weight, time + weight, before.max(cost.at));
        }
        (time > 0.0).then(|| (sum / time * 1e4).round() / 1e4)
    }

    /// The most that it cost.
    #[must_use]
    pub fn worst(&self) -> Option<Cost> {
        self.costs.iter().copied().max_by(|a, b| a.percent.total_cmp(&b.percent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trace_format::synth::RecordingBuilder;

    fn of(text: &str) -> Overhead {
        let bytes = RecordingBuilder::new(1, "p").section(SectionKind::Overhead, text.as_bytes()).build();
        Overhead::of(&Recording::open(bytes).unwrap()).unwrap()
    }

    #[test]
    fn each_measurement_weighs_as_much_as_the_time_that_it_is_of() {
        let found = of("2000 cost 30.5 1000000 4.0\n5000 off 7 900000\n5000 cost 12 100 1.0\n9000 on 7\n\n");
        assert_eq!(found.percent(1000), Some(1.75));
        assert_eq!(found.worst().map(|cost| (cost.ns, cost.events)), Some((30.5, 1_000_000)));
        let switched: Vec<_> = found.switched.iter().map(|s| (s.at, s.method, s.off)).collect();
        assert_eq!(switched, [(5000, 7, Some(900_000)), (9000, 7, None)]);
        assert_eq!((found.skipped, Overhead::default().percent(0)), (0, None));
    }

    proptest! {
        #[test]
        fn any_text_gives_figures_that_can_be_shown(
            text in "([0-9]{0,20} (cost|off|on)?( -?[0-9.e]{0,8}| NaN| inf){0,4}\n?|.{0,9}\n){0,9}",
        ) {
            let found = of(&text);
            prop_assert!(found.percent(5).is_none_or(|percent| (0.0..=MAX_PERCENT).contains(&percent)));
            prop_assert!(found.costs.iter().all(|cost| cost.ns.is_finite() && cost.at <= MAX_TIME));
        }
    }
}
