//! One method's `Code` attribute, with its calls.
//!
//! ```text
//!     enter call            i(id)
//! a:  the old code
//! r:  exit call; xRETURN    o(id)      before every return
//! e:  exit call; athrow     o(id)      handler of [a, r) and of every such stretch up to e
//! ```
//!
//! The returns and their exit calls are outside the handler's ranges, so that one way out of the
//! method never counts twice. The handler is the last row of the exception table: the method's own
//! handlers come first, and only what leaves the method reaches ours.

use super::constructor::{self, Prelude};
use super::emit::{self, Calls, PushId};
use super::layout::{Insertions, Layout};
use super::stack_map::{self, HandlerFrame};
use super::{debug_tables, type_annotations};
use crate::class::class_file::{ClassFile, Method};
use crate::class::code::{Code, Handler};
use crate::class::opcodes::{self, ATHROW, GOTO};
use crate::error::{Malformed, SkipReason};
use crate::options::Exits;

/// Class file version from which a method needs a frame at each handler. Version 50 falls back to
/// the older verifier where a frame is missing; with one it need not.
const FRAMES_SINCE: u16 = 50;

/// After so many layouts every `goto` becomes wide.
const MAX_ROUNDS: u32 = 8;

/// What is the same for all methods of a class.
pub(crate) struct Target {
    pub(crate) calls: Calls,
    /// Index of the class `java/lang/Throwable`.
    pub(crate) throwable: u16,
    /// Index of the text `StackMapTable`.
    pub(crate) stack_map_name: u16,
    pub(crate) exits: Exits,
}

/// Buffers that one method leaves to the next.
#[derive(Default)]
pub(crate) struct Scratch {
    layout: Layout,
    widened: Vec<u32>,
    code: Vec<u8>,
}

fn u2(value: usize, full: SkipReason) -> Result<[u8; 2], SkipReason> {
    u16::try_from(value).map(u16::to_be_bytes).map_err(|_| full)
}

/// Appends the `Code` attribute of `method` with its calls to `out`. After an error, what was
/// appended is of no use.
pub(crate) fn rewrite(
    class: &ClassFile<'_>,
    method: &Method<'_>,
    code: &Code<'_>,
    push: PushId,
    target: &Target,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let in_file = |reason: SkipReason| match reason {
        SkipReason::Malformed(broken) if broken.offset < code.at => {
            SkipReason::Malformed(broken.behind(code.at))
        }
        other => other,
    };
    rewrite_code(class, method, code, push, target, scratch, out).map_err(in_file)
}

