//! Sections: what is appended behind the mapped part, by a worker of the process or by a later one.
//!
//! ```text
//!  0  4  magic "SECT"             16  4  CRC-32 of the payload
//!  4  2  type                     20  4  CRC-32 of bytes 0..20
//!  6  2  version of that type     24  8  reserved, zero
//!  8  8  length of the payload    32 ...  payload, padded with zeros to a multiple of 8
//! ```
//! Unknown types are skipped. A section whose payload does not match its sum is left out and told; a
//! broken section header ends the walk, because nothing says where the next one starts.

use crate::crc32::crc32;

/// First bytes of a section.
pub const MAGIC: [u8; 4] = *b"SECT";
/// Length of a section's header.
pub const HEADER_LEN: usize = 32;
/// The longest payload a reader takes (a full ART dump of a large app is under 4 MiB).
pub const MAX_PAYLOAD: u64 = 64 << 20;

/// Types of sections. Numbers are never reused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum SectionKind {
    /// More strings, in the string region's entry form.
    Strings = 1,
    /// `key=value` lines of the process and its system: `name`, `abi`, `os`, `version` (the recorder's), and where they are
    /// known `kernel`, `kernel_release`, `kernel_version`, `machine` (as `uname` has them), `page_size` (bytes),
    /// `parent_pid`, `sdk` and `fingerprint` (Android's).
    Process = 2,
    /// Time (8 bytes, BOOTTIME ns: of the signal that asked for it, where that is known) and the text of a thread
    /// dump, byte for byte as it was written (UTF-8 as a rule).
    DumpText = 3,
    /// Stack samples of main, taken while it was stuck. UTF-8 lines: `@TIME KEEP` begins a sample (BOOTTIME ns; how many of
    /// the outermost frames are those of the sample before), and the other frames follow, innermost first, each as
    /// `class.method(File.java:line)` as Java's `StackTraceElement` writes it. The first sample keeps 0.
    StackSamples = 4,
    /// `key=value` lines: what a SIGQUIT was and why, see [`crate::verdict`].
    Verdict = 5,
    /// `key=value` lines, a blank line, then the text of an ApplicationExitInfo.
    ExitInformation = 6,
    /// `key=value` lines: the configuration in force.
    Configuration = 7,
    /// `key=value` lines: what recording costs on this device, measured when it started. `clock` (what is read: `cycle
    /// counter` or `vDSO`), `ns_per_event_coarse` and `ns_per_event_precise` (decimal numbers).
    SelfMeasurement = 8,
    /// Time (8 bytes, BOOTTIME ns) and a report as the app got it: one JSON object with Matrix's keys.
    Issue = 9,
    /// `key=value` lines, a blank line, main's Java stack (a frame a line, innermost first), and after another blank line
    /// the messages that were waiting, in the form of `Looper.dump`: what was known at the instant at which an ANR was
    /// found. `docs/monitors.md` lists the keys; every time is BOOTTIME ns.
    AnrSnapshot = 10,
    /// `key=value` lines of a start or a page that is complete. `docs/monitors.md` lists the keys.
    Startup = 11,
    /// `key=value` lines: where the platform left a profile of an ANR (ProfilingManager, API 36): `path` on the device, `bytes`, and
    /// `time_ms`, when it was complete, ms since 1970.
    AnrProfile = 12,
    /// Lines of what recording costs, as it was measured while it ran, and of methods that were switched off for it. Each begins with
    /// a time (BOOTTIME ns) and a word:
    /// ```text
    /// TIME cost NS EVENTS PERCENT     an event takes NS (decimal), so many EVENTS a second, together PERCENT (decimal) of the threads' time
    /// TIME off ID CALLS               the method is not recorded from here on; it was called CALLS times a second
    /// TIME on ID                      it is recorded again
    /// ```
    Overhead = 13,
}

impl SectionKind {
    /// The type with this number, if this version knows it.
    #[must_use]
    pub fn of_number(number: u16) -> Option<Self> {
        use SectionKind::*;
        [
            Strings,
            Process,
            DumpText,
            StackSamples,
            Verdict,
            ExitInformation,
            Configuration,
            SelfMeasurement,
            Issue,
            AnrSnapshot,
            Startup,
            AnrProfile,
            Overhead,
        ]
        .into_iter()
        .find(|kind| *kind as u16 == number)
    }
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
    /// Its type; see [`SectionKind::of_number`].
    pub kind: u16,
    /// The version of that type.
    pub version: u16,
    /// Length of the payload in bytes, without the zeros behind it. Nothing is said about whether so much is there.
    pub length: u64,
    pub(crate) sum: u32,
}

impl SectionHeader {
    /// Reads a header; `None` if its own sum is wrong or it is none.
    #[must_use]
    pub fn parse(bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        if bytes[..4] != MAGIC || u32_at(20) != crc32(&bytes[..20]) {
            return None;
        }
        let length = u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes"));
        Some(Self { kind: u16_at(4), version: u16_at(6), length, sum: u32_at(16) })
    }
}

/// Reads `key=value` lines; lines without `=` are passed over.
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
        for n in 1..=13 {
            assert_eq!(SectionKind::of_number(n).unwrap() as u16, n);
        }
        assert_eq!(SectionKind::of_number(14), None);
    }
}
