//! The longest waits of main, in a hang or not.

use trace_format::event::{Wait, WaitKind};

/// Number of waits kept.
const MAX_WAITS: usize = 8;
/// Minimum duration of a long wait or slow message, ns: a frame at 60 Hz.
pub(super) const MIN_SLOW: u64 = 16_666_667;

/// A wait of main that ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LongWait {
    /// Its kind.
    pub kind: WaitKind,
    /// When it started.
    pub since: u64,
    /// Its duration, ns.
    pub duration: u64,
    /// The lock's class, or the name of the blocking call.
    pub class: Option<String>,
    /// The lock's identity, 0 if unknown.
    pub lock: u64,
    /// The thread that owned the lock when the wait started.
    pub owner: Option<String>,
    /// The innermost method that contained it.
    pub method: Option<String>,
}

/// The longest waits so far, longest first; of equal ones the first.
#[derive(Default, Debug)]
pub(super) struct LongWaits(Vec<LongWait>);

/// The names of a wait.
pub(super) struct WaitNames {
    pub(super) class: Option<String>,
    pub(super) owner: Option<String>,
    pub(super) method: Option<String>,
}

impl LongWaits {
    /// Keeps the wait if it is one of the longest; only then requests its names.
    pub(super) fn offer(&mut self, wait: Wait, since: u64, duration: u64, named: impl FnOnce() -> WaitNames) {
        let shortest = self.0.get(MAX_WAITS - 1).map_or(0, |wait| wait.duration);
        if duration < MIN_SLOW || duration <= shortest {
            return;
        }
        let WaitNames { class, owner, method } = named();
        let place = self.0.partition_point(|other| other.duration >= duration);
        self.0.insert(
            place,
            LongWait { kind: wait.kind, since, duration, class, lock: wait.lock, owner, method },
        );
        self.0.truncate(MAX_WAITS);
    }

    pub(super) fn into_vec(self) -> Vec<LongWait> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::TextId;

    #[test]
    fn the_longest_are_kept_and_only_they_are_named() {
        let wait = Wait { kind: WaitKind::Sleep, lock: 0, class: TextId(0), owner: 0 };
        let mut waits = LongWaits::default();
        let mut requested = 0;
        let mut offer = |duration: u64, since: u64| {
            waits.offer(wait, since, duration, || {
                requested += 1;
                WaitNames { class: None, owner: None, method: None }
            });
        };
        offer(MIN_SLOW - 1, 0);
        for since in 0..20 {
            offer(MIN_SLOW + since % 10, since);
        }
        let kept: Vec<(u64, u64)> =
            waits.into_vec().iter().map(|w| (w.duration - MIN_SLOW, w.since)).collect();
        assert_eq!(kept, [(9, 9), (9, 19), (8, 8), (8, 18), (7, 7), (7, 17), (6, 6), (6, 16)]);
        assert!(requested < 21, "{requested}");
    }
}
