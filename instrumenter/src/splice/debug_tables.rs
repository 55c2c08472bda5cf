//! Line and variable tables, whose positions are moved in place.

use super::layout::{Layout, short};
use crate::class::cursor::Cursor;
use crate::class::overwrite;
use crate::error::SkipReason;

/// Overwrites the two bytes of `out` at `at`.
pub(super) fn patch(out: &mut [u8], at: usize, value: u32) -> Result<(), SkipReason> {
    overwrite(out, at, &short(value)?.to_be_bytes());
    Ok(())
}

/// Reads a start and a length, and returns them for the new code.
pub(super) fn moved_range(cursor: &mut Cursor<'_>, layout: &Layout) -> Result<(u32, u32), SkipReason> {
    let start = u32::from(cursor.u2()?);
    let length = u32::from(cursor.u2()?);
    let moved = layout.debug(start);
    Ok((moved, layout.debug(start + length).saturating_sub(moved)))
}

/// Appends the content of a `LineNumberTable`.
pub(crate) fn lines(mut cursor: Cursor<'_>, layout: &Layout, out: &mut Vec<u8>) -> Result<(), SkipReason> {
    let count = cursor.u2()?;
    out.extend_from_slice(&count.to_be_bytes());
    for _ in 0..count {
        let pc = layout.debug(u32::from(cursor.u2()?));
        out.extend_from_slice(&short(pc)?.to_be_bytes());
        out.extend_from_slice(cursor.bytes(2)?);
    }
    if cursor.is_empty() { Ok(()) } else { Err(cursor.malformed("bytes after a LineNumberTable").into()) }
}

/// Appends the content of a `LocalVariableTable` or `LocalVariableTypeTable`.
pub(crate) fn variables(
    mut cursor: Cursor<'_>,
    layout: &Layout,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let count = cursor.u2()?;
    out.extend_from_slice(&count.to_be_bytes());
    for _ in 0..count {
        let (start, length) = moved_range(&mut cursor, layout)?;
        out.extend_from_slice(&short(start)?.to_be_bytes());
        out.extend_from_slice(&short(length)?.to_be_bytes());
        out.extend_from_slice(cursor.bytes(6)?);
    }
    if cursor.is_empty() { Ok(()) } else { Err(cursor.malformed("bytes after a variable table").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::opcodes::{IRETURN, RETURN};
    use crate::splice::layout::Insertions;

    fn layout() -> Layout {
        let mut layout = Layout::default();
        let insertions = Insertions { enters: &[0], enter: &[0; 5], exit: &[0; 5], ..Default::default() };
        layout.compute(&[4, IRETURN, 0, RETURN], &insertions).unwrap();
        layout
    }

    #[test]
    fn the_first_line_includes_the_enter_call() {
        let mut out = Vec::new();
        lines(Cursor::new(&[0, 3, 0, 0, 0, 10, 0, 1, 0, 11, 0, 2, 0, 12]), &layout(), &mut out).unwrap();
        assert_eq!(out, [0, 3, 0, 0, 0, 10, 0, 6, 0, 11, 0, 12, 0, 12]);
    }

    #[test]
    fn a_variable_that_is_live_to_the_end_still_is() {
        let mut out = Vec::new();
        let rows = [0, 2, 0, 0, 0, 4, 1, 2, 3, 4, 5, 6, 0, 1, 0, 1, 1, 2, 3, 4, 5, 6];
        variables(Cursor::new(&rows), &layout(), &mut out).unwrap();
        assert_eq!(out, [0, 2, 0, 0, 0, 19, 1, 2, 3, 4, 5, 6, 0, 6, 0, 6, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn broken_tables_are_refused() {
        assert!(lines(Cursor::new(&[0, 1, 0]), &layout(), &mut Vec::new()).is_err());
        assert!(lines(Cursor::new(&[0, 0, 0]), &layout(), &mut Vec::new()).is_err());
        assert!(variables(Cursor::new(&[0, 1, 0]), &layout(), &mut Vec::new()).is_err());
    }
}
