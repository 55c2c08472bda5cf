//! From Matrix's milliseconds to the recording's axis.

/// Where the first word is put on the recording's axis, ns: 0 would mean "not known".
pub(super) const BASE: u64 = 1_000_000_000;
/// A millisecond, ns.
pub(super) const MS: u64 = 1_000_000;
/// The last millisecond that is believed: ten years. What lies beyond is put there.
pub(super) const MAX_MS: u64 = 10 * 365 * 86_400_000;

/// A moment on the recording's axis.
pub(super) fn at(ms: u64) -> u64 {
    BASE + ms.min(MAX_MS) * MS
}
