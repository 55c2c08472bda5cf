//! The system's log of critical events, which precedes the dump since Android 13:
//!
//! ```text
//! --- CriticalEventLog ---
//! capacity: 20
//! events <
//!   timestamp_ms: 1752740815776
//!   anr <
//!     pid: 19451
//!     subject: "..."
//!   >
//! >
//! timestamp_ms: 1752741061618
//! window_ms: 300000
//! ```

use serde::{Serialize, Serializer};

use super::limits::{self, cut};

/// Maximum length of a name or value, in bytes.
const MAX_VALUE: usize = 4 << 10;

/// One event.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CriticalEvent {
    /// Time in ms since 1970.
    pub timestamp_ms: Option<u64>,
    /// Kind: `anr`, `java_crash`, `native_crash`, `watchdog`, `half_watchdog`, ...
    pub kind: String,
    /// Values by name in the log's order; texts without their quotes.
    #[serde(serialize_with = "serialize_values")]
    pub values: Vec<(String, String)>,
}

impl CriticalEvent {
    /// The value with this name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Serializes values as one object.
fn serialize_values<S: Serializer>(values: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(name, value)| (name, value)))
}

/// Parses the log line by line.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventLog {
    /// Nesting depth of `<`; `None` before the log's title.
    depth: Option<u32>,
    open: CriticalEvent,
    pub(crate) events: Vec<CriticalEvent>,
    /// Events beyond [`limits::REMARKS`].
    pub(crate) dropped: u64,
}

impl EventLog {
    /// Whether an event is open.
    pub(crate) fn is_open(&self) -> bool {
        self.depth.is_some_and(|depth| depth > 0)
    }

    /// Ends the log: a process follows.
    pub(crate) fn end(&mut self) {
        self.depth = None;
    }

    /// Takes a line; returns whether it belongs to the log.
    pub(crate) fn take(&mut self, line: &str) -> bool {
        let text = line.trim();
        if text == "--- CriticalEventLog ---" {
            self.depth = Some(0);
            return true;
        }
        let Some(depth) = self.depth else { return false };
        if let Some(name) = text.strip_suffix(" <") {
            if depth == 0 {
                self.open = CriticalEvent::default();
            } else if depth == 1 {
                self.open.kind = cut(name, MAX_VALUE).to_owned();
            }
            self.depth = Some(depth.saturating_add(1));
            return true;
        }
        if text == ">" && depth > 0 {
            self.depth = Some(depth - 1);
            if depth == 1 {
                let event = std::mem::take(&mut self.open);
                if self.events.len() < limits::REMARKS {
                    self.events.push(event);
                } else {
                    self.dropped += 1;
                }
            }
            return true;
        }
        match text.split_once(": ") {
            Some((key, value)) if key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') => {
                let value = value.strip_prefix('"').map_or(value, |v| v.strip_suffix('"').unwrap_or(v));
                if depth == 1 && key == "timestamp_ms" {
                    self.open.timestamp_ms = value.parse().ok();
                } else if depth > 1 && self.open.values.len() < limits::REMARKS {
                    self.open.values.push((cut(key, MAX_VALUE).to_owned(), cut(value, MAX_VALUE).to_owned()));
                }
                true
            }
            _ => {
                // This line is no longer part of the log. A blank line may be within it.
                if !text.is_empty() {
                    self.depth = None;
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_and_the_end_is_seen() {
        let mut log = EventLog::default();
        assert!(!log.take("pid: 1"));
        let text = "--- CriticalEventLog ---\ncapacity: 20\nevents <\n  timestamp_ms: 17\n  anr <\n    pid: 7\n    \
            subject: \"a \"b\": c\"\n  >\n>\nevents <\n  watchdog <\n  >\n>\ntimestamp_ms: 18\nwindow_ms: 300000";
        for line in text.lines() {
            assert!(log.take(line), "{line}");
        }
        assert!(!log.take(""));
        assert!(!log.take("----- pid 7 at x -----"));
        assert!(!log.take("pid: 8"));
        let anr = &log.events[0];
        assert_eq!(
            (anr.timestamp_ms, anr.kind.as_str(), anr.value("subject")),
            (Some(17), "anr", Some("a \"b\": c"))
        );
        assert_eq!((log.events.len(), log.events[1].kind.as_str()), (2, "watchdog"));
    }
}
