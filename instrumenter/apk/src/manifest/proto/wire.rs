//! The wire format of protocol buffers: a message is a sequence of fields, each with a number and a wire type
//! (protobuf.dev/programming-guides/encoding).

use std::ops::Range;

use super::super::error::Malformed;

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 2: a string or message. The length's own bytes, and what it counts.
    Bytes { length: Range<usize>, bytes: Range<usize> },
    /// Wire types 1 and 5: 64 and 32 bits.
    Fixed,
}

/// A field of a message, as ranges of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) payload: Payload,
    /// The whole field with its tag.
    pub(super) range: Range<usize>,
}

impl Field {
    /// The string or message of the field with this number.
    pub(super) fn bytes(&self, number: u64) -> Option<Range<usize>> {
        match &self.payload {
            Payload::Bytes { bytes, .. } if self.number == number => Some(bytes.clone()),
            _ => None,
        }
    }
}

/// Reads the varint at `at`, which may reach to `end`, and returns it with the offset behind it.
fn varint(bytes: &[u8], at: usize, end: usize) -> Result<(u64, usize), Malformed> {
    let mut value = 0u64;
    let available = bytes.get(at..end).unwrap_or_default();
    for (index, byte) in available.iter().take(10).enumerate() {
        // The tenth byte has one bit that counts.
        value |= u64::from(byte & 0x7f).unbounded_shl(7 * u32::try_from(index).unwrap_or(64));
        if byte & 0x80 == 0 {
            return Ok((value, at + index + 1));
        }
    }
    Err(Malformed::new(at, "a number is longer than its message or than 10 bytes"))
}

/// The fields of the message in `range`. After an error the iterator ends.
pub(super) fn fields(
    bytes: &[u8],
    range: Range<usize>,
) -> impl Iterator<Item = Result<Field, Malformed>> + '_ {
    let mut at = range.start;
    std::iter::from_fn(move || {
        if at >= range.end {
            return None;
        }
        let field = field(bytes, at, range.end);
        at = field.as_ref().map_or(range.end, |field| field.range.end);
        Some(field)
    })
}

fn field(bytes: &[u8], at: usize, end: usize) -> Result<Field, Malformed> {
    let (tag, behind) = varint(bytes, at, end)?;
    Malformed::when(tag >> 3 == 0, at, "a field has the number 0")?;
    let fixed = |size: usize| match end.checked_sub(behind) {
        Some(rest) if rest >= size => Ok((Payload::Fixed, behind + size)),
        _ => Err(Malformed::new(at, "a field is longer than its message")),
    };
    let (payload, behind) = match tag & 7 {
        0 => {
            let (value, behind) = varint(bytes, behind, end)?;
            (Payload::Varint(value), behind)
        }
        1 => fixed(8)?,
        5 => fixed(4)?,
        2 => {
            let (length, start) = varint(bytes, behind, end)?;
            let length = usize::try_from(length).ok().filter(|length| *length <= end.saturating_sub(start));
            let length = length.ok_or(Malformed::new(at, "a field is longer than its message"))?;
            (Payload::Bytes { length: behind..start, bytes: start..start + length }, start + length)
        }
        _ => return Err(Malformed::new(at, "a field has a wire type that manifests do not have")),
    };
    Ok(Field { number: tag >> 3, payload, range: at..behind })
}
