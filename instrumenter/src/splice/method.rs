//! One method's `Code` attribute, with its calls.
//!
//! ```text
//!     enter call            i(id)
//! a:  the old code
//! r:  exit call; xRETURN    o(id)      before every return
//! s:  stubs                 we(..)     if there are waits: see stubs
//! e:  exit call; athrow     o(id)      handler of [a, r) and of every such stretch up to e
//! ```
//!
//! The returns and their exit calls are outside the handler's ranges, so that one way out of the
//! method never counts twice. The handler is the last of the exception table: the method's own
//! handlers come first, and only what leaves the method reaches ours.

use super::constructor;
use super::emit::{self, PushId};
use super::exception_table::{ExitHandler, Table, Waited};
use super::frames;
use super::layout::{Insertions, Layout, Prelude};
use super::lock::Lock;
use super::stack_map::{self, NewFrame};
use super::stubs::{self, Placed, Target as StubTarget};
use super::waits::{self, ClassWaits, Found};
use super::{debug_tables, report, type_annotations};
use crate::class::class_file::{ClassFile, Method};
use crate::class::code::Code;
use crate::class::constant_pool::Appended;
use crate::class::cursor::Cursor;
use crate::class::opcodes::{self, ATHROW, GOTO};
use crate::error::SkipReason;
use crate::options::Exits;
use crate::waits::first_look::is_locked;

/// Class file version from which a method needs a frame at each handler. Version 50 falls back to
/// the older verifier where a frame is missing; with one it need not.
const FRAMES_SINCE: u16 = 50;

/// After so many layouts every `goto` becomes wide.
const MAX_ROUNDS: u32 = 8;

/// What is the same for all methods of a class.
pub(crate) struct Target {
    /// Index of `i`.
    pub(crate) enter: u16,
    /// Index of `o`.
    pub(crate) exit: u16,
    /// Types of the exit handler's frame.
    pub(crate) handler_types: [u8; 7],
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
    enter: Vec<u8>,
    exit: Vec<u8>,
    /// If it is there, what was inserted where is written down in it.
    pub(crate) report: Option<Vec<report::Inserted>>,
}

/// The class around a method.
pub(crate) struct Context<'c, 'w> {
    pub(crate) class: &'c ClassFile<'c>,
    pub(crate) target: &'c Target,
    pub(crate) pool: &'c mut Appended,
    /// `None` leaves waits alone.
    pub(crate) waits: Option<&'c mut ClassWaits<'w>>,
}

/// What became of a method beside its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// Its flag `ACC_SYNCHRONIZED` must go: the code takes the lock now.
    pub(crate) unsynchronized: bool,
}

fn u2(value: usize, full: SkipReason) -> Result<[u8; 2], SkipReason> {
    u16::try_from(value).map(u16::to_be_bytes).map_err(|_| full)
}

