//! Pressure on memory, CPU and I/O (the kernel's PSI), which the system writes before a dump and into its log:
//!
//! ```text
//! ----- Output from /proc/pressure/memory -----
//! some avg10=1.50 avg60=0.05 avg300=0.01 total=51
//! full avg10=16.62 avg60=3.00 avg300=0.70 total=20
//! ----- End output from /proc/pressure/memory -----
//! ```
//! AOSP `ResourcePressureUtil.currentPsiState`, Android 11 and later. `some` is the percentage of time in which
//! any thread waited, `full` in which all of them did.

use super::facts::{self, Fact, FactValue};

/// Parses the lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pressure {
    /// The resource of the following lines.
    of: Option<&'static str>,
}

impl Pressure {
    /// Takes a line; returns whether it belongs to the pressure figures.
    pub(crate) fn take(&mut self, text: &str, facts: &mut Vec<Fact>) -> bool {
        if let Some(file) = text.strip_prefix("----- Output from /proc/pressure/") {
            let known = ["memory", "cpu", "io"];
            self.of = known.into_iter().find(|name| file.split(' ').next() == Some(name));
            return true;
        }
        if text.starts_with("----- End output from /proc/pressure/") {
            self.of = None;
            return true;
        }
        let Some(of) = self.of else { return false };
        let Some((how, rest)) = text.split_once(' ').filter(|(how, _)| matches!(*how, "some" | "full"))
        else {
            return false;
        };
        for (word, span) in rest.split(' ').zip(["avg10", "avg60", "avg300"]) {
            let value = word.strip_prefix(span).and_then(|word| word.strip_prefix('='));
            if let Some(value) = value.filter(|value| value.parse::<f64>().is_ok_and(f64::is_finite)) {
                facts::push(
                    facts,
                    &format!("pressure_{of}_{how}_{span}_percent"),
                    FactValue::Text(value.to_owned()),
                );
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_read_between_the_borders() {
        let (mut pressure, mut facts) = (Pressure::default(), Vec::new());
        assert!(!pressure.take("some avg10=1.50 avg60=0.05 avg300=0.01 total=51", &mut facts));
        for line in [
            "----- Output from /proc/pressure/io -----",
            "some avg10=31.18 avg60=0.05 avg300=x total=51",
            "----- End output from /proc/pressure/io -----",
        ] {
            assert!(pressure.take(line, &mut facts), "{line}");
        }
        assert_eq!(facts.len(), 2);
        assert_eq!(facts::text(&facts, "pressure_io_some_avg10_percent"), Some("31.18"));
    }
}
