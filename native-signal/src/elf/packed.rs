//! Android's packed relocations ("APS2", `DT_ANDROID_REL` and `DT_ANDROID_RELA`).
//!
//! After the four letters, signed LEB128 numbers: how many relocations; the place before the first; then groups. A
//! group is its size, its flags, and the fields that all of its members share: the distance between places, the info word, the
//! addend (a difference to the one before). Then, for each member, the other fields in the same order.

use super::error::ElfError;
use super::machine::{Relocation, from_info};

const SHARED_INFO: i64 = 1;
const SHARED_DISTANCE: i64 = 2;
const SHARED_ADDEND: i64 = 4;
const HAS_ADDEND: i64 = 8;

/// A member may take no bytes at all, so the count alone bounds the work. The largest objects known (a browser's) have
/// less than a tenth of this.
const MAX_RELOCATIONS: i64 = 1 << 22;

/// Calls `each` for every relocation.
pub(super) fn for_each(
    bytes: &[u8],
    word: usize,
    addends: bool,
    mut each: impl FnMut(Relocation) -> Result<(), ElfError>,
) -> Result<(), ElfError> {
    let mut numbers = Numbers { rest: bytes.strip_prefix(b"APS2").ok_or(ElfError::PackedMagic)? };
    let count = numbers.next()?;
    if !(0..=MAX_RELOCATIONS).contains(&count) {
        return Err(ElfError::PackedValue);
    }
    let mut place = numbers.next()?;
    let mut info = 0;
    let mut done = 0;
    while done < count {
        let size = numbers.next()?;
        let flags = numbers.next()?;
        if !(0..=count - done).contains(&size) {
            return Err(ElfError::PackedValue);
        }
        let has = |flag: i64| flags & flag != 0;
        let distance = if has(SHARED_DISTANCE) { Some(numbers.next()?) } else { None };
        if has(SHARED_INFO) {
            info = numbers.next()?;
        }
        if has(HAS_ADDEND) {
            if !addends {
                return Err(ElfError::PackedValue);
            }
            if has(SHARED_ADDEND) {
                numbers.next()?;
            }
        }
        for _ in 0..size {
            place = place.wrapping_add(match distance {
                Some(distance) => distance,
                None => numbers.next()?,
            });
            if !has(SHARED_INFO) {
                info = numbers.next()?;
            }
            if has(HAS_ADDEND) && !has(SHARED_ADDEND) {
                numbers.next()?;
            }
            each(from_info(place as u64, info as u64, word))?;
        }
        done += size;
    }
    Ok(())
}

/// Signed LEB128 numbers, one after another.
struct Numbers<'a> {
    rest: &'a [u8],
}