/// Appends the `Code` attribute of `method` with its calls to `out`. After an error, what was
/// appended is of no use.
pub(crate) fn rewrite(
    context: Context<'_, '_>,
    method: &Method<'_>,
    code: &Code<'_>,
    push: PushId,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<Done, SkipReason> {
    let in_file = |reason: SkipReason| match reason {
        SkipReason::Malformed(broken) if broken.offset < code.at => {
            SkipReason::Malformed(broken.behind(code.at))
        }
        other => other,
    };
    rewrite_code(context, method, code, push, scratch, out).map_err(in_file)
}

/// The waits of a method and what they need.
struct MethodWaits {
    found: Found,
    stubs: Vec<stubs::Stub>,
    lock: Option<Lock>,
}

fn waits_of(
    context: &mut Context<'_, '_>,
    method: &Method<'_>,
    code: &Code<'_>,
    prelude: Option<&Prelude>,
) -> Result<Option<MethodWaits>, SkipReason> {
    let Context { class, pool, waits: Some(of_class), .. } = context else { return Ok(None) };
    let found = waits::find(class, code.bytes, prelude, of_class, pool)?;
    let lock = match is_locked(class, method) {
        true => {
            let calls = of_class.calls(pool)?;
            let hierarchy = of_class.waits().hierarchy;
            Some(Lock::new(class, method, code.max_locals, hierarchy, calls, pool)?)
        }
        false => None,
    };
    if found.marks.is_empty() && lock.is_none() {
        return Ok(None);
    }
    let stubs = stubs::needed(code, &found)?;
    Ok(Some(MethodWaits { found, stubs, lock }))
}

fn rewrite_code(
    mut context: Context<'_, '_>,
    method: &Method<'_>,
    code: &Code<'_>,
    push: PushId,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<Done, SkipReason> {
    let (class, target) = (context.class, context.target);
    let prelude = if method.is_constructor() { Some(constructor::prelude(class, code)?) } else { None };
    let enters = prelude.as_ref().map_or(&[0][..], |prelude| &prelude.bodies);
    let waits = waits_of(&mut context, method, code, prelude.as_ref())?;
    let lock = waits.as_ref().and_then(|waits| waits.lock);

    let Scratch { layout, widened, code: new_code, enter, exit, report } = scratch;
    enter.clear();
    exit.clear();
    push.call(target.enter, enter);
    let enter_call = enter.len() as u32;
    let after_enter = lock.map_or(0, |lock| lock.take(enter));
    let release = lock.map_or(0, |lock| lock.leave(exit));
    let release_all = exit.len();
    push.call(target.exit, exit);
    let exit_call = exit.get(release_all..).unwrap_or_default();
    widened.clear();
    let found = waits.as_ref().map(|waits| &waits.found);
    for round in 1.. {
        let insertions = Insertions {
            enters,
            enter,
            exit,
            throw: if target.exits == Exits::Normal { exit_call } else { &[] },
            prelude: prelude.as_ref(),
            marks: found.map_or(&[], |found| &found.marks),
            mark_code: found.map_or(&[], |found| &found.code),
            widened,
        };
        new_code.clear();
        layout.compute(code.bytes, &insertions)?;
        let mut too_far = Vec::new();
        emit::emit(code.bytes, layout, &insertions, new_code, &mut too_far)?;
        if too_far.is_empty() {
            if let Some(report) = report {
                report::insertions(code.bytes, layout, &insertions, found, report);
                if let Some(lock) = lock {
                    report::lock(lock.rewritten, enter_call, report);
                }
            }
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

    let exit_handler = target.exits == Exits::All || lock.is_some();
    let placed = match (&waits, context.waits.as_deref_mut()) {
        (Some(waits), Some(of_class)) if !waits.stubs.is_empty() => {
            let calls = of_class.calls(context.pool)?;
            stubs::emit(&waits.stubs, calls, new_code)
        }
        _ => Vec::new(),
    };
    let exit_at = exit_handler.then_some(new_code.len() as u32);
    if exit_handler {
        let told =
            if target.exits == Exits::All { &exit[..] } else { exit.get(..release_all).unwrap_or_default() };
        new_code.extend_from_slice(told);
        new_code.push(ATHROW);
    }
    let handler = exit_at.map(|at| ExitHandler { at, after_enter, release });
    let waited = waits.as_ref().map(|waits| Waited { found: &waits.found, stubs: &placed });
    let table = Table::of(code, layout, prelude.as_ref(), waited.as_ref(), handler)?;
    // A body without a stretch that could throw, such as a lone return, needs no handler.
    let handler = exit_at.filter(|&at| table.rows.iter().any(|row| u32::from(row.handler) == at));
    if exit_at.is_some() && handler.is_none() && placed.is_empty() {
        let end = layout.end() as usize;
        new_code.truncate(end);
    }
    if new_code.len() > 0xFFFF {
        return Err(SkipReason::CodeTooLarge);
    }
    if let Some(report) = report {
        report::behind(&placed, handler, report);
    }

    out.extend_from_slice(&code.name_index.to_be_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    // The id is pushed on top of whatever is there; in the handler, on top of the throwable.
    let (more_stack, least) = if waits.is_some() { (waits::EXTRA_STACK, 3) } else { (1, 2) };
    let max_stack = code.max_stack.checked_add(more_stack).ok_or(SkipReason::StackTooDeep)?;
    out.extend_from_slice(&max_stack.max(least).to_be_bytes());
    let max_locals = code.max_locals.checked_add(u16::from(lock.is_some()));
    out.extend_from_slice(&max_locals.ok_or(SkipReason::TooManyLocals)?.to_be_bytes());
    out.extend_from_slice(&(new_code.len() as u32).to_be_bytes());
    out.extend_from_slice(new_code);
    out.extend_from_slice(&u2(table.rows.len(), SkipReason::TableFull)?);
    for row in &table.rows {
        for field in [row.start, row.end, row.handler, row.catch_type] {
            out.extend_from_slice(&field.to_be_bytes());
        }
    }
    let new = NewCode { layout, placed: &placed, handler, lock, moved_rows: &table.moved };
    attributes(&mut context, method, code, &new, out)?;
    let length = u32::try_from(out.len() - length_at - 4).map_err(|_| SkipReason::CodeTooLarge)?;
    if let Some(slot) = out.get_mut(length_at..length_at + 4) {
        slot.copy_from_slice(&length.to_be_bytes());
    }
    Ok(Done { unsynchronized: lock.is_some_and(|lock| lock.rewritten) })
}

/// Where things lie in the new code.
struct NewCode<'a> {
    layout: &'a Layout,
    placed: &'a [Placed],
    /// The exit handler.
    handler: Option<u32>,
    lock: Option<Lock>,
    moved_rows: &'a [u16],
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
        let start = out.len();
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
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
                type_annotations::relocate(contents, layout, new.moved_rows, out)?;
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
    let wanted = new.handler.is_some() || !new.placed.is_empty();
    if wanted && !has_frames && class.major >= FRAMES_SINCE {
        let start = out.len();
        out.extend_from_slice(&context.target.stack_map_name.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
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

/// Appends a `StackMapTable`: the old frames, those of the stubs, that of the exit handler.
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
    // Frames have to be written out: all if there is a local of ours, else those of the handlers that
    // have stubs.
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

/// The old position of the handler that a stub leads to, if it is one of the method's own.
fn handler_of(placed: &Placed) -> Option<u32> {
    match placed.stub.target {
        StubTarget::Handler(pc) => Some(u32::from(pc)),
        StubTarget::Exit => None,
    }
}

/// Writes the length of the attribute that starts at `start` and goes to the end.
fn close_attribute(out: &mut [u8], start: usize) {
    let length = (out.len() - start - 6) as u32;
    if let Some(slot) = out.get_mut(start + 2..start + 6) {
        slot.copy_from_slice(&length.to_be_bytes());
    }
}
