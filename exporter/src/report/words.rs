//! How durations and counts are told.

/// A duration with the digits that matter.
pub(crate) fn seconds(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{:.3} ms", ns as f64 / 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}

/// `1 message`, `2 messages`.
pub(super) fn times(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
