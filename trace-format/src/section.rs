//! Sections: data that a worker of the process, or of a later one, appends behind the mapped part.
//!
//! ```text
//!  0  4  magic "SECT"             16  4  CRC-32 of the payload
//!  4  2  type                     20  4  CRC-32 of bytes 0..20
//!  6  2  version of that type     24  8  reserved, zero
//!  8  8  length of the payload    32 ...  payload, padded with zeros to a multiple of 8
//! ```
//! Unknown types are skipped. A section whose payload does not match its sum is skipped and reported as a fault; a
//! broken section header ends the walk, since the start of the next section is unknown.

use crate::crc32::crc32;
use crate::layout::{u16_at, u32_at, u64_at};

/// First bytes of a section.
pub const MAGIC: [u8; 4] = *b"SECT";
/// Length of a section's header.
pub const HEADER_LEN: usize = 32;
/// Where the two sums stand in a header.
pub(crate) const SUMS: usize = 16;
/// The longest payload a reader takes (a full ART dump of a large app is under 4 MiB).
pub const MAX_PAYLOAD: u64 = 64 << 20;

/// Types of sections. Numbers are never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u16)]
pub enum SectionKind {
    /// More strings, in the string region's entry form.
    Strings = 1,
    /// The process and its system: [`crate::sections::process`].
    Process = 2,
    /// The text of a thread dump, byte for byte as it was written (UTF-8 as a rule), and the time of the signal that requested
    /// it, if that is known: [`crate::sections::timed`].
    DumpText = 3,
    /// Samples of main's stack, taken during a stall: [`crate::sections::stack_samples`].
    StackSamples = 4,
    /// What a SIGQUIT was and why: [`crate::sections::verdict`].
    Verdict = 5,
    /// The system's information about a process that is gone: [`crate::sections::exit_info`].
    ExitInformation = 6,
    /// The configuration in force: [`crate::sections::configuration`].
    Configuration = 7,
    /// What an event costs on this device, measured when the recorder started: [`crate::sections::self_measurement`].
    SelfMeasurement = 8,
    /// A report as the app got it, one JSON object with Matrix's keys, and its time: [`crate::sections::timed`].
    Issue = 9,
    /// The state of the app when an ANR was detected: [`crate::sections::anr_snapshot`].
    AnrSnapshot = 10,
    /// A start or a page that is complete: [`crate::sections::startup`].
    Startup = 11,
    /// What the platform stored at its triggers, or did not (ProfilingManager, API 36): [`crate::sections::profile`].
    PlatformProfile = 12,
    /// What recording costs while it runs, and methods that were switched off for it: [`crate::sections::overhead`].
    Overhead = 13,
    /// What native code was mapped, and what is needed to unwind it: [`crate::sections::native_modules`].
    NativeModules = 14,
    /// A thread's registers and stack bytes, or what is left of them after the bytes were wiped: [`crate::sections::native_stack`].
    NativeStack = 15,
    /// The frames of a native stack, unwound and named on the device: [`crate::sections::native_frames`].
    NativeFrames = 16,
    /// What the process and the system did at one moment: [`crate::sections::system_state`].
    SystemState = 17,
    /// The component that a stalled message of main runs: [`crate::sections::component`].
    Component = 18,
}

/// A whole section, ready to be appended at a multiple of 8.
#[must_use]
pub fn encode(kind: SectionKind, version: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_LEN + payload.len().next_multiple_of(8));
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&(kind as u16).to_le_bytes());
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    out.extend_from_slice(&crc32(payload).to_le_bytes());
    let header_sum = crc32(&out);
    out.extend_from_slice(&header_sum.to_le_bytes());
    out.resize(HEADER_LEN, 0);
    out.extend_from_slice(payload);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

/// A section's header, checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectionHeader {
    /// Its type; see [`SectionKind`].
    pub kind: u16,
    /// The version of that type.
    pub version: u16,
    /// Length of the payload in bytes, without the zeros behind it. The file may hold less.
    pub length: u64,
    pub(crate) sum: u32,
}

impl SectionHeader {
    /// Reads a header; `None` if its sum is wrong or it is no header.
    #[must_use]
    pub fn parse(bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        if bytes[..4] != MAGIC || u32_at(bytes, 20) != crc32(&bytes[..20]) {
            return None;
        }
        let (kind, version) = (u16_at(bytes, 4), u16_at(bytes, 6));
        Some(Self { kind, version, length: u64_at(bytes, 8), sum: u32_at(bytes, 16) })
    }
}

/// Reads `key=value` lines; lines without `=` are skipped.
pub fn key_values(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn header_round_trips_and_notices_any_changed_byte(payload: Vec<u8>, at in 0usize..24, flip in 1u8..) {
            let bytes = encode(SectionKind::DumpText, 3, &payload);
            let mut header: [u8; HEADER_LEN] = bytes[..HEADER_LEN].try_into().unwrap();
            let parsed = SectionHeader::parse(&header).unwrap();
            prop_assert_eq!((parsed.kind, parsed.version, parsed.length), (3, 3, payload.len() as u64));
            prop_assert_eq!(parsed.sum, crc32(&payload));
            header[at] ^= flip;
            prop_assert_eq!(SectionHeader::parse(&header), None);
        }
    }

    #[test]
    fn kinds_keep_their_numbers() {
        for n in 1..=18 {
            assert_eq!(SectionKind::try_from(n).unwrap() as u16, n);
        }
        assert_eq!(SectionKind::try_from(19), Err(crate::UnknownNumber(19)));
    }
}
