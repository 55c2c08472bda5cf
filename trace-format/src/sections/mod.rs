//! The payloads of sections: one module per type, each with its keys, its bounds, `encode` and `parse`.
//!
//! The recorder writes with `encode` and every reader reads with `parse`, so that each key is spelled in one place. All
//! parsers treat their input as untrusted and share one policy:
//! * a payload longer than [`max_len`] is not read;
//! * text is UTF-8, and bytes that are not become U+FFFD; lines end with LF or CRLF;
//! * the first line of a key counts; keys that are not known, and values that cannot be read, are skipped;
//! * a time that a type requires is in `1..MAX_TIME`, else there is no value of that type.
//!
//! A parser takes memory in proportion to its payload. How many sections of a type a reader keeps is up to the reader.

mod lines;

pub mod anr_snapshot;
pub mod component;
pub mod configuration;
pub mod exit_info;
pub mod native_frames;
pub mod native_modules;
pub mod native_stack;
pub mod overhead;
pub mod process;
pub mod profile;
pub mod self_measurement;
pub mod stack_samples;
pub mod startup;
pub mod system_state;
pub mod timed;
pub mod verdict;

pub use lines::Keys;

use std::borrow::Cow;

use crate::UnknownNumber;
use crate::section::{MAX_PAYLOAD, SectionKind};

/// The latest time that a reader accepts, CLOCK_BOOTTIME ns: a later one is damage, and trace engines drop times beyond 2^63.
pub const MAX_TIME: u64 = 1 << 62;

/// The types of sections by their numbers, which begin with 1, and the longest payload of each that is read, in bytes.
const KINDS: [(SectionKind, u64); 18] = [
    (SectionKind::Strings, MAX_PAYLOAD),
    (SectionKind::Process, 64 << 10),
    (SectionKind::DumpText, 32 << 20),
    (SectionKind::StackSamples, 32 << 20),
    (SectionKind::Verdict, verdict::MAX_LEN as u64),
    (SectionKind::ExitInformation, 16 << 20),
    (SectionKind::Configuration, 64 << 10),
    (SectionKind::SelfMeasurement, 4 << 10),
    (SectionKind::Issue, 1 << 20),
    // A queue of ten thousand messages.
    (SectionKind::AnrSnapshot, 4 << 20),
    (SectionKind::Startup, 4 << 10),
    (SectionKind::PlatformProfile, 1 << 20),
    (SectionKind::Overhead, 4 << 20),
    (SectionKind::NativeModules, 4 << 20),
    (SectionKind::NativeStack, native_stack::MAX_LEN as u64),
    (SectionKind::NativeFrames, 1 << 20),
    (SectionKind::SystemState, 1 << 20),
    (SectionKind::Component, 4 << 10),
];

/// The longest payload of a type that is read, in bytes.
#[must_use]
pub const fn max_len(kind: SectionKind) -> u64 {
    KINDS[kind as usize - 1].1
}

impl TryFrom<u16> for SectionKind {
    type Error = UnknownNumber;

    /// The type with this number.
    ///
    /// ```
    /// use trace_format::section::SectionKind;
    ///
    /// assert_eq!(SectionKind::try_from(5), Ok(SectionKind::Verdict));
    /// assert!(SectionKind::try_from(999).is_err(), "of a later version");
    /// ```
    fn try_from(number: u16) -> Result<Self, UnknownNumber> {
        let row = usize::from(number).checked_sub(1).and_then(|row| KINDS.get(row));
        row.map(|(kind, _)| *kind).ok_or(UnknownNumber(number.into()))
    }
}

/// Whether a payload is short enough to be read.
fn is_bounded(kind: SectionKind, payload: &[u8]) -> bool {
    payload.len() as u64 <= max_len(kind)
}

/// The text of a payload; `None` if it is longer than one of its kind may be.
fn text_of(kind: SectionKind, payload: &[u8]) -> Option<Cow<'_, str>> {
    is_bounded(kind, payload).then(|| String::from_utf8_lossy(payload))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sections::overhead::Line;
    use crate::sections::stack_samples::Samples;

    /// Calls every parser.
    fn parse_all(payload: &[u8]) {
        let _ = anr_snapshot::AnrSnapshot::parse(payload);
        let _ = component::Component::parse(payload);
        let _ = configuration::parse(payload);
        let _ = exit_info::ExitInformation::parse(payload);
        let _ = native_frames::NativeFrames::parse(payload);
        let _ = native_modules::NativeModules::parse(payload);
        let _ = native_stack::NativeStack::parse(payload);
        let _ = process::Process::parse(payload);
        let _ = profile::PlatformProfile::parse(payload);
        let _ = self_measurement::SelfMeasurement::parse(payload);
        let _ = startup::Startup::parse(payload);
        let _ = system_state::SystemState::parse(payload);
        let _ = timed::parse(SectionKind::DumpText, payload);
        let _ = verdict::Verdict::parse(payload);
        let text = String::from_utf8_lossy(payload);
        text.lines().for_each(|line| {
            let _ = Line::parse(line);
        });
        let mut samples = Samples::new(&text);
        while samples.next().is_some() {}
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_parser_panic(
            bytes: Vec<u8>,
            text in "(@[0-9]{0,21} [0-9]{0,21}\r?\n|(at|kind|begin|end|bytes|path|clock|pid)=[a-z0-9.]{0,21}\r?\n|\r?\n|[0-9]{0,9} (cost|off|on)[ 0-9.]{0,9}\n|.{0,9}){0,20}",
        ) {
            parse_all(&bytes);
            (0..=text.len()).for_each(|cut| parse_all(&text.as_bytes()[..cut]));
        }
    }

    #[test]
    fn a_payload_beyond_its_bound_is_not_read() {
        let long = |kind, head: &str| {
            let mut payload = head.as_bytes().to_vec();
            payload.resize(max_len(kind) as usize + 1, b'\n');
            payload
        };
        let of = anr_snapshot::AnrSnapshot::parse;
        assert!(of(b"at=1\n").is_some() && of(&long(SectionKind::AnrSnapshot, "at=1\n")).is_none());
        let text = "kind=cold\nbegin=1\nend=2\n";
        let of = startup::Startup::parse;
        assert!(of(text.as_bytes()).is_some() && of(&long(SectionKind::Startup, text)).is_none());
    }
}
