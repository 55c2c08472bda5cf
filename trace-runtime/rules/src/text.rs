//! Writes numbers as text without the standard library's formatting, whose code is too large for the app.

/// Appends a decimal number.
pub(crate) fn push_decimal(out: &mut String, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    for digit in &digits[at..] {
        out.push(char::from(*digit));
    }
}

/// Appends a decimal number with its sign.
pub(crate) fn push_signed(out: &mut String, number: i64) {
    if number < 0 {
        out.push('-');
    }
    push_decimal(out, number.unsigned_abs());
}

/// Appends `number` / 10^`decimals` with that many decimals, 9 at most.
pub(crate) fn push_fixed(out: &mut String, number: i64, decimals: u32) {
    let unit = 10u64.pow(decimals.min(9));
    if number < 0 {
        out.push('-');
    }
    push_decimal(out, number.unsigned_abs() / unit);
    if unit == 1 {
        return;
    }
    out.push('.');
    let mut rest = number.unsigned_abs() % unit;
    let mut place = unit / 10;
    while place > 0 {
        out.push(char::from(b'0' + (rest / place) as u8));
        rest %= place;
        place /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_written_as_the_standard_library_does(number: u64, signed: i64) {
            let mut out = String::new();
            push_decimal(&mut out, number);
            out.push(' ');
            push_signed(&mut out, signed);
            prop_assert_eq!(out, format!("{number} {signed}"));
        }
    }

    #[test]
    fn decimals_keep_their_zeros() {
        let fixed = |number, decimals| {
            let mut out = String::new();
            push_fixed(&mut out, number, decimals);
            out
        };
        assert_eq!(fixed(5_994, 2), "59.94");
        assert_eq!(fixed(-5, 2), "-0.05");
        assert_eq!(fixed(6_000, 2), "60.00");
        assert_eq!(fixed(7, 0), "7");
        assert_eq!(fixed(i64::MIN, 2), "-92233720368547758.08");
    }
}
