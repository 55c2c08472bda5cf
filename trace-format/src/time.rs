//! Units of time. All times of a recording, and of the rules and pages that judge it, are nanoseconds.

/// A millisecond, in ns.
pub const MS: u64 = 1_000_000;
/// A second, in ns.
pub const SECOND: u64 = 1_000 * MS;
