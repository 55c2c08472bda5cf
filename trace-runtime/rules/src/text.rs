//! Decimal fractions as text.

/// Writes `number` / 10^`decimals` with that many decimals, from 1 to 9.
pub(crate) fn fixed(number: i64, decimals: u32) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let (magnitude, unit) = (number.unsigned_abs(), 10u64.pow(decimals));
    format!("{sign}{}.{:0width$}", magnitude / unit, magnitude % unit, width = decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_their_zeros() {
        assert_eq!(fixed(5_994, 2), "59.94");
        assert_eq!(fixed(-5, 2), "-0.05");
        assert_eq!(fixed(6_000, 2), "60.00");
        assert_eq!(fixed(7, 1), "0.7");
        assert_eq!(fixed(i64::MIN, 2), "-92233720368547758.08");
    }
}
