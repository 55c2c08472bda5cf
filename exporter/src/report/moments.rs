//! Formats moments.

use super::findings::Report;

/// A moment, in seconds since the start of the recording.
pub(super) fn moment(report: &Report, at: u64) -> String {
    let start = report.start.boottime;
    if at >= start {
        format!("+{:.3} s", (at - start) as f64 / 1e9)
    } else {
        format!("-{:.3} s", (start - at) as f64 / 1e9)
    }
}

/// A moment as time of day by the device's clock at the start of the recording; `None` if that was not read.
pub(super) fn time_of_day(report: &Report, at: u64) -> Option<String> {
    let start = report.start;
    (start.realtime > 0).then(|| utc(start.realtime.saturating_add(at).saturating_sub(start.boottime)))
}

/// Nanoseconds since 1970 as date and time.
fn utc(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Years are counted from 1 March of the year 0, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (1_709_251_200, "2024-03-01 00:00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds * 1_000_000_000), expected);
        }
        assert!(utc(u64::MAX).starts_with("2554-"));
    }
}
