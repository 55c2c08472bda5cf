//! The longest call of a main thread that runs no messages.
//!
//! No rule says of such a call how long it may take, so it is no hang. It is no absence of one either: the report names it.

use serde::Serialize;

use super::MIN_ENDED_HANG;

/// A slow message or frame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "SlowWork"))]
pub struct Slow {
    /// The message or frame.
    pub name: String,
    /// The time at which it began.
    #[serde(rename = "since_ns")]
    pub since: u64,
    /// The time from its begin to its end.
    #[serde(rename = "duration_ns")]
    pub duration: u64,
}

/// The longest call so far that is long by itself: a caller of a long call or wait does not count. Nor does the outermost call, which is
/// the whole program.
#[derive(Default, Debug)]
pub(super) struct LongCalls {
    /// Its duration is at least that of an ended hang.
    pub(super) longest: Option<Slow>,
    /// When the last long call or wait without another one inside began.
    last: u64,
}

impl LongCalls {
    /// Notes that a call or wait ended at `until`, inside of `depth` others. Only a call has a name.
    pub(super) fn ended(
        &mut self,
        depth: usize,
        (since, until): (u64, u64),
        name: impl FnOnce() -> Option<String>,
    ) {
        let duration = until.saturating_sub(since);
        if depth == 0 || duration < MIN_ENDED_HANG || self.last >= since {
            return;
        }
        self.last = since;
        if self.longest.as_ref().is_none_or(|longest| longest.duration < duration)
            && let Some(name) = name()
        {
            self.longest = Some(Slow { name, since, duration });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn callers_of_long_calls_and_the_whole_program_do_not_count() {
        let mut calls = LongCalls::default();
        let named = |name: &str| {
            let name = name.to_owned();
            move || Some(name)
        };
        calls.ended(2, (10 * S, 16 * S), named("parse"));
        calls.ended(1, (9 * S, 17 * S), named("run"));
        calls.ended(3, (20 * S, 30 * S), || None);
        calls.ended(2, (20 * S, 31 * S), named("waits inside"));
        calls.ended(2, (40 * S, 44 * S), named("short"));
        calls.ended(0, (S, 60 * S), named("main"));
        let longest = Slow { name: "parse".to_owned(), since: 10 * S, duration: 6 * S };
        assert_eq!(calls.longest, Some(longest));
    }
}
