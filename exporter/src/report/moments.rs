//! Formats moments.

use super::findings::Report;
use crate::utc;

/// A moment, in seconds since the start of the recording.
pub(super) fn moment(report: &Report, at: u64) -> String {
    let start = report.start.boottime;
    if at >= start {
        format!("+{:.3} s", (at - start) as f64 / 1e9)
    } else {
        format!("-{:.3} s", (start - at) as f64 / 1e9)
    }
}

/// A moment as date and time of day by the device's clock at the start of the recording; `None` if that was not read.
pub(super) fn time_of_day(report: &Report, at: u64) -> Option<String> {
    let start = report.start;
    let seconds = start.realtime.saturating_add(at).saturating_sub(start.boottime) / 1_000_000_000;
    (start.realtime > 0).then(|| format!("{} {} UTC", utc::date(seconds), utc::time_of_day(seconds)))
}
