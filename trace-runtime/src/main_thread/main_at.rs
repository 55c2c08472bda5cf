//! What main was doing at a moment, for the judge of SIGQUITs.

use crate::recorder::Recorder;

/// What main was doing at a moment, according to the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MainAt {
    /// When its message began; 0 if it was in none, or if that is unknown.
    pub(crate) stuck_since: u64,
    /// How long it had been in that message; `None` if unknown.
    pub(crate) running_ms: Option<u64>,
}

impl MainAt {
    /// Reads [`Recorder::message_since`].
    pub(crate) fn new(message_since: u64, at: u64) -> Self {
        match message_since {
            Recorder::NO_LOOPER => Self { stuck_since: 0, running_ms: None },
            // Between two messages, or in one that began after the moment.
            since if since == 0 || since > at => Self { stuck_since: 0, running_ms: Some(0) },
            since => Self { stuck_since: since, running_ms: Some((at - since) / 1_000_000) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_main_does_is_known_only_with_a_looper() {
        let at = 5_000_000_000;
        let main = |since| MainAt::new(since, at);
        assert_eq!(main(Recorder::NO_LOOPER), MainAt { stuck_since: 0, running_ms: None });
        assert_eq!(main(0), MainAt { stuck_since: 0, running_ms: Some(0) });
        let since = 2_000_000_000;
        assert_eq!(main(since), MainAt { stuck_since: since, running_ms: Some(3_000) });
        assert_eq!(main(at + 1), MainAt { stuck_since: 0, running_ms: Some(0) }, "it began after the signal");
    }
}
