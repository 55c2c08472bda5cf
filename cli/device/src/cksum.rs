//! The checksum that `cksum` prints: POSIX's CRC-32, highest bit first, with the length appended to the bytes.
//!
//! It is the only checksum that every Android shell has since version 6. It detects broken transfers, not tampering.

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut value = (i as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 0x8000_0000 != 0 { (value << 1) ^ 0x04C1_1DB7 } else { value << 1 };
            bit += 1;
        }
        table[i] = value;
        i += 1;
    }
    table
};

/// A checksum computed piece by piece.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Cksum {
    sum: u32,
    length: u64,
}

impl Cksum {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.sum = bytes.iter().fold(self.sum, |sum, byte| step(sum, *byte));
        self.length += bytes.len() as u64;
    }

    /// Returns the checksum and the length, as `cksum` prints them.
    pub(crate) fn finish(self) -> (u32, u64) {
        let mut sum = self.sum;
        let mut left = self.length;
        while left > 0 {
            sum = step(sum, left as u8);
            left >>= 8;
        }
        (!sum, self.length)
    }
}

fn step(sum: u32, byte: u8) -> u32 {
    (sum << 8) ^ TABLE[usize::from((sum >> 24) as u8 ^ byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> (u32, u64) {
        let mut sum = Cksum::default();
        sum.add(bytes);
        sum.finish()
    }

    #[test]
    fn the_checksums_are_those_of_posix() {
        assert_eq!(of(b""), (4_294_967_295, 0));
        assert_eq!(of(b"123456789"), (930_766_865, 9));
    }

    #[cfg(unix)]
    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(16))]
        #[test]
        fn the_program_cksum_computes_the_same(
            bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..70_000)
        ) {
            use std::io::Write;
            use std::process::{Command, Stdio};
            let mut child =
                Command::new("cksum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(&bytes).unwrap();
            let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
            let (sum, length) = of(&bytes);
            proptest::prop_assert_eq!(said.trim(), format!("{sum} {length}"));
        }
    }
}
