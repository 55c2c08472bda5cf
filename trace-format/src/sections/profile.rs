//! What the platform stored about a process (ProfilingManager, API 36), a request for it, or why there is nothing: the
//! payload of [`SectionKind::PlatformProfile`].
//!
//! ```text
//! trigger=<the rest of ProfilingTrigger.TRIGGER_TYPE_..., in lower case; none: anr>
//! outcome=<a word of Outcome; none: stored>
//! path=<on the device>    bytes=<length of the file>    time_ms=<when it was complete, ms since 1970>
//! tag=<of the request, or the system's>    asked_ns=<when it was requested, CLOCK_BOOTTIME>
//! ```

use super::lines::{Keys, Lines};
use super::text_of;
use crate::section::SectionKind;

/// The trigger of an ANR.
pub const ANR: &str = "anr";
/// The trigger of the app's own request for the running system trace.
pub const RUNNING_TRACE: &str = "app_request_running_trace";

words! {
    /// What became of a request.
    Outcome {
        /// The file is there.
        Stored = "stored",
        /// It was requested. The platform answers only if it has something: it is silent without a running trace, and beyond its
        /// rate limit (AOSP `ProfilingService.processTriggerInternal`, API 36).
        Requested = "requested",
        /// Denied: the rate limit of the system.
        RateLimitSystem = "rate_limit_system",
        /// Denied: the rate limit of the process.
        RateLimitProcess = "rate_limit_process",
        /// Denied: profiling is in progress.
        InProgress = "in_progress",
        /// It failed.
        Failed = "failed",
        /// It was executed, and discarded when its post-processing failed.
        PostProcessing = "post_processing",
        /// There is no disk space.
        NoDiskSpace = "no_disk_space",
        /// The request was invalid.
        InvalidRequest = "invalid_request",
        /// The platform gave no reason, or one of a later version.
        Unknown = "unknown",
    }
}

impl Outcome {
    /// The outcome by `ProfilingResult.getErrorCode()` (AOSP `ProfilingResult.java`, API 35 and 36: 0 to 8).
    #[must_use]
    pub fn of_error(code: i32) -> Self {
        match code {
            0 => Self::Stored,
            1 => Self::RateLimitSystem,
            2 => Self::RateLimitProcess,
            3 => Self::InProgress,
            4 => Self::Failed,
            5 => Self::PostProcessing,
            6 => Self::NoDiskSpace,
            7 => Self::InvalidRequest,
            _ => Self::Unknown,
        }
    }
}

/// What the platform stored, or did not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlatformProfile {
    /// The trigger's name, such as [`ANR`].
    pub trigger: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Its path on the device; empty unless it is stored.
    pub path: String,
    /// Its length, bytes.
    pub bytes: u64,
    /// When it was complete, ms since 1970; 0 if that is not known.
    pub time_ms: u64,
    /// The tag of the request, or the system's word for an anomaly; empty without one.
    pub tag: String,
    /// When it was requested, CLOCK_BOOTTIME ns; only of [`Outcome::Requested`].
    pub asked_ns: Option<u64>,
}

impl PlatformProfile {
    /// A stored file of a trigger, with nothing else known about it.
    #[must_use]
    pub fn stored(trigger: &str, path: &str, bytes: u64) -> Self {
        Self {
            trigger: trigger.to_owned(),
            outcome: Outcome::Stored,
            path: path.to_owned(),
            bytes,
            time_ms: 0,
            tag: String::new(),
            asked_ns: None,
        }
    }

    /// The section's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut lines = Lines::default();
        lines.text("trigger", &self.trigger);
        lines.text("outcome", self.outcome.word());
        if self.outcome == Outcome::Stored {
            lines.text("path", &self.path);
            lines.number("bytes", self.bytes);
        }
        lines.number("time_ms", self.time_ms);
        if !self.tag.is_empty() {
            lines.text("tag", &self.tag);
        }
        lines.numbers("asked_ns", self.asked_ns);
        lines.into_bytes()
    }

    /// Reads a payload; `None` if it is too long, or the file is said to be there without a path or a length.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let text = text_of(SectionKind::PlatformProfile, payload)?;
        let keys = Keys::new(&text);
        let outcome =
            keys.text("outcome").map_or(Outcome::Stored, |word| word.parse().unwrap_or(Outcome::Unknown));
        let (path, bytes) = match outcome {
            Outcome::Stored => (keys.owned("path")?, keys.number("bytes")?),
            _ => (String::new(), 0),
        };
        Some(Self {
            trigger: keys.owned("trigger").unwrap_or_else(|| ANR.to_owned()),
            outcome,
            path,
            bytes,
            time_ms: keys.number("time_ms").unwrap_or(0),
            tag: keys.owned("tag").unwrap_or_default(),
            asked_ns: keys.time("asked_ns"),
        })
    }

    /// The file's name, without its directory; empty unless it is stored.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::MAX_TIME;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn profiles_round_trip(
            trigger in "[a-z_]{1,20}", path in "/[a-z/é]{0,20}[a-z]", bytes: u64, time_ms: u64, tag in "[a-z0-9-]{0,9}",
            outcome in prop::sample::select(Outcome::ALL), asked_ns in prop::option::of(1..MAX_TIME),
        ) {
            let stored = outcome == Outcome::Stored;
            let (path, bytes) = if stored { (path, bytes) } else { (String::new(), 0) };
            let profile = PlatformProfile { trigger, outcome, path, bytes, time_ms, tag, asked_ns };
            let payload = profile.encode();
            prop_assert_eq!(PlatformProfile::parse(&payload), Some(profile));
            (0..payload.len()).for_each(|cut| drop(PlatformProfile::parse(&payload[..cut])));
        }
    }

    #[test]
    fn a_stored_profile_has_a_path_and_a_length() {
        let least = b"path=/data/user/0/a.b/files/profiling/p.perfetto-trace\nbytes=12\n";
        let read = PlatformProfile::parse(least).unwrap();
        assert_eq!((read.file_name(), read.bytes, read.time_ms), ("p.perfetto-trace", 12, 0));
        assert_eq!((read.trigger.as_str(), read.outcome), (ANR, Outcome::Stored));
        assert_eq!(PlatformProfile::parse(b"path=/x\n"), None);
    }

    #[test]
    fn what_is_not_stored_has_no_path() {
        let read =
            PlatformProfile::parse(b"trigger=oom\noutcome=rate_limit_process\npath=/x\nbytes=1\n").unwrap();
        assert_eq!((read.outcome, read.path.as_str(), read.bytes), (Outcome::RateLimitProcess, "", 0));
        let later = PlatformProfile::parse(b"outcome=of a later version\n").unwrap();
        assert_eq!((later.outcome, later.asked_ns), (Outcome::Unknown, None));
    }

    #[test]
    fn each_error_of_the_platform_has_a_word() {
        let words: Vec<_> = (-2..=9).map(|code| Outcome::of_error(code).word()).collect();
        let expected = "unknown unknown stored rate_limit_system rate_limit_process in_progress failed post_processing \
                        no_disk_space invalid_request unknown unknown";
        assert_eq!(words.join(" "), expected);
    }
}
