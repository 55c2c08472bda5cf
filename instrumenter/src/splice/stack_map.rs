//! `StackMapTable`: the frames of the old code are moved, and others are added.
//!
//! The calls leave locals and stack unchanged, so every old frame stays valid at its new position. Only the distances
//! between frames grow, and short forms have no room for distances above 63:
//!
//! ```text
//! same 0..=63                    -> same_frame_extended 251
//! same_locals_1_stack 64..=127   -> same_locals_1_stack_item_frame_extended 247
//! ```

use std::collections::BTreeMap;

use super::layout::{Layout, short};
use crate::class::cursor::Cursor;
use crate::class::overwrite;
use crate::error::{Malformed, SkipReason};

/// A verification type: its tag, and the two bytes that follow some tags.
pub(crate) type Type = (u8, u16);

pub(super) const SAME_LOCALS_1: u8 = 64;
pub(super) const SAME_LOCALS_1_EXTENDED: u8 = 247;
pub(super) const SAME_EXTENDED: u8 = 251;
const APPEND_3: u8 = 254;
pub(super) const FULL: u8 = 255;

pub(super) const OBJECT: u8 = 7;
pub(super) const UNINITIALIZED_THIS: u8 = 6;
pub(super) const UNINITIALIZED: u8 = 8;

/// Returns the offset of the frame after `previous` with this delta. The first frame's delta is its offset; any
/// other's is its distance minus one.
fn advance(previous: Option<u32>, delta: u32) -> u32 {
    previous.map_or(delta, |previous| previous + 1 + delta)
}

fn delta(previous: Option<u32>, at: u32) -> Result<u16, SkipReason> {
    let delta = previous.map_or(Some(at), |previous| at.checked_sub(previous)?.checked_sub(1));
    delta.and_then(|delta| u16::try_from(delta).ok()).ok_or(SkipReason::CodeTooLarge)
}

/// Reads type and offset delta of the frame at `cursor`, but not the rest of it.
fn frame_head(cursor: &mut Cursor<'_>) -> Result<(u8, u32), Malformed> {
    let kind = cursor.u1()?;
    Ok(match kind {
        0..SAME_LOCALS_1 => (0, u32::from(kind)),
        SAME_LOCALS_1..=127 => (SAME_LOCALS_1, u32::from(kind - SAME_LOCALS_1)),
        128..SAME_LOCALS_1_EXTENDED => return Err(cursor.malformed("a reserved stack map frame type")),
        _ => (kind, u32::from(cursor.u2()?)),
    })
}

/// The elements of a table, in the order of its bytes.
pub(super) enum Event {
    /// The start of a frame: the old position that it describes, and its type without the delta.
    Frame { pc: u32, kind: u8 },
    /// A count in a full frame: of its locals, then of its stack.
    Count(u16),
    /// A verification type, and the two bytes that follow some types.
    Type(Type),
}

pub(super) type Visit<'v> = &'v mut dyn FnMut(Event) -> Result<(), SkipReason>;

pub(super) fn walk(mut cursor: Cursor<'_>, visit: Visit<'_>) -> Result<u16, SkipReason> {
    let count = cursor.u2()?;
    let mut previous = None;
    for _ in 0..count {
        let (kind, delta) = frame_head(&mut cursor)?;
        let pc = advance(previous, delta);
        previous = Some(pc);
        visit(Event::Frame { pc, kind })?;
        match kind {
            SAME_LOCALS_1 | SAME_LOCALS_1_EXTENDED => walk_types(&mut cursor, 1, visit)?,
            // append_frame: 252, 253, 254 add one, two, three locals.
            SAME_EXTENDED..=APPEND_3 => walk_types(&mut cursor, u16::from(kind - SAME_EXTENDED), visit)?,
            FULL => {
                for _ in 0..2 {
                    let count = cursor.u2()?;
                    visit(Event::Count(count))?;
                    walk_types(&mut cursor, count, visit)?;
                }
            }
            _ => {}
        }
    }
    Malformed::when(!cursor.is_empty(), cursor.at(), "bytes after the end of a StackMapTable")?;
    Ok(count)
}

