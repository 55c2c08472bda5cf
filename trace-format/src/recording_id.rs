//! The id of a recording: text by which the system's account of a process, and a trace that the process asked for,
//! find the recording again.
//!
//! A pid alone is reused. Two processes with one pid cannot have started in the same nanosecond.

/// The id of the recording of process `pid` that started at `start_ns`, ns since 1970 (the header's pid and start by
/// CLOCK_REALTIME): at most 36 ASCII letters, digits and dashes.
///
/// ```
/// assert_eq!(trace_format::recording_id(7999, 0x18f0_0000_0000_00ff), "anrscope-7999-18f00000000000ff");
/// ```
#[must_use]
pub fn recording_id(pid: u32, start_ns: u64) -> String {
    format!("anrscope-{pid}-{start_ns:016x}")
}
