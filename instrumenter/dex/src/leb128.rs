//! LEB128 numbers of 32 bits ("Dalvik executable format", "LEB128").

/// Reads bytes from the front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    all: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(all: &'a [u8], at: usize) -> Self {
        Self { all, at }
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = self.all.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    /// Up to five bytes, and the number of bits in them. Bits above the 32nd are ignored, as ART does (libdexfile `leb128.h`,
    /// `DecodeUnsignedLeb128Checked`).
    #[inline]
    fn leb(&mut self) -> Option<(u32, u32)> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some((value, shift + 7));
            }
        }
        None
    }

    #[inline]
    pub(crate) fn uleb(&mut self) -> Option<u32> {
        self.leb().map(|(value, _)| value)
    }

    /// An index plus one; 0 stands for none.
    #[inline]
    pub(crate) fn index(&mut self) -> Option<Option<u32>> {
        self.uleb().map(|value| value.checked_sub(1))
    }

    #[inline]
    pub(crate) fn sleb(&mut self) -> Option<i32> {
        let (value, bits) = self.leb()?;
        let unused = 32_u32.saturating_sub(bits);
        Some((value << unused).cast_signed() >> unused)
    }
}

pub(crate) fn put_uleb(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_index(index: Option<u32>, out: &mut Vec<u8>) {
    put_uleb(index.map_or(0, |index| index.wrapping_add(1)), out);
}

pub(crate) fn put_sleb(mut value: i32, out: &mut Vec<u8>) {
    while !(-64..64).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7F);
}

/// Returns the length of an unsigned number, in bytes.
pub(crate) fn uleb_length(value: u32) -> usize {
    (32 - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// Returns the length of a signed number, in bytes.
pub(crate) fn sleb_length(value: i32) -> usize {
    let magnitude = if value < 0 { !value } else { value };
    (33 - magnitude.leading_zeros()).div_ceil(7) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_survive_the_round_trip(unsigned: u32, signed: i32) {
            let mut bytes = Vec::new();
            put_uleb(unsigned, &mut bytes);
            prop_assert_eq!(bytes.len(), uleb_length(unsigned));
            put_sleb(signed, &mut bytes);
            prop_assert_eq!(bytes.len(), uleb_length(unsigned) + sleb_length(signed));
            let mut read = Bytes::new(&bytes, 0);
            prop_assert_eq!((read.uleb(), read.sleb()), (Some(unsigned), Some(signed)));
            prop_assert_eq!(read.byte(), None);
        }
    }

    #[test]
    fn the_documentations_examples() {
        for (bytes, unsigned, signed) in
            [(&[0_u8][..], 0, 0), (&[1], 1, 1), (&[0x7F], 127, -1), (&[0x80, 0x7F], 16256, -128)]
        {
            assert_eq!(Bytes::new(bytes, 0).uleb(), Some(unsigned));
            assert_eq!(Bytes::new(bytes, 0).sleb(), Some(signed));
        }
        assert_eq!(Bytes::new(&[0x80; 6], 0).uleb(), None);
        assert_eq!(Bytes::new(&[0x80; 4], 0).sleb(), None);
        let ends: [(&[u8], u32, i32); 3] = [
            (&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F], u32::MAX, -1),
            (&[0xFF, 0xFF, 0xFF, 0xFF, 0x7F], u32::MAX, -1),
            (&[0x80, 0x80, 0x80, 0x80, 0x78], 1 << 31, i32::MIN),
        ];
        for (bytes, unsigned, signed) in ends {
            assert_eq!(Bytes::new(bytes, 0).uleb(), Some(unsigned));
            assert_eq!(Bytes::new(bytes, 0).sleb(), Some(signed));
        }
        for (value, length) in [(0, 1), (63, 1), (64, 2), (-64, 1), (-65, 2), (i32::MIN, 5), (i32::MAX, 5)] {
            assert_eq!(sleb_length(value), length);
        }
    }
}
