//! The configuration in force: the payload of [`SectionKind::Configuration`].
//!
//! `key=value` lines with whole numbers. The recorder's settings are the keys; a reader shows all of them.

use super::lines::Lines;
use super::text_of;
use crate::section::{SectionKind, key_values};

/// The payload for these settings.
#[must_use]
pub fn encode(settings: &[(&str, u64)]) -> Vec<u8> {
    let mut lines = Lines::default();
    for (key, value) in settings {
        lines.number(key, *value);
    }
    lines.into_bytes()
}

/// The settings of a payload, in its order; none of one that is too long.
#[must_use]
pub fn parse(payload: &[u8]) -> Vec<(String, u64)> {
    let text = text_of(SectionKind::Configuration, payload).unwrap_or_default();
    key_values(&text).filter_map(|(key, value)| Some((key.to_owned(), value.trim().parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_round_trip() {
        let settings = [("coarse", 1), ("stall_ns", 5_000_000_000)];
        assert_eq!(encode(&settings), b"coarse=1\nstall_ns=5000000000\n");
        let read = parse(&encode(&settings));
        assert_eq!(read, settings.map(|(key, value)| (key.to_owned(), value)));
        assert_eq!(parse(b"a=b\n=\nc=-1\n"), []);
    }
}
