//! The location of the platform's profile of an ANR (ProfilingManager, API 36): the payload of [`SectionKind::AnrProfile`].
//!
//! ```text
//! path=<on the device>    bytes=<length of the file>    time_ms=<when it was complete, ms since 1970>
//! ```

use super::is_bounded;
use super::lines::{Keys, Lines};
use crate::section::SectionKind;

/// A profile that the platform took of an ANR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnrProfile {
    /// Its path on the device.
    pub path: String,
    /// Its length, bytes.
    pub bytes: u64,
    /// When it was complete, ms since 1970; 0 if that is not known.
    pub time_ms: u64,
}

impl AnrProfile {
    /// The section's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut lines = Lines::default();
        lines.text("path", &self.path);
        lines.number("bytes", self.bytes);
        lines.number("time_ms", self.time_ms);
        lines.into_bytes()
    }

    /// Reads a payload; `None` if it is too long, or has no path or no length.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        if !is_bounded(SectionKind::AnrProfile, payload) {
            return None;
        }
        let text = String::from_utf8_lossy(payload);
        let keys = Keys::new(&text);
        Some(Self {
            path: keys.owned("path")?,
            bytes: keys.number("bytes")?,
            time_ms: keys.number("time_ms").unwrap_or(0),
        })
    }

    /// The file's name, without its directory.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn profiles_round_trip(path in "/[a-z/é]{0,20}[a-z]", bytes: u64, time_ms: u64) {
            let profile = AnrProfile { path, bytes, time_ms };
            let payload = profile.encode();
            prop_assert_eq!(AnrProfile::parse(&payload), Some(profile));
            (0..payload.len()).for_each(|cut| drop(AnrProfile::parse(&payload[..cut])));
        }
    }

    #[test]
    fn a_profile_has_a_path_and_a_length() {
        let whole = b"path=/data/user/0/a.b/files/profiling/p.perfetto-trace\nbytes=12\n";
        let read = AnrProfile::parse(whole).unwrap();
        assert_eq!((read.file_name(), read.bytes, read.time_ms), ("p.perfetto-trace", 12, 0));
        assert_eq!(AnrProfile::parse(b"path=/x\n"), None);
    }
}
