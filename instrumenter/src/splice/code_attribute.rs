//! Writes a `Code` attribute (JVMS 4.7.3) with new code and the moved attributes of the old one.

use std::collections::BTreeMap;

use super::context::Context;
use super::exception_table::Table;
use super::frames::{self, Frame};
use super::layout::Layout;
use super::lock::Lock;
use super::{calls, debug_tables, stack_map, type_annotations, waits};
use crate::class::code::Code;
use crate::class::cursor::Cursor;
use crate::class::overwrite;
use crate::error::SkipReason;

/// The first class file version that requires a frame at each handler. Version 50 falls back to the old verifier if a
/// frame is missing; with one it need not.
pub(super) const FRAMES_SINCE: u16 = 50;

/// The new code, and the positions in it.
pub(crate) struct NewCode<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) layout: &'a Layout,
    /// Whether it contains calls around waits.
    pub(crate) waits: bool,
    /// Whether there are steps.
    pub(crate) steps: bool,
    /// How many words of the stack its handlers need, which begin with an empty one.
    pub(crate) handler_stack: u16,
    /// How many local variables the inserted code needs, besides the lock's.
    pub(crate) locals: u16,
    /// The lock of a synchronized method.
    pub(crate) lock: Option<Lock>,
    pub(crate) table: &'a Table,
    /// The old frames by position, if all have to be written in full.
    pub(crate) old_frames: Option<&'a BTreeMap<u32, Frame>>,
    /// The frames of the inserted code, by new position.
    pub(crate) frames: Vec<(u32, Frame)>,
}

fn u2(value: usize, full: SkipReason) -> Result<[u8; 2], SkipReason> {
    u16::try_from(value).map(u16::to_be_bytes).map_err(|_| full)
}

/// Appends the whole `Code` attribute.
pub(crate) fn append(
    context: &mut Context<'_, '_>,
    code: &Code<'_>,
    new: &NewCode<'_>,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    if new.bytes.len() > 0xFFFF {
        return Err(SkipReason::CodeTooLarge);
    }
    let start = open_attribute(code.name_index, out);
    // The calls come where the stack is empty, but for values that a return leaves below its own.
    let (more_stack, least) = match (new.steps, new.waits) {
        (true, _) => (calls::EXTRA_STACK, 1 + calls::EXTRA_STACK),
        (false, true) => (waits::EXTRA_STACK, waits::EXTRA_STACK),
        (false, false) => (1, 1),
    };
    let max_stack = code.max_stack.checked_add(more_stack).ok_or(SkipReason::StackTooDeep)?;
    out.extend_from_slice(&max_stack.max(least).max(new.handler_stack).to_be_bytes());
    let max_locals = code.max_locals.checked_add(u16::from(new.lock.is_some()));
    let max_locals = max_locals.and_then(|locals| locals.checked_add(new.locals));
    out.extend_from_slice(&max_locals.ok_or(SkipReason::TooManyLocals)?.to_be_bytes());
    out.extend_from_slice(&(new.bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(new.bytes);
    out.extend_from_slice(&u2(new.table.rows.len(), SkipReason::TableFull)?);
    for row in &new.table.rows {
        for field in [row.start, row.end, row.handler, row.catch_type] {
            out.extend_from_slice(&field.to_be_bytes());
        }
    }
    attributes(context, code, new, out)?;
    close_attribute(out, start);
    Ok(())
}

/// Appends the attributes of the `Code` attribute that are kept, moved.
fn attributes(
    context: &mut Context<'_, '_>,
    code: &Code<'_>,
    new: &NewCode<'_>,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let (class, layout) = (context.class, new.layout);
    let count_at = out.len();
    out.extend_from_slice(&[0; 2]);
    let mut count = 0_usize;
    let mut has_frames = false;
    for &(name, contents) in &code.attributes {
        let start = open_attribute(name, out);
        match class.pool.utf8(name)? {
            b"StackMapTable" if has_frames => {
                return Err(contents.malformed("a Code attribute with two StackMapTables").into());
            }
            b"StackMapTable" => {
                has_frames = true;
                stack_map_table(Some(contents), new, out)?;
            }
            b"LineNumberTable" => debug_tables::lines(contents, layout, out)?,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                debug_tables::variables(contents, layout, out)?
            }
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                type_annotations::relocate(contents, layout, &new.table.moved, out)?;
            }
            // Unknown ones may contain positions, which would be wrong: see the crate documentation.
            _ => {
                out.truncate(start);
                continue;
            }
        }
        count += 1;
        close_attribute(out, start);
    }
    if !new.frames.is_empty() && !has_frames && class.major >= FRAMES_SINCE {
        let start = open_attribute(context.target.stack_map_name, out);
        stack_map_table(None, new, out)?;
        count += 1;
        close_attribute(out, start);
    }
    overwrite(out, count_at, &u2(count, SkipReason::TableFull)?);
    Ok(())
}

/// Appends a `StackMapTable`: the old frames, and those of the inserted code.
fn stack_map_table(old: Option<Cursor<'_>>, new: &NewCode<'_>, out: &mut Vec<u8>) -> Result<(), SkipReason> {
    let layout = new.layout;
    let mut all: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    let mut bytes = 0;
    let mut add = |at: u32, frame: &Frame| -> Result<(), SkipReason> {
        let mut types = Vec::new();
        frames::types(frame, layout, &mut types)?;
        bytes += types.len();
        if bytes > frames::MAX_BYTES {
            return Err(SkipReason::TableFull);
        }
        all.insert(at, types);
        Ok(())
    };
    // Without guards inside of the method, old frames lie between those of its start and those of its end.
    let start = Some(layout.before(0)?).filter(|_| new.old_frames.is_none());
    let is_of_start = |&at: &u32| start.is_some_and(|start| at <= start);
    for (at, frame) in new.frames.iter().filter(|(at, _)| !is_of_start(at)) {
        add(*at, frame)?;
    }
    // Where the code goes on after a guard, the method may have a frame of its own, which holds there, too.
    for (&pc, frame) in new.old_frames.into_iter().flatten() {
        match new.lock {
            Some(lock) => {
                let mut frame = frame.clone();
                frames::set_local(&mut frame.locals, lock.local, frames::object(lock.object))?;
                add(layout.before(pc)?, &frame)?;
            }
            None => add(layout.before(pc)?, frame)?,
        }
    }
    let of_start = new.frames.iter().filter(|(at, _)| is_of_start(at));
    let of_start = of_start.map(|(at, frame)| (*at, frame.stack.first().copied()));
    stack_map::relocate(old.filter(|_| start.is_some()), layout, of_start, &all, out)
}

/// Starts an attribute of this name, whose length [`close_attribute`] writes. Returns its start.
fn open_attribute(name: u16, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&name.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    start
}

/// Writes the length of the attribute that starts at `start`.
fn close_attribute(out: &mut [u8], start: usize) {
    let length = (out.len() - start - 6) as u32;
    overwrite(out, start + 2, &length.to_be_bytes());
}
