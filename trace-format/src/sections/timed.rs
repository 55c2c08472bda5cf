//! A time and bytes of that time: the payload of [`SectionKind::DumpText`] and of [`SectionKind::Issue`].
//!
//! ```text
//! 0  8  CLOCK_BOOTTIME ns      8 ...  the bytes: a thread dump as it was written, or one JSON object
//! ```

use super::is_bounded;
use crate::section::SectionKind;

/// The section's payload.
#[must_use]
pub fn encode(at: u64, bytes: &[u8]) -> Vec<u8> {
    [&at.to_le_bytes()[..], bytes].concat()
}

/// The time and the bytes of a payload of this type; `None` if it is too long, or too short for a time.
#[must_use]
pub fn parse(kind: SectionKind, payload: &[u8]) -> Option<(u64, &[u8])> {
    let (time, bytes) = payload.split_first_chunk::<8>()?;
    is_bounded(kind, payload).then_some((u64::from_le_bytes(*time), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_and_bytes_round_trip(at: u64, bytes: Vec<u8>) {
            let payload = encode(at, &bytes);
            prop_assert_eq!(parse(SectionKind::Issue, &payload), Some((at, &bytes[..])));
            prop_assert_eq!(parse(SectionKind::Issue, &payload[..7]), None);
        }
    }
}
