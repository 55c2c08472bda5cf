//! The time resolution of the recording, parsed from the words of an option.

use std::time::Duration;

use recorder::time::fold;
use recorder::{Clock, Config};

/// What `anrscope.resolution`, and the older `anrscope.clock`, ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Resolution {
    clock: Clock,
    tick: Duration,
    shortest: Option<Duration>,
}

impl Resolution {
    const DEFAULT: Self =
        Self { clock: Clock::Coarse, tick: Duration::from_millis(1), shortest: Some(Duration::ZERO) };

    /// From words in any order: `1ms`, `100us`, `exact`, `precise`, `coarse`. Other words are ignored.
    pub(crate) fn of_text(text: &str) -> Self {
        let words = || text.split_ascii_whitespace();
        let mut resolution = Self::DEFAULT;
        for word in words() {
            match word {
                "100us" => resolution.tick = Duration::from_micros(100),
                "precise" => {
                    resolution.clock = Clock::Precise;
                    resolution.shortest = Some(Duration::from_nanos(fold::PRECISE_NS));
                }
                "exact" => {
                    let coarse = words().any(|word| word == "coarse");
                    resolution.clock = if coarse { Clock::Coarse } else { Clock::Precise };
                }
                _ => {}
            }
        }
        if words().any(|word| word == "exact") {
            resolution.shortest = None;
        }
        resolution
    }

    pub(crate) fn apply(self, config: &mut Config) {
        (config.clock, config.tick, config.shortest) = (self.clock, self.tick, self.shortest);
    }
}

/// A percentage with two places at most (`3`, `0.5`) in hundredths; `None` if it is not a percentage.
pub(crate) fn hundredths(percent: &str) -> Option<u32> {
    let (whole, part) = percent.split_once('.').unwrap_or((percent, ""));
    let part = match part.len() {
        0 => 0,
        1 => part.parse::<u32>().ok()? * 10,
        2 => part.parse().ok()?,
        _ => return None,
    };
    whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_they_say() {
        let of = Resolution::of_text;
        assert_eq!(of(""), Resolution::DEFAULT);
        assert_eq!((of("1ms"), of("coarse"), of("nonsense")), (of(""), of(""), of("")));
        assert_eq!(of("100us").tick, Duration::from_micros(100));
        assert_eq!((of("exact").clock, of("exact").shortest), (Clock::Precise, None));
        assert_eq!((of("coarse exact").clock, of("coarse exact").shortest), (Clock::Coarse, None));
        assert_eq!((of("precise exact").clock, of("precise exact").shortest), (Clock::Precise, None));
        assert_eq!(of("precise").shortest, Some(Duration::from_micros(20)));
    }

    #[test]
    fn percentages_are_read_to_the_hundredth() {
        assert_eq!(["3", "0", "0.5", "1.25", "100"].map(hundredths), [300, 0, 50, 125, 10_000].map(Some));
        assert_eq!(["", "x", "-1", "1.234", "99999999999"].map(hundredths), [None; 5]);
    }
}
