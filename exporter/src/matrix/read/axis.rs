//! Converts Matrix's milliseconds to the recording's time axis.

use trace_format::time::{MS, SECOND};

/// Time of the first word on the recording's axis, ns: 0 would mean "unknown".
pub(super) const BASE: u64 = SECOND;
/// The maximum plausible millisecond: ten years. Later values are clamped.
pub(super) const MAX_MS: u64 = 10 * 365 * 86_400_000;

/// Converts to the recording's axis.
pub(super) fn at(ms: u64) -> u64 {
    BASE + ms.min(MAX_MS) * MS
}
