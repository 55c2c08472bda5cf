//! The cost of an event on the device, measured when the recorder starts: the payload of [`SectionKind::SelfMeasurement`].
//!
//! ```text
//! clock=cycle counter | vDSO                              the clock of events with exact time
//! ns_per_event_coarse= ns_per_event_precise=              decimal numbers
//! ```

use super::lines::{Keys, Lines, decimal};
use super::overhead::MAX_NS;
use super::text_of;
use crate::layout::ClockMode;
use crate::section::SectionKind;

/// The cost of one event on the device.
#[derive(Clone, PartialEq, Debug)]
pub struct SelfMeasurement {
    /// The clock of events with exact time: `cycle counter` or `vDSO`.
    pub clock: String,
    /// The cost of an event whose time is copied, ns.
    pub coarse: f64,
    /// The cost of an event that reads the clock, ns.
    pub precise: f64,
}

/// The section's payload; both costs are in hundredths of a ns.
#[must_use]
pub fn encode(clock: &str, coarse: u64, precise: u64) -> Vec<u8> {
    let mut lines = Lines::default();
    lines.text("clock", clock);
    lines.text("ns_per_event_coarse", &decimal(coarse));
    lines.text("ns_per_event_precise", &decimal(precise));
    lines.into_bytes()
}

impl SelfMeasurement {
    /// Reads a payload; `None` if it is too long, or one of the figures is missing or impossible.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let text = text_of(SectionKind::SelfMeasurement, payload)?;
        let keys = Keys::new(&text);
        let ns = |key| keys.number(key).filter(|ns: &f64| (0.0..=MAX_NS).contains(ns));
        Some(Self {
            clock: keys.owned("clock")?,
            coarse: ns("ns_per_event_coarse")?,
            precise: ns("ns_per_event_precise")?,
        })
    }

    /// The cost of an event with this clock, ns.
    #[must_use]
    pub fn cost(&self, clock: ClockMode) -> f64 {
        match clock {
            ClockMode::Precise => self.precise,
            ClockMode::Coarse => self.coarse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn measurements_round_trip(coarse in 0u64..100_000_000, precise in 0u64..100_000_000) {
            let payload = encode("vDSO", coarse, precise);
            let read = SelfMeasurement::parse(&payload).unwrap();
            let wanted = (coarse as f64 / 100.0, precise as f64 / 100.0);
            prop_assert_eq!((read.clock.as_str(), (read.coarse, read.precise)), ("vDSO", wanted));
            (0..payload.len()).for_each(|cut| drop(SelfMeasurement::parse(&payload[..cut])));
        }

        #[test]
        fn any_section_is_figures_or_nothing(
            text in "(clock=(vDSO)?\n|ns_per_event_(coarse|precise)=(-?[0-9.]{0,6}|NaN|inf|1e99)\n|.{0,9}\n){0,6}",
        ) {
            if let Some(m) = SelfMeasurement::parse(text.as_bytes()) {
                prop_assert!(m.coarse.is_finite() && m.precise >= 0.0 && m.precise <= MAX_NS);
            }
        }
    }
}
