//! The longest waits of main, in a hang or not.

use serde::{Serialize, Serializer};
use trace_format::event::{CallId, WaitKind};

use answers::waited::{Waited, serialize_call};

/// Number of waits kept.
const MAX_WAITS: usize = 8;
/// Minimum duration of a long wait or slow message, ns: a frame at 60 Hz.
pub(super) const MIN_SLOW: u64 = 16_666_667;

/// The kinds of waits in the JSON.
#[cfg(test)]
pub(super) const WAIT_KINDS: [&str; 7] =
    ["monitor", "object-wait", "park", "sleep", "join", "blocking", "unknown"];

/// A completed wait of main.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "CompletedWait"))]
pub struct LongWait {
    /// The kind of wait.
    #[serde(serialize_with = "serialize_kind")]
    #[cfg_attr(test, schemars(with = "String", extend("enum" = WAIT_KINDS)))]
    pub kind: WaitKind,
    /// The time at which it began.
    #[serde(rename = "since_ns")]
    pub since: u64,
    /// The time from its begin to its end.
    #[serde(rename = "duration_ns")]
    pub duration: u64,
    /// The class of the lock, or of the object that is called.
    pub class: Option<String>,
    /// The call that waits, as in the program's source; null if it is not known.
    #[serde(serialize_with = "serialize_call")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub call: CallId,
    /// The lock's identity hash in hexadecimal.
    // 0 if unknown.
    #[serde(serialize_with = "serialize_lock")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub lock: u64,
    /// The lock's owner when the wait began.
    pub owner: Option<String>,
    /// The innermost method around it.
    pub method: Option<String>,
}

impl LongWait {
    pub(super) fn waited(&self) -> Waited<'_> {
        Waited { kind: self.kind, call: self.call, class: self.class.as_deref() }
    }

    /// `lock of com.acme.Cart, owned by "worker", in com.acme.Cart.total`; with the lock's identity if `with_lock`.
    pub(super) fn words(&self, with_lock: bool) -> String {
        let what = self.waited().words(if with_lock { self.lock } else { 0 });
        let owner = self.owner.as_ref().map_or_else(String::new, |name| format!(", owned by \"{name}\""));
        let method = self.method.as_ref().map_or_else(String::new, |name| format!(", in {name}"));
        format!("{what}{owner}{method}")
    }
}

/// Serializes a kind of wait as its word.
pub(super) fn serialize_kind<S: Serializer>(kind: &WaitKind, serializer: S) -> Result<S::Ok, S::Error> {
    kind.word().serialize(serializer)
}

/// Serializes the identity of a lock as a text, because JSON would lose bits of a number; as null if it is unknown.
pub(super) fn serialize_lock<S: Serializer>(lock: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    (*lock > 0).then(|| format!("0x{lock:x}")).serialize(serializer)
}

/// The longest waits so far, longest first; of equal ones the first.
#[derive(Default, Debug)]
pub(super) struct LongWaits(pub(super) Vec<LongWait>);

impl LongWaits {
    /// Keeps a wait of this duration if it is one of the longest; only then asks for it, with its names.
    pub(super) fn offer(&mut self, duration: u64, wait: impl FnOnce() -> LongWait) {
        let shortest = self.0.get(MAX_WAITS - 1).map_or(0, |wait| wait.duration);
        if duration < MIN_SLOW || duration <= shortest {
            return;
        }
        let place = self.0.partition_point(|other| other.duration >= duration);
        self.0.insert(place, wait());
        self.0.truncate(MAX_WAITS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_kept_and_only_they_are_named() {
        let mut waits = LongWaits::default();
        let mut requested = 0;
        let mut offer = |duration: u64, since: u64| {
            waits.offer(duration, || {
                requested += 1;
                let kind = WaitKind::Sleep;
                let (class, call) = (None, CallId(0));
                LongWait { kind, since, duration, class, call, lock: 0, owner: None, method: None }
            });
        };
        offer(MIN_SLOW - 1, 0);
        for since in 0..20 {
            offer(MIN_SLOW + since % 10, since);
        }
        let kept: Vec<(u64, u64)> = waits.0.iter().map(|w| (w.duration - MIN_SLOW, w.since)).collect();
        assert_eq!(kept, [(9, 9), (9, 19), (8, 8), (8, 18), (7, 7), (7, 17), (6, 6), (6, 16)]);
        assert!(requested < 21, "{requested}");
    }
}
