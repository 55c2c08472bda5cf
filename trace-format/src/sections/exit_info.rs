//! The system's information about a process that is gone (API 30, `ApplicationExitInfo`): the payload of
//! [`SectionKind::ExitInformation`].
//!
//! ```text
//! pid=    process=<name>    time_ms=<ms since 1970>
//! reason=<word> reason_number=<ApplicationExitInfo.getReason()>
//! trace=none | ours | foreign | redacted    whose threads the system's text shows
//! more keys, as the system names them
//!
//! the system's text, byte for byte, if it shows this app's threads
//! ```

use super::is_bounded;
use super::lines::{Keys, Lines};
use crate::section::{SectionKind, key_values};

words! {
    /// The process whose threads the system's text shows.
    Trace {
        /// The system has no text.
        None = "none",
        /// The process's own.
        Ours = "ours",
        /// Those of another process: of the system, or of one that had the pid before. Left out.
        Foreign = "foreign",
        /// A tombstone, which cannot be redacted here. Left out.
        Redacted = "redacted",
    }
}

/// The system's information about a process that is gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExitInformation {
    /// The process; 0 if that is not known.
    pub pid: u32,
    /// Its name.
    pub process: String,
    /// When it ended, ms since 1970; 0 if that is not known.
    pub time_ms: u64,
    /// The reason, a word such as `anr`; empty if that is not known.
    pub reason: String,
    /// The system's number for that.
    pub reason_number: i32,
    /// Whose threads the text shows.
    pub trace: Trace,
    /// Other information of the system, by key.
    pub more: Vec<(String, String)>,
    /// The system's text.
    pub text: Vec<u8>,
}

const KEYS: [&str; 6] = ["pid", "process", "time_ms", "reason", "reason_number", "trace"];

impl ExitInformation {
    /// The section's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut lines = Lines::default();
        lines.number("pid", self.pid);
        lines.text("process", &self.process);
        lines.number("time_ms", self.time_ms);
        lines.text("reason", &self.reason);
        lines.number("reason_number", self.reason_number);
        lines.text("trace", self.trace.word());
        self.more.iter().for_each(|(key, value)| lines.text(key, value));
        let mut out = lines.into_bytes();
        out.push(b'\n');
        out.extend_from_slice(&self.text);
        out
    }

    /// Reads a payload; `None` if it is too long. Missing keys read as not known.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        is_bounded(SectionKind::ExitInformation, payload).then(|| {
            let (head, text) = split(payload);
            let head = String::from_utf8_lossy(head);
            let keys = Keys::new(&head);
            let more = key_values(&head).filter(|(key, _)| !KEYS.contains(key));
            Self {
                pid: keys.number("pid").unwrap_or(0),
                process: keys.owned("process").unwrap_or_default(),
                time_ms: keys.number("time_ms").unwrap_or(0),
                reason: keys.owned("reason").unwrap_or_default(),
                reason_number: keys.number("reason_number").unwrap_or(0),
                trace: keys.text("trace").and_then(|word| word.parse().ok()).unwrap_or(Trace::None),
                more: more.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
                text: text.to_vec(),
            }
        })
    }
}

/// Keys, and behind the blank line the text.
fn split(payload: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for line in payload.split_inclusive(|byte| *byte == b'\n') {
        let next = at + line.len();
        if matches!(line, b"\n" | b"\r\n") {
            return (&payload[..at], &payload[next..]);
        }
        at = next;
    }
    (payload, &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exits_round_trip(
            numbers: (u32, u64, i32),
            process in "[a-z.]{0,9}",
            trace in prop::sample::select(Trace::ALL),
            more in prop::collection::vec(("[f-h]{1,5}", "[a-z =]{0,9}"), 0..4),
            text: Vec<u8>,
        ) {
            let (pid, time_ms, reason_number) = numbers;
            let exit = ExitInformation {
                pid, process, time_ms, reason: "anr".to_owned(), reason_number, trace, more, text,
            };
            let payload = exit.encode();
            prop_assert_eq!(ExitInformation::parse(&payload), Some(exit.clone()));
            for cut in 0..payload.len() {
                let read = ExitInformation::parse(&payload[..cut]).unwrap();
                prop_assert!(exit.text.starts_with(&read.text));
            }
        }
    }

    #[test]
    fn what_is_missing_is_not_known() {
        let read = ExitInformation::parse(b"importance=100\r\n\r\nx").unwrap();
        assert_eq!((read.pid, read.reason.as_str(), read.trace), (0, "", Trace::None));
        assert_eq!((read.more.len(), read.text), (1, b"x".to_vec()));
    }
}