impl Numbers<'_> {
    fn next(&mut self) -> Result<i64, ElfError> {
        let mut value = 0_u64;
        let mut shift = 0;
        loop {
            let (&byte, rest) = self.rest.split_first().ok_or(ElfError::PackedEnd)?;
            self.rest = rest;
            if shift >= 64 {
                return Err(ElfError::PackedValue);
            }
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                if byte & 0x40 != 0 && shift < 64 {
                    value |= u64::MAX << shift;
                }
                return Ok(value as i64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8], word: usize, addends: bool) -> Result<Vec<(u64, u32, u32)>, ElfError> {
        let mut found = Vec::new();
        for_each(bytes, word, addends, |entry| {
            found.push((entry.place, entry.symbol, entry.kind));
            Ok(())
        })?;
        Ok(found)
    }

    fn put(bytes: &mut Vec<u8>, mut value: i64) {
        loop {
            let byte = (value & 0x7f) as u8;
            value >>= 7;
            if (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0) {
                bytes.push(byte);
                return;
            }
            bytes.push(byte | 0x80);
        }
    }

    #[test]
    fn numbers() {
        for (bytes, value) in [
            (&[0x00][..], 0),
            (&[0x3f], 63),
            (&[0x7f], -1),
            (&[0x40], -64),
            (&[0xc0, 0x00], 64),
            (&[0x80, 0x7f], -128),
            (&[0xe5, 0x8e, 0x26], 624_485),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f], i64::MIN),
        ] {
            assert_eq!(Numbers { rest: bytes }.next(), Ok(value));
            let mut again = Vec::new();
            put(&mut again, value);
            assert_eq!(again, bytes);
        }
        assert_eq!(Numbers { rest: &[0x80; 11] }.next(), Err(ElfError::PackedValue));
        assert_eq!(Numbers { rest: &[0x80] }.next(), Err(ElfError::PackedEnd));
    }

    /// Written by hand. Two relative ones 8 apart with one shared info and differing addends, then a jump slot and a
    /// plain one with nothing shared, then a group of two jump slots of one symbol, packed to no bytes a member.
    #[test]
    fn a_golden_vector_of_64_bits() {
        #[rustfmt::skip]
        let bytes = [
            b'A', b'P', b'S', b'2',
            0x06,                         // six relocations
            0xf8, 0xdf, 0x00,             // the place before the first: 0x2ff8
            0x02, 0x0b,                   // two that share distance and info and have addends
            0x08,                         // 8 apart
            0x83, 0x08,                   // 0x403: R_AARCH64_RELATIVE, no symbol
            0x80, 0x20,                   // addend +0x1000
            0x70,                         // addend -0x10
            0x02, 0x00,                   // two that share nothing and have no addends
            0x80, 0x20,                   // place + 0x1000: 0x4008
            0x82, 0x88, 0x80, 0x80, 0xd0, 0x00, // symbol 5, 0x402: R_AARCH64_JUMP_SLOT
            0x78,                         // place - 8: 0x4000
            0x81, 0x88, 0x80, 0x80, 0xf0, 0x00, // symbol 7, 0x401: R_AARCH64_GLOB_DAT
            0x02, 0x0f,                   // two that share everything
            0x10,                         // 16 apart
            0x82, 0x88, 0x80, 0x80, 0x10, // symbol 1, 0x402
            0x00,                         // addend + 0
        ];
        let expected = vec![
            (0x3000, 0, 0x403),
            (0x3008, 0, 0x403),
            (0x4008, 5, 0x402),
            (0x4000, 7, 0x401),
            (0x4010, 1, 0x402),
            (0x4020, 1, 0x402),
        ];
        assert_eq!(all(&bytes, 8, true), Ok(expected));
        // Cut anywhere, it ends too early.
        for end in 4..bytes.len() {
            assert_eq!(all(&bytes[..end], 8, true), Err(ElfError::PackedEnd), "{end}");
        }
        assert_eq!(all(&bytes, 8, false), Err(ElfError::PackedValue), "REL has no addends");
        assert_eq!(all(b"APS1\0\0", 8, true), Err(ElfError::PackedMagic));
    }

    #[test]
    fn a_golden_vector_of_32_bits() {
        #[rustfmt::skip]
        let bytes = [
            b'A', b'P', b'S', b'2',
            0x02, 0x00,
            0x02, 0x02,       // two that share the distance
            0x04,
            0x96, 0x1e,       // 0xf16: symbol 15, R_ARM_JUMP_SLOT
            0x95, 0x20,       // 0x1015: symbol 16, R_ARM_GLOB_DAT
        ];
        assert_eq!(all(&bytes, 4, false), Ok(vec![(4, 15, 22), (8, 16, 21)]));
    }

    /// What LLD's `--pack-dyn-relocs=android` makes of a small library compiled with `-fno-plt`: a table of six addresses
    /// of its own, the slots of `write` and `read`, and a table of four addresses of two imported objects. The places are
    /// those that `readelf` gives for the two tables.
    #[test]
    fn what_a_linker_packs() {
        #[rustfmt::skip]
        let bytes = [
            0x41, 0x50, 0x53, 0x32, 0x0c, 0x00,
            0x06, 0x09, 0x08, 0x80, 0xea, 0x00, 0x80, 0xeb, 0x00, 0x08, 0x04, 0x08, 0x04, 0x08, 0x04, 0x08, 0x78,
            0x08, 0x08,
            0x06, 0x08, 0xb8, 0x5f, 0x86, 0x80, 0x80, 0x80, 0x10, 0xf4, 0x94, 0x7f,
            0x08, 0x86, 0x80, 0x80, 0x80, 0x20, 0x00,
            0xd8, 0x20, 0x81, 0x80, 0x80, 0x80, 0x30, 0x00, 0x08, 0x81, 0x80, 0x80, 0x80, 0xc0, 0x00, 0x00,
            0x08, 0x81, 0x80, 0x80, 0x80, 0x30, 0x00, 0x08, 0x81, 0x80, 0x80, 0x80, 0xc0, 0x00, 0x00,
        ];
        let mut expected: Vec<_> = (0..6).map(|index| (0x3500 + 8 * index, 0, 8)).collect();
        expected.extend([(0x24e0, 1, 6), (0x24e8, 2, 6)]);
        expected.extend([(0x3540, 3, 1), (0x3548, 4, 1), (0x3550, 3, 1), (0x3558, 4, 1)]);
        assert_eq!(all(&bytes, 8, true), Ok(expected));
    }

    #[test]
    fn impossible_counts() {
        for (count, size) in [(-1, 0), (1, 2), (1, -1), (MAX_RELOCATIONS + 1, 1), (i64::MAX, i64::MAX)] {
            let mut bytes = b"APS2".to_vec();
            for number in [count, 0, size, SHARED_INFO | SHARED_DISTANCE, 0, 0] {
                put(&mut bytes, number);
            }
            assert_eq!(all(&bytes, 8, true), Err(ElfError::PackedValue), "{count} {size}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), addends: bool) {
            let mut with_magic = b"APS2".to_vec();
            with_magic.extend(&bytes);
            for word in [4, 8] {
                let _ = all(&bytes, word, addends);
                let _ = all(&with_magic, word, addends);
            }
        }

        /// Ungrouped entries of any kind come back as they were.
        #[test]
        fn what_is_packed_is_unpacked(
            entries in prop::collection::vec((any::<u64>(), any::<u32>(), any::<u32>(), any::<i32>()), 0..50),
        ) {
            let mut bytes = b"APS2".to_vec();
            put(&mut bytes, entries.len() as i64);
            put(&mut bytes, 0);
            let mut before = 0_u64;
            for (index, &(place, symbol, kind, addend)) in entries.iter().enumerate() {
                let with_addend = index % 2 == 1;
                put(&mut bytes, 1);
                put(&mut bytes, if with_addend { HAS_ADDEND } else { 0 });
                put(&mut bytes, place.wrapping_sub(before) as i64);
                put(&mut bytes, (u64::from(symbol) << 32 | u64::from(kind)) as i64);
                if with_addend {
                    put(&mut bytes, i64::from(addend));
                }
                before = place;
            }
            let expected: Vec<_> = entries.iter().map(|&(place, symbol, kind, _)| (place, symbol, kind)).collect();
            prop_assert_eq!(all(&bytes, 8, true), Ok(expected));
        }
    }
}
