//! Reads protobuf messages from a stream without holding one: its length costs no memory.

use std::io::BufRead;

use super::{FIXED32, FIXED64, LENGTH, VARINT};

/// Fields have smaller numbers.
const MAX_NUMBER: u32 = 1 << 29;

/// The reason why reading stopped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The bytes end in the middle.
    End,
    /// The bytes are invalid.
    Damaged(String),
    /// The bytes have more than any trace has.
    TooMany(String),
    /// A reader or writer below failed and keeps its error.
    Io,
}

/// A [`Stop::Damaged`] with this message.
pub(crate) fn damaged<T>(what: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Damaged(what.into()))
}

/// The value of a field.
pub(crate) enum Value<'v> {
    Number(u64),
    /// A value of 4 or 8 bytes, which is skipped.
    Fixed,
    /// Bytes of this number, of which the receiver may leave any unread.
    Bytes(&'v mut dyn BufRead, u64),
}

/// The next byte; `None` at the end.
pub(crate) fn byte(from: &mut dyn BufRead) -> Result<Option<u8>, Stop> {
    let first = from.fill_buf().map_err(|_| Stop::Io)?.first().copied();
    if first.is_some() {
        from.consume(1);
    }
    Ok(first)
}

/// The next number.
pub(crate) fn varint(from: &mut dyn BufRead) -> Result<u64, Stop> {
    let mut number = 0;
    for shift in (0..70).step_by(7) {
        let byte = byte(from)?.ok_or(Stop::End)?;
        // The tenth byte has one bit.
        if shift == 63 && byte > 1 {
            break;
        }
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    damaged("a number is longer than 64 bits")
}

/// Skips `length` bytes.
pub(crate) fn skip(from: &mut dyn BufRead, mut length: u64) -> Result<(), Stop> {
    while length > 0 {
        let there = from.fill_buf().map_err(|_| Stop::Io)?.len();
        if there == 0 {
            return Err(Stop::End);
        }
        let n = there.min(usize::try_from(length).unwrap_or(usize::MAX));
        from.consume(n);
        length -= n as u64;
    }
    Ok(())
}

/// Calls `field` for each field of the message in the next `length` bytes, with its number.
///
/// # Errors
/// If `field` fails, or the bytes are no message.
pub(crate) fn message(
    mut from: &mut dyn BufRead,
    length: u64,
    field: &mut dyn FnMut(u32, Value<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut part = std::io::Read::take(&mut from, length);
    while part.limit() > 0 {
        next_field(&mut part, field).map_err(|stop| match stop {
            // The message ends, and not the one around it.
            Stop::End if part.limit() == 0 => Stop::Damaged("a field ends outside of its message".into()),
            stop => stop,
        })?;
    }
    Ok(())
}

fn next_field(
    part: &mut std::io::Take<&mut &mut dyn BufRead>,
    field: &mut dyn FnMut(u32, Value<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let key = varint(part)?;
    let number = match u32::try_from(key >> 3) {
        Ok(number @ 1..MAX_NUMBER) => number,
        _ => return damaged("a field's number is out of range"),
    };
    match (key & 7) as u32 {
        VARINT => {
            let value = varint(part)?;
            field(number, Value::Number(value))
        }
        wire @ (FIXED64 | FIXED32) => {
            skip(part, if wire == FIXED64 { 8 } else { 4 })?;
            field(number, Value::Fixed)
        }
        LENGTH => {
            let length = varint(part)?;
            let Some(behind) = part.limit().checked_sub(length) else {
                return damaged("a field ends outside of its message");
            };
            field(number, Value::Bytes(part, length))?;
            let rest = part.limit() - behind;
            skip(part, rest)
        }
        _ => damaged("a field has a type that traces do not have"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(bytes: &[u8], length: u64) -> Result<Vec<(u32, u64)>, Stop> {
        let mut found = Vec::new();
        message(&mut &bytes[..], length, &mut |number, value| {
            found.push((number, if let Value::Number(value) = value { value } else { 0 }));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn fields_are_found_and_unread_bytes_are_skipped() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, 0xFF, 0xFF, 0x1D, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(numbers(&bytes, 21), Ok(vec![(1, 150), (2, 0), (3, 0), (4, 0)]));
        assert_eq!(numbers(&bytes, 22), Err(Stop::End));
        assert!(matches!(numbers(&bytes, 6), Err(Stop::Damaged(_))), "a field longer than the message");
        assert!(matches!(numbers(&[0x0B], 1), Err(Stop::Damaged(_))), "a group");
        assert!(matches!(numbers(&[0x00, 0], 2), Err(Stop::Damaged(_))), "the number 0");
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_prost(value: u64) {
            let mut bytes = Vec::new();
            prost::encoding::encode_varint(value, &mut bytes);
            prop_assert_eq!(varint(&mut &bytes[..]), Ok(value));
        }

        #[test]
        fn any_bytes_are_a_number_where_prost_finds_one(bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x80..=0xFF_u8], 0..12)) {
            let theirs = prost::encoding::decode_varint(&mut &bytes[..]).ok();
            prop_assert_eq!(varint(&mut &bytes[..]).ok(), theirs);
        }
    }
}