fn walk_types(cursor: &mut Cursor<'_>, count: u16, visit: Visit<'_>) -> Result<(), SkipReason> {
    for _ in 0..count {
        let tag = cursor.u1()?;
        let operand = match tag {
            0..=UNINITIALIZED_THIS => 0,
            OBJECT | UNINITIALIZED => cursor.u2()?,
            _ => return Err(cursor.malformed("an unknown verification type").into()),
        };
        visit(Event::Type((tag, operand)))?;
    }
    Ok(())
}

/// Appends type and offset delta of a frame, in the short form if that has room.
fn push_head(kind: u8, delta: u16, out: &mut Vec<u8>) {
    let short = u8::try_from(delta).ok().filter(|&delta| delta < SAME_LOCALS_1);
    match (kind, short) {
        (0 | SAME_LOCALS_1, Some(short)) => out.push(kind + short),
        _ => {
            out.push(match kind {
                0 => SAME_EXTENDED,
                SAME_LOCALS_1 => SAME_LOCALS_1_EXTENDED,
                kind => kind,
            });
            out.extend_from_slice(&delta.to_be_bytes());
        }
    }
}

/// Appends a verification type, whose operand may be an old position.
pub(super) fn push_type((tag, operand): Type, layout: &Layout, out: &mut Vec<u8>) -> Result<(), SkipReason> {
    out.push(tag);
    let operand = match tag {
        OBJECT => operand,
        // The position of the `new` instruction itself, which a call may precede.
        UNINITIALIZED => short(layout.instruction(u32::from(operand))?)?,
        _ => return Ok(()),
    };
    out.extend_from_slice(&operand.to_be_bytes());
    Ok(())
}

/// Appends the content of a `StackMapTable`: frames of the `start`, sorted, which have the locals of the method's start and an
/// object on the stack or nothing; the moved frames of `old`; then the `new` ones, which follow them: by position, the counts
/// and types of locals and stack, as a full frame has them.
pub(crate) fn relocate(
    old: Option<Cursor<'_>>,
    layout: &Layout,
    start: impl Iterator<Item = (u32, Option<Type>)>,
    new: &BTreeMap<u32, Vec<u8>>,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let count_at = out.len();
    out.extend_from_slice(&[0, 0]);
    let mut previous = None;
    let mut count = 0_u16;
    let mut first_old = None;
    if let Some(mut old) = old
        && old.u2()? > 0
    {
        first_old = Some(layout.before(frame_head(&mut old)?.1)?);
    }
    // A method that jumps to its start has a frame there already.
    for (at, on_stack) in start.filter(|(at, _)| Some(*at) != first_old) {
        push_head(on_stack.map_or(0, |_| SAME_LOCALS_1), delta(previous, at)?, out);
        if let Some(object) = on_stack {
            push_type(object, layout, out)?;
        }
        previous = Some(at);
        count += 1;
    }
    if let Some(old) = old {
        count += walk(old, &mut |event| {
            match event {
                Event::Frame { pc, kind } => {
                    let at = layout.before(pc)?;
                    push_head(kind, delta(previous, at)?, out);
                    previous = Some(at);
                }
                Event::Count(count) => out.extend_from_slice(&count.to_be_bytes()),
                Event::Type(kind) => push_type(kind, layout, out)?,
            }
            Ok(())
        })?;
    }
    for (&at, types) in new {
        count = count.checked_add(1).ok_or(SkipReason::TableFull)?;
        push_head(FULL, delta(previous, at)?, out);
        out.extend_from_slice(types);
        previous = Some(at);
    }
    overwrite(out, count_at, &count.to_be_bytes());
    Ok(())
}

