//! `Runtime(In)VisibleTypeAnnotations` of a `Code` attribute: positions in targets are moved in place, and indices of
//! exception table rows become the new ones.

use super::debug_tables::{moved_range, patch};
use super::layout::Layout;
use crate::class::cursor::Cursor;
use crate::error::SkipReason;
use crate::outline::skip_annotation;

/// Appends the attribute's content.
pub(crate) fn relocate(
    cursor: Cursor<'_>,
    layout: &Layout,
    moved_rows: &[u16],
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let (from, to) = (cursor.at(), out.len());
    let mut rest = cursor;
    while !rest.is_empty() {
        out.push(rest.u1()?);
    }
    let mut cursor = cursor;
    for _ in 0..cursor.u2()? {
        let target_type = cursor.u1()?;
        let place = |cursor: &Cursor<'_>| to + (cursor.at() - from);
        match target_type {
            // Local variable, resource variable.
            0x40 | 0x41 => {
                for _ in 0..cursor.u2()? {
                    let at = place(&cursor);
                    let (start, length) = moved_range(&mut cursor, layout)?;
                    patch(out, at, start)?;
                    patch(out, at + 2, length)?;
                    cursor.skip(2)?;
                }
            }
            // Exception parameter.
            0x42 => {
                let at = place(&cursor);
                // An index that does not exist is kept: nothing uses it.
                let row = cursor.u2()?;
                let moved = moved_rows.get(usize::from(row)).copied().unwrap_or(row);
                patch(out, at, u32::from(moved))?;
            }
            // instanceof, new, method references; casts and type arguments have one more byte.
            0x43..=0x4B => {
                let at = place(&cursor);
                let pc = u32::from(cursor.u2()?);
                patch(out, at, layout.instruction(pc)?)?;
                if target_type >= 0x47 {
                    cursor.skip(1)?;
                }
            }
            _ => return Err(cursor.malformed("a type annotation that has no place in code").into()),
        }
        let path = cursor.u1()?;
        cursor.skip(2 * usize::from(path))?;
        skip_annotation(&mut cursor, 1)?;
    }
    if cursor.is_empty() { Ok(()) } else { Err(cursor.malformed("bytes after type annotations").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::opcodes::RETURN;
    use crate::splice::layout::Insertions;

    fn relocated(annotations: &[u8]) -> Result<Vec<u8>, SkipReason> {
        let mut layout = Layout::default();
        let insertions = Insertions { enters: &[0], enter: &[0; 5], exit: &[0; 5], ..Default::default() };
        layout.compute(&[0, 0, RETURN], &insertions).unwrap();
        let mut out = vec![0xEE];
        relocate(Cursor::new(annotations), &layout, &[0, 5], &mut out).map(|()| out.split_off(1))
    }

    #[test]
    fn positions_are_moved_and_the_rest_is_unchanged() {
        let annotations = [
            &[0, 4][..],
            &[0x40, 0, 1, 0, 1, 0, 2, 0, 7, 0, 0, 9, 0, 0],
            &[0x42, 0, 1, 1, 0, 0, 0, 9, 0, 0],
            &[0x44, 0, 1, 0, 0, 9, 0, 1, 0, 8, b'[', 0, 1, b'@', 0, 9, 0, 1, 0, 8, b'e', 0, 1, 0, 2],
            &[0x4B, 0, 2, 3, 0, 0, 9, 0, 0],
        ]
        .concat();
        let mut expected = annotations.clone();
        expected[6] = 6; // start 1 -> 6
        expected[8] = 7; // up to the end: 3 -> 13
        expected[18] = 5; // row 1
        expected[28] = 6; // new at 1
        let last = annotations.len() - 9;
        expected[last + 2] = 12; // the return itself, after its exit call
        assert_eq!(relocated(&annotations), Ok(expected));
    }

    #[test]
    fn broken_or_too_deep_annotations_are_refused() {
        assert!(relocated(&[0, 1, 0x13]).is_err());
        assert!(relocated(&[0, 1, 0x44, 0]).is_err());
        let mut deep = vec![0, 1, 0x44, 0, 0, 0, 0, 9, 0, 1, 0, 8];
        for _ in 0..100_000 {
            deep.extend([b'[', 0, 1]);
        }
        assert!(relocated(&deep).is_err());
    }
}
