//! The calendar: seconds since 1970 as a date and a time of day.

/// Formats the date, such as `2024-02-29`.
pub(crate) fn date(seconds: u64) -> String {
    // Years are counted from 1 March of the year 0, so that a leap day is the last of its year.
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Formats the time of day, such as `23:59:59`.
pub(crate) fn time_of_day(seconds: u64) -> String {
    let of_day = seconds % 86_400;
    format!("{:02}:{:02}:{:02}", of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (1_709_251_200, "2024-03-01 00:00:00"),
            (1_735_689_599, "2024-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(format!("{} {}", date(seconds), time_of_day(seconds)), expected);
        }
        assert!(
            date(u64::MAX / 1_000_000_000).starts_with("2554-"),
            "the last moment of 64 bits of nanoseconds"
        );
    }
}
