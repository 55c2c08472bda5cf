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

use crate::section::{MAX_PAYLOAD, SectionKind};

/// The latest time that a reader accepts, CLOCK_BOOTTIME ns: a later one is damage, and trace engines drop times beyond 2^63.
pub const MAX_TIME: u64 = 1 << 62;

/// The longest payload of a type that is read, in bytes.
#[must_use]
pub const fn max_len(kind: SectionKind) -> u64 {
    match kind {
        SectionKind::Strings => MAX_PAYLOAD,
        SectionKind::DumpText | SectionKind::StackSamples => 32 << 20,
        SectionKind::ExitInformation => 16 << 20,
        SectionKind::NativeModules => native_modules::MAX_LEN as u64,
        SectionKind::NativeStack => native_stack::MAX_LEN as u64,
        // A queue of ten thousand messages.
        SectionKind::AnrSnapshot | SectionKind::Overhead => 4 << 20,
        SectionKind::SystemState => system_state::MAX_LEN as u64,
        SectionKind::Issue | SectionKind::PlatformProfile | SectionKind::NativeFrames => 1 << 20,
        SectionKind::Process | SectionKind::Configuration => 64 << 10,
        SectionKind::Verdict => verdict::MAX_LEN as u64,
        SectionKind::Startup | SectionKind::SelfMeasurement | SectionKind::Component => 4 << 10,
    }
}

/// Whether a payload is short enough to be read.
fn is_bounded(kind: SectionKind, payload: &[u8]) -> bool {
    payload.len() as u64 <= max_len(kind)
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
