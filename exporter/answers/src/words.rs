//! Formats durations and counts for a sentence.

/// Returns a duration with its significant digits: `3.250 s`, `12.5 ms`.
#[must_use]
pub fn seconds(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{:.3} ms", ns as f64 / 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}

/// Returns a duration with two or three digits, for a sentence: `3.2 s`, `300 ms`.
#[must_use]
pub fn rounded(ns: u64) -> String {
    match ns {
        0 => "0 ms".to_owned(),
        1..995_000 => format!("{:.2} ms", ns as f64 / 1e6),
        995_000..99_950_000 => format!("{:.1} ms", ns as f64 / 1e6),
        99_950_000..999_500_000 => format!("{:.0} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

/// Returns an estimated number with thousands separators, rounded to three digits.
#[must_use]
pub fn about(n: u64) -> String {
    let least = 10_u64.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(2));
    thousands(n / least * least)
}

/// Returns a number with thousands separators: `41,200`.
#[must_use]
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number of bytes in whole MB.
#[must_use]
pub fn megabytes(bytes: u64) -> String {
    format!("{} MB", thousands(bytes >> 20))
}

/// Returns a number with its noun: `1 message`, `2 messages`.
#[must_use]
pub fn times(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The part in percent, rounded down; at most 100.
pub(crate) fn percent(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 100 / u128::from(whole.max(1))).unwrap_or(100).min(100)
}

/// A sentence about main, said of another thread.
pub(crate) fn said_of(thread: &str, sentence: &str) -> String {
    let of_thread = |word: &str| match word.strip_prefix("main") {
        Some(end @ ("" | "'s" | "," | ":" | ";")) => format!("\"{thread}\"{end}"),
        _ => word.to_owned(),
    };
    sentence.split(' ').map(of_thread).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rounded_duration_has_the_digits_of_a_sentence() {
        let texts =
            [0, 36_000, 999_000, 2_210_000, 99_960_000, 300_100_000, 999_500_000, 8_006_000_000].map(rounded);
        assert_eq!(texts, ["0 ms", "0.04 ms", "1.0 ms", "2.2 ms", "100 ms", "300 ms", "1.0 s", "8.0 s"]);
    }

    #[test]
    fn thousands_are_separated() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (147_310_973, "147,310,973")] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn an_estimate_has_three_digits() {
        let texts = [0, 7, 999, 1_234, 41_234_567, u64::MAX].map(about);
        assert_eq!(texts, ["0", "7", "999", "1,230", "41,200,000", "18,400,000,000,000,000,000"]);
    }
}
