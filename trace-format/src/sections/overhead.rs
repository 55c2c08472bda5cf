//! The cost of recording while it runs, and the methods that are switched off for it: lines of [`SectionKind::Overhead`].
//!
//! ```text
//! TIME cost NS EVENTS PERCENT     an event takes NS (decimal), so many EVENTS a second, together PERCENT (decimal) of the threads' time
//! TIME off ID CALLS               the method is not recorded from here on; it was called CALLS times a second
//! TIME off ID CALLS EVENTS        so many of its calls a second were kept, EVENTS in all, for which main's ring has no room
//! TIME on ID                      it is recorded again
//! ```
//! TIME is CLOCK_BOOTTIME ns.
//!
//! [`SectionKind::Overhead`]: crate::section::SectionKind::Overhead

use super::MAX_TIME;
use super::lines::decimal;

/// An event takes no longer than this, ns: a damaged or forged figure is no measurement.
pub const MAX_NS: f64 = 1e6;
/// Nothing costs more than this, percent of the threads' time: a thousand CPUs have this much.
pub const MAX_PERCENT: f64 = 1e5;

/// One line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Line {
    /// The cost of recording until then.
    Cost(Cost),
    /// A method was switched off, or on again.
    Switched(Switched),
}

/// The cost of recording in a window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// End of the window, BOOTTIME ns.
    pub at: u64,
    /// The cost of an event, ns.
    pub ns: f64,
    /// Events a second, of all threads.
    pub events: u64,
    /// Their cost together, in percent of the threads' time.
    pub percent: f64,
}

/// A method was switched off, or on again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switched {
    /// When, BOOTTIME ns.
    pub at: u64,
    /// The method.
    pub method: u32,
    /// Its calls a second, if it was switched off.
    pub off: Option<u64>,
    /// Its events a second, if it was switched off because main's ring has no room for them.
    pub events: Option<u64>,
}

impl Line {
    /// Reads a line; `None` if it has another form or an impossible figure.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
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
                let off = (kind == "off").then_some(calls);
                let events = off.and_then(|_| words.next()?.parse().ok());
                Self::Switched(Switched { at, method, off, events })
            }
            _ => return None,
        })
    }
}

/// Writes lines.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Writer(String);

impl Writer {
    /// Adds the cost of recording until `at`: `ns` of an event and `percent` are in hundredths.
    pub fn cost(&mut self, at: u64, ns: u64, events: u64, percent: u64) {
        self.line(at, "cost", &[&decimal(ns), &events.to_string(), &decimal(percent)]);
    }

    /// A method that was called so many times a second is switched off.
    pub fn off(&mut self, at: u64, method: u32, calls: u64) {
        self.line(at, "off", &[&method.to_string(), &calls.to_string()]);
    }

    /// A method of which so many calls a second were kept, so many events in all, is switched off to make room.
    pub fn off_for_room(&mut self, at: u64, method: u32, calls: u64, events: u64) {
        self.line(at, "off", &[&method.to_string(), &calls.to_string(), &events.to_string()]);
    }

    /// A method is switched on again.
    pub fn on(&mut self, at: u64, method: u32) {
        self.line(at, "on", &[&method.to_string()]);
    }

    fn line(&mut self, at: u64, word: &str, values: &[&str]) {
        self.0.push_str(&at.to_string());
        for value in [word].iter().chain(values) {
            self.0.push(' ');
            self.0.push_str(value);
        }
        self.0.push('\n');
    }

    /// The lines so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The section's payload.
    #[must_use]
    pub fn into_payload(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_round_trip(at in 0..MAX_TIME, method: u32, calls: u64, ns in 0u64..100_000_000, events in 0u64..1 << 50) {
            let mut written = Writer::default();
            written.cost(at, ns, events, ns / 11);
            written.off(at, method, calls);
            written.on(at, method);
            written.off_for_room(at, method, calls, events);
            let read: Vec<_> = written.text().lines().map(|line| Line::parse(line).unwrap()).collect();
            let cost = Cost { at, ns: ns as f64 / 100.0, events, percent: (ns / 11) as f64 / 100.0 };
            let switched = |off, events| Line::Switched(Switched { at, method, off, events });
            let expected = [
                Line::Cost(cost),
                switched(Some(calls), None),
                switched(None, None),
                switched(Some(calls), Some(events)),
            ];
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn any_line_is_bounded_or_none(line in "[0-9]{0,22} (cost|off|on|of)( [0-9.eE+-]{0,9}){0,4}") {
            if let Some(Line::Cost(cost)) = Line::parse(&line) {
                prop_assert!(cost.at <= MAX_TIME && cost.ns <= MAX_NS && cost.percent <= MAX_PERCENT);
            }
        }
    }
}
