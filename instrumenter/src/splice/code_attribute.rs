//! Writes a `Code` attribute (JVMS 4.7.3) with new code and the moved attributes of the old one.

use super::context::Context;
use super::exception_table::Table;
use super::frames;
use super::layout::Layout;
use super::lock::Lock;
use super::stack_map::{self, NewFrame};
use super::stubs::{Placed, Target as StubTarget};
use super::{debug_tables, steps, type_annotations, waits};
use crate::class::class_file::Method;
use crate::class::code::Code;
use crate::class::cursor::Cursor;
use crate::error::SkipReason;

/// The first class file version that requires a frame at each handler. Version 50 falls back to the old verifier if a
/// frame is missing; with one it need not.
const FRAMES_SINCE: u16 = 50;

/// The new code, and the positions in it.
pub(crate) struct NewCode<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) layout: &'a Layout,
    /// Whether it contains calls around waits.
    pub(crate) waits: bool,
    /// The stubs after the old code.
    pub(crate) placed: &'a [Placed],
    /// The position of the exit handler, if any.
    pub(crate) handler: Option<u32>,
    /// Whether there are steps.
    pub(crate) steps: bool,
    /// How many local variables the code around waits and steps needs.
    pub(crate) locals: u16,
    /// The lock of a synchronized method.
    pub(crate) lock: Option<Lock>,
    pub(crate) table: &'a Table,
}

fn u2(value: usize, full: SkipReason) -> Result<[u8; 2], SkipReason> {
    u16::try_from(value).map(u16::to_be_bytes).map_err(|_| full)
}

/// Appends the whole `Code` attribute.
pub(crate) fn append(
    context: &mut Context<'_, '_>,
    method: &Method<'_>,
    code: &Code<'_>,
    new: &NewCode<'_>,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    if new.bytes.len() > 0xFFFF {
        return Err(SkipReason::CodeTooLarge);
    }
    let start = open_attribute(code.name_index, out);
    // The id is pushed on top of the stack; in the handler, on top of the throwable.
    let (more_stack, least) = match (new.steps, new.waits) {
        (true, _) => (steps::EXTRA_STACK, 1 + steps::EXTRA_STACK),
        (false, true) => (waits::EXTRA_STACK, 3),
        (false, false) => (1, 2),
    };
    let max_stack = code.max_stack.checked_add(more_stack).ok_or(SkipReason::StackTooDeep)?;
    out.extend_from_slice(&max_stack.max(least).to_be_bytes());
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
    attributes(context, method, code, new, out)?;
    close_attribute(out, start);
    Ok(())
}

/// Appends the attributes of the `Code` attribute that are kept, moved.
fn attributes(
    context: &mut Context<'_, '_>,
    method: &Method<'_>,
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
                stack_map_table(context, method, Some(contents), new, out)?;
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
    let wanted = new.handler.is_some() || !new.placed.is_empty();
    if wanted && !has_frames && class.major >= FRAMES_SINCE {
        let start = open_attribute(context.target.stack_map_name, out);
        stack_map_table(context, method, None, new, out)?;
        count += 1;
        close_attribute(out, start);
    }
    let count = u2(count, SkipReason::TableFull)?;
    if let Some(slot) = out.get_mut(count_at..count_at + 2) {
        slot.copy_from_slice(&count);
    }
    Ok(())
}

/// Appends a `StackMapTable`: the old frames, those of the stubs, and that of the exit handler.
fn stack_map_table(
    context: &mut Context<'_, '_>,
    method: &Method<'_>,
    old: Option<Cursor<'_>>,
    new: &NewCode<'_>,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let layout = new.layout;
    if new.placed.is_empty() && new.lock.is_none() {
        let handler = new.handler.map(|at| NewFrame { at, types: &context.target.handler_types });
        return stack_map::relocate(old, layout, handler.as_slice(), out);
    }
    // Full frames are needed for all positions if there is an additional local, else only for handlers that have
    // stubs.
    let first = frames::first_locals(context.class, method, context.pool)?;
    let mut handlers: Vec<u32> = new.placed.iter().filter_map(handler_of).collect();
    handlers.dedup();
    let wanted = if new.lock.is_some() { None } else { Some(handlers.as_slice()) };
    let table = old.unwrap_or_else(|| Cursor::new(&[0, 0]));
    let expanded = frames::read(first, table, wanted)?;
    let extra = new.lock.map(|lock| (lock.local, lock.object));
    let exit_frame =
        frames::Frame { locals: Vec::new(), stack: vec![frames::object(context.target.throwable)] };
    let mut types = Vec::new();
    let mut places = Vec::new();
    let mut add = |at: u32, frame: &frames::Frame| -> Result<(), SkipReason> {
        let start = types.len();
        frames::types(frame, layout, extra, &mut types)?;
        if types.len() > frames::MAX_BYTES {
            return Err(SkipReason::TableFull);
        }
        places.push((at, start..types.len()));
        Ok(())
    };
    if new.lock.is_some() {
        for (&pc, frame) in &expanded {
            add(layout.before(pc)?, frame)?;
        }
    }
    for placed in new.placed {
        let frame = match handler_of(placed) {
            Some(pc) => expanded.get(&pc).ok_or(SkipReason::HandlerWithoutFrame)?,
            None => &exit_frame,
        };
        add(placed.at, frame)?;
    }
    if let Some(at) = new.handler {
        add(at, &exit_frame)?;
    }
    let frames: Vec<NewFrame<'_>> = places
        .into_iter()
        .map(|(at, place)| NewFrame { at, types: types.get(place).unwrap_or_default() })
        .collect();
    if new.lock.is_some() {
        stack_map::full(&frames, out)
    } else {
        stack_map::relocate(old, layout, &frames, out)
    }
}

/// Returns the old position of the handler that a stub leads to, if it is one of the method's own.
fn handler_of(placed: &Placed) -> Option<u32> {
    match placed.stub.target {
        StubTarget::Handler(pc) => Some(u32::from(pc)),
        StubTarget::Exit => None,
    }
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
    if let Some(slot) = out.get_mut(start + 2..start + 6) {
        slot.copy_from_slice(&length.to_be_bytes());
    }
}