/// Calls `found` with the old position of every frame that contains the constructor's object before its super call.
pub(crate) fn frames_before_super(old: Cursor<'_>, mut found: impl FnMut(u32)) -> Result<(), SkipReason> {
    let mut here = 0;
    walk(old, &mut |event| {
        match event {
            Event::Frame { pc, .. } => here = pc,
            Event::Type((UNINITIALIZED_THIS, _)) => found(here),
            _ => {}
        }
        Ok(())
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::opcodes::{RETURN, SIPUSH};
    use crate::splice::layout::Insertions;

    /// Returns `length` nops and a return, with one call of `call_length` bytes before the first.
    fn layout(length: usize, call_length: usize) -> Layout {
        let mut code = vec![0; length];
        code.push(RETURN);
        let mut layout = Layout::default();
        let call = vec![0; call_length];
        layout
            .compute(&code, &Insertions { enters: &[0], enter: &call, exit: &call, ..Default::default() })
            .unwrap();
        layout
    }

    fn relocated(table: &[u8], layout: &Layout) -> Result<Vec<u8>, SkipReason> {
        let mut out = Vec::new();
        relocate(Some(Cursor::new(table)), layout, std::iter::empty(), &BTreeMap::new(), &mut out)
            .map(|()| out)
    }

    #[test]
    fn short_frames_are_extended_only_when_necessary() {
        // same at 58: delta 58 + 5 = 63 is the last that fits. Then one at 59: delta 0.
        assert_eq!(relocated(&[0, 2, 58, 0], &layout(99, 5)), Ok(vec![0, 2, 63, 0]));
        assert_eq!(relocated(&[0, 2, 59, 0], &layout(99, 5)), Ok(vec![0, 2, 251, 0, 64, 0]));
        // same_locals_1_stack_item with an int.
        assert_eq!(relocated(&[0, 1, 64 + 58, 1], &layout(99, 5)), Ok(vec![0, 1, 127, 1]));
        assert_eq!(relocated(&[0, 1, 64 + 59, 1], &layout(99, 5)), Ok(vec![0, 1, 247, 0, 64, 1]));
    }

    #[test]
    fn every_frame_form_is_kept() {
        let table = [
            &[0, 5][..],
            &[247, 0, 1, 7, 0, 9],    // same_locals_1_extended at 1, an object
            &[250, 0, 0],             // chop at 2
            &[251, 0, 0],             // same_extended at 3
            &[253, 0, 0, 1, 8, 0, 4], // append at 4: int, uninitialized from pc 4
            &[255, 0, 0, 0, 1, 4, 0, 1, 7, 0, 3], // full at 5
        ]
        .concat();
        let moved = relocated(&table, &layout(9, 5)).unwrap();
        let mut expected = table.clone();
        expected[4] = 6;
        expected[20] = 9;
        assert_eq!(moved, expected);
    }

    #[test]
    fn the_handler_frame_comes_last() {
        let mut out = Vec::new();
        let layout = layout(9, 5);
        let types = [0, 0, 0, 1, OBJECT, 2, 3];
        let handler = BTreeMap::from([(layout.end(), types.to_vec())]);
        let none = std::iter::empty;
        relocate(Some(Cursor::new(&[0, 1, 2])), &layout, none(), &handler, &mut out).unwrap();
        let delta = (layout.end() - 7 - 1) as u8;
        assert_eq!(out, [0, 2, 7, 255, 0, delta, 0, 0, 0, 1, 7, 2, 3]);

        out.clear();
        relocate(None, &layout, none(), &handler, &mut out).unwrap();
        assert_eq!(out, [0, 1, 255, 0, layout.end() as u8, 0, 0, 0, 1, 7, 2, 3]);
    }

    #[test]
    fn broken_tables_are_refused() {
        for table in [
            &[0, 1][..],
            &[0, 1, 128],
            &[0, 1, 64],
            &[0, 1, 64, 9],
            &[0, 0, 0],
            &[0, 1, 200],
            &[0, 1, 251, 0xFF, 0xFF],
            &[0, 1, 255, 0, 0, 0xFF, 0xFF],
        ] {
            assert!(relocated(table, &layout(9, 5)).is_err(), "{table:?}");
        }
        // A frame inside an instruction.
        let mut layout = Layout::default();
        let insertions = Insertions { exit: &[0; 5], ..Default::default() };
        layout.compute(&[SIPUSH, 0, 0, RETURN], &insertions).unwrap();
        assert!(relocated(&[0, 1, 1], &layout).is_err());
    }
}