fn rewrite_code(
    class: &ClassFile<'_>,
    method: &Method<'_>,
    code: &Code<'_>,
    push: PushId,
    target: &Target,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let prelude = if method.is_constructor() { Some(constructor::prelude(class, code)?) } else { None };
    let enters = prelude.as_ref().map_or(&[0][..], |prelude| &prelude.bodies);

    let Scratch { layout, widened, code: new_code } = scratch;
    widened.clear();
    for round in 1.. {
        let insertions = Insertions { enters, call_length: push.call_length(), widened };
        new_code.clear();
        layout.compute(code.bytes, &insertions)?;
        let mut too_far = Vec::new();
        emit::emit(code.bytes, layout, &insertions, push, target.calls, new_code, &mut too_far)?;
        if too_far.is_empty() {
            break;
        }
        // Each round widens at least one jump more, so there is an end; but code made for it could
        // take a round for each of its jumps. So then all are.
        if round == MAX_ROUNDS {
            let all = opcodes::instructions(code.bytes).filter_map(Result::ok);
            too_far = all.filter(|instruction| instruction.opcode == GOTO).map(|goto| goto.pc).collect();
        }
        widened.extend(too_far);
        widened.sort_unstable();
        widened.dedup();
    }

    let handlers = handlers(code, layout, prelude.as_ref(), target.exits)?;
    let handler = handlers.ours.then(|| HandlerFrame { at: layout.end(), throwable: target.throwable });
    if handler.is_some() {
        push.call(target.calls.exit, new_code);
        new_code.push(ATHROW);
    }
    if new_code.len() > 0xFFFF {
        return Err(SkipReason::CodeTooLarge);
    }

    out.extend_from_slice(&code.name_index.to_be_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    // The id is pushed on top of whatever is there; in the handler, on top of the throwable.
    let max_stack = code.max_stack.checked_add(1).ok_or(SkipReason::StackTooDeep)?;
    out.extend_from_slice(&max_stack.max(2).to_be_bytes());
    out.extend_from_slice(&code.max_locals.to_be_bytes());
    out.extend_from_slice(&(new_code.len() as u32).to_be_bytes());
    out.extend_from_slice(new_code);
    out.extend_from_slice(&u2(handlers.rows.len(), SkipReason::TableFull)?);
    for row in &handlers.rows {
        for field in [row.start, row.end, row.handler, row.catch_type] {
            out.extend_from_slice(&field.to_be_bytes());
        }
    }
    attributes(class, code, layout, handler.as_ref(), target.stack_map_name, out)?;
    let length = u32::try_from(out.len() - length_at - 4).map_err(|_| SkipReason::CodeTooLarge)?;
    if let Some(slot) = out.get_mut(length_at..length_at + 4) {
        slot.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

struct Handlers {
    rows: Vec<Handler>,
    /// Whether the last rows are ours.
    ours: bool,
}

/// The old rows, moved, and behind them ours.
fn handlers(
    code: &Code<'_>,
    layout: &Layout,
    prelude: Option<&Prelude>,
    exits: Exits,
) -> Result<Handlers, SkipReason> {
    let short = |at: u32| u16::try_from(at).map_err(|_| SkipReason::CodeTooLarge);
    let mut rows = Vec::with_capacity(code.handlers.len() + 2);
    for row in &code.handlers {
        if row.start >= row.end || usize::from(row.handler) >= code.bytes.len() {
            return Err(Malformed { offset: code.bytes.len(), what: "a broken exception table row" }.into());
        }
        rows.push(Handler {
            start: short(layout.before(u32::from(row.start))?)?,
            end: short(layout.before(u32::from(row.end))?)?,
            handler: short(layout.before(u32::from(row.handler))?)?,
            catch_type: row.catch_type,
        });
    }
    let own = rows.len();
    if exits == Exits::All {
        let handler = short(layout.end())?;
        let mut start = None;
        let mut close = |start: &mut Option<u32>, end: u32| -> Result<(), SkipReason> {
            if let Some(start) = start.take() {
                rows.push(Handler { start: short(start)?, end: short(end)?, handler, catch_type: 0 });
            }
            Ok(())
        };
        for instruction in opcodes::instructions(code.bytes) {
            let instruction = instruction?;
            let at = layout.before(instruction.pc)?;
            let outside = prelude.is_some_and(|prelude| prelude.contains(instruction.pc));
            if outside || opcodes::is_return(instruction.opcode) {
                close(&mut start, at)?;
            } else {
                start.get_or_insert(at);
            }
        }
        close(&mut start, layout.end())?;
    }
    Ok(Handlers { ours: rows.len() > own, rows })
}

/// Appends the attributes of the `Code` attribute that are kept, moved.
fn attributes(
    class: &ClassFile<'_>,
    code: &Code<'_>,
    layout: &Layout,
    handler: Option<&HandlerFrame>,
    stack_map_name: u16,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let count_at = out.len();
    out.extend_from_slice(&[0; 2]);
    let mut count = 0_usize;
    let mut has_frames = false;
    for &(name, contents) in &code.attributes {
        let start = out.len();
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        match class.pool.utf8(name)? {
            b"StackMapTable" if has_frames => {
                return Err(contents.malformed("a Code attribute with two StackMapTables").into());
            }
            b"StackMapTable" => {
                has_frames = true;
                stack_map::relocate(Some(contents), layout, handler, out)?;
            }
            b"LineNumberTable" => debug_tables::lines(contents, layout, out)?,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                debug_tables::variables(contents, layout, out)?
            }
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                type_annotations::relocate(contents, layout, out)?;
            }
            // Unknown ones may hold positions that would now lie: see the crate documentation.
            _ => {
                out.truncate(start);
                continue;
            }
        }
        count += 1;
        close_attribute(out, start);
    }
    if let Some(handler) = handler.filter(|_| !has_frames && class.major >= FRAMES_SINCE) {
        let start = out.len();
        out.extend_from_slice(&stack_map_name.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        stack_map::relocate(None, layout, Some(handler), out)?;
        count += 1;
        close_attribute(out, start);
    }
    let count = u2(count, SkipReason::TableFull)?;
    if let Some(slot) = out.get_mut(count_at..count_at + 2) {
        slot.copy_from_slice(&count);
    }
    Ok(())
}

/// Writes the length of the attribute that starts at `start` and goes to the end.
fn close_attribute(out: &mut [u8], start: usize) {
    let length = (out.len() - start - 6) as u32;
    if let Some(slot) = out.get_mut(start + 2..start + 6) {
        slot.copy_from_slice(&length.to_be_bytes());
    }
}
