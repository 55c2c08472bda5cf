//! CRC-32 (ISO-HDLC, the one of zip and PNG), by nibbles: small, and fast enough for sections.

const TABLE: [u32; 16] = {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        let mut value = i as u32;
        let mut bit = 0;
        while bit < 4 {
            value = if value & 1 == 1 { 0xEDB8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[i] = value;
        i += 1;
    }
    table
};

/// The sum of `bytes`.
#[must_use]
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, nibble: u32| TABLE[((sum ^ nibble) & 15) as usize] ^ (sum >> 4);
    !bytes.iter().fold(!0, |sum, &byte| step(step(sum, u32::from(byte)), u32::from(byte >> 4)))
}

/// The sum of `bytes` with `zeros` zeros behind them, in a time that hardly grows with their number.
#[must_use]
pub(crate) fn crc32_with_zeros(bytes: &[u8], zeros: u64) -> u32 {
    // A zero bit multiplies the sum, a polynomial with its highest power in the lowest bit, by x.
    let mut factor = 1 << 31;
    let mut power = 1 << 30;
    let mut bits = zeros.saturating_mul(8);
    while bits > 0 {
        if bits & 1 == 1 {
            factor = product(factor, power);
        }
        power = product(power, power);
        bits >>= 1;
    }
    !product(factor, !crc32(bytes))
}

/// The product of two polynomials, modulo that of the sum.
fn product(one: u32, other: u32) -> u32 {
    let (mut sum, mut other) = (0, other);
    for bit in (0..32).rev() {
        if one >> bit & 1 == 1 {
            sum ^= other;
        }
        other = if other & 1 == 1 { 0xEDB8_8320 ^ (other >> 1) } else { other >> 1 };
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn zeros_need_not_be_there(bytes: Vec<u8>, zeros in 0u64..3_000) {
            let whole = [&bytes[..], &vec![0; zeros as usize]].concat();
            prop_assert_eq!(crc32_with_zeros(&bytes, zeros), crc32(&whole));
        }
    }

    #[test]
    fn check_value_of_the_catalogue() {
        // The check value that every catalogue of CRCs gives for CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
