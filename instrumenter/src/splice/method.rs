//! Rewrites the `Code` attribute of one method.
//!
//! ```text
//!     enter call            i(id)
//! a:  the old code
//! r:  exit call; xRETURN    o(id)      before every return
//! s:  stubs                 we(..)     if there are waits: see stubs
//! e:  exit call; athrow     o(id)      handler of [a, r) and of every such stretch up to e
//! ```
//!
//! The returns and their exit calls are outside the handler's ranges, so that no exit counts twice. The handler is
//! the last row of the exception table: the method's own handlers come first, and only exceptions that leave the
//! method reach it.

use super::code_attribute::{self, NewCode};
use super::context::{Context, Target};
use super::emit::{self, PushId};
use super::exception_table::{ExitHandler, Table, Waited};
use super::layout::{Insertions, Layout, Prelude};
use super::lock::Lock;
use super::task::Task;
use super::waits::{self, Found, InMethod};
use super::{constructor, report, stubs};
use crate::class::class_file::Method;
use crate::class::code::Code;
use crate::class::opcodes::{self, ATHROW, GOTO};
use crate::error::SkipReason;
use crate::options::Exits;
use crate::waits::scan::is_locked;

/// After this many layouts every `goto` becomes wide.
const MAX_ROUNDS: u32 = 8;

/// Buffers that are reused for each method.
#[derive(Default)]
pub(crate) struct Scratch {
    layout: Layout,
    widened: Vec<u32>,
    code: Vec<u8>,
    enter: Vec<u8>,
    exit: Vec<u8>,
    /// If present, receives the list of inserted code.
    pub(crate) report: Option<Vec<report::Inserted>>,
}

/// Changes of a method besides its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// Whether its flag `ACC_SYNCHRONIZED` must be removed, because the code acquires the lock.
    pub(crate) unsynchronized: bool,
}

/// Appends the rewritten `Code` attribute of `method` to `out`. After an error, discard what was appended.
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
            SkipReason::Malformed(broken.offset_by(code.at))
        }
        other => other,
    };
    rewrite_code(context, method, code, push, scratch, out).map_err(in_file)
}

/// The waits of a method, and the stubs and lock for them.
struct MethodWaits {
    found: Found,
    stubs: Vec<stubs::Stub>,
    lock: Option<Lock>,
    task: Option<Task>,
}

fn waits_of(
    context: &mut Context<'_, '_>,
    method: &Method<'_>,
    code: &Code<'_>,
    push: PushId,
    prelude: Option<&Prelude>,
) -> Result<Option<MethodWaits>, SkipReason> {
    let Context { class, number, pool, waits: Some(of_class), .. } = context else { return Ok(None) };
    let locals = code.max_locals.checked_add(u16::from(is_locked(class, method)));
    let in_method = InMethod {
        code: code.bytes,
        number: *number,
        id: push,
        lines: &code.lines(class),
        free: locals.ok_or(SkipReason::TooManyLocals)?,
        prelude,
    };
    let found = waits::find(class, &in_method, of_class, pool)?;
    let task = match of_class.tasks.code_of(*number) {
        Some(kind) => {
            let does = of_class.does(class, code.bytes);
            Some(Task::new(kind, does, push, of_class.step_calls(pool)?, pool)?)
        }
        None => None,
    };
    let lock = match is_locked(class, method) {
        true => {
            let calls = of_class.calls(pool)?;
            let waits = of_class.waits();
            Some(Lock::new(class, method, code.max_locals, waits, calls, pool)?)
        }
        false => None,
    };
    if found.marks.is_empty() && lock.is_none() && task.is_none() {
        return Ok(None);
    }
    let stubs = stubs::needed(code, &found)?;
    Ok(Some(MethodWaits { found, stubs, lock, task }))
}

/// The enter and exit code of a method; [`Scratch`] holds the bytes.
struct Ends {
    /// Length of the call of `i`.
    enter_call: u32,
    /// Bytes at the end of the enter code that run with the lock.
    after_enter: u32,
    /// Bytes at the start of the exit code that may release the lock.
    release: u32,
    /// The number of them before the call of `o`.
    before_exit_call: usize,
}

impl Ends {
    fn write(
        target: &Target,
        push: PushId,
        lock: Option<Lock>,
        task: Option<&Task>,
        enter: &mut Vec<u8>,
        exit: &mut Vec<u8>,
    ) -> Self {
        enter.clear();
        exit.clear();
        push.call(target.enter, enter);
        if let Some(task) = task {
            enter.extend_from_slice(&task.started);
        }
        let enter_call = enter.len() as u32;
        let after_enter = lock.map_or(0, |lock| lock.take(enter));
        let release = lock.map_or(0, |lock| lock.leave(exit));
        let before_exit_call = exit.len();
        if let Some(task) = task {
            exit.extend_from_slice(&task.finished);
        }
        push.call(target.exit, exit);
        Self { enter_call, after_enter, release, before_exit_call }
    }
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
    let waits = waits_of(&mut context, method, code, push, prelude.as_ref())?;
    let lock = waits.as_ref().and_then(|waits| waits.lock);
    let found = waits.as_ref().map(|waits| &waits.found);

    let Scratch { layout, widened, code: new_code, enter, exit, report } = scratch;
    let ends =
        Ends::write(target, push, lock, waits.as_ref().and_then(|waits| waits.task.as_ref()), enter, exit);
    let exit_call = exit.get(ends.before_exit_call..).unwrap_or_default();
    let insertions = Insertions {
        enters: prelude.as_ref().map_or(&[0][..], |prelude| &prelude.bodies),
        enter,
        exit,
        throw: if target.exits == Exits::Normal { exit_call } else { &[] },
        prelude: prelude.as_ref(),
        marks: found.map_or(&[], |found| &found.marks),
        mark_code: found.map_or(&[], |found| &found.code),
        widened: &[],
    };
    lay_out(code.bytes, insertions, layout, widened, new_code)?;
    if let Some(report) = report {
        report::insertions(code.bytes, layout, &insertions, found, report);
        if let Some(lock) = lock {
            report::lock(lock.rewritten, ends.enter_call, report);
        }
    }

    let placed = match (&waits, context.waits.as_deref_mut()) {
        (Some(waits), Some(of_class)) if !waits.stubs.is_empty() => {
            let calls = of_class.calls(context.pool)?;
            stubs::emit(&waits.stubs, calls, new_code)
        }
        _ => Vec::new(),
    };
    // The code of the exit handler before it throws; without a handler, the lock still has to be released.
    let before_throw = match (target.exits, lock) {
        (Exits::All, _) => Some(&exit[..]),
        (_, Some(_)) => exit.get(..ends.before_exit_call),
        _ => None,
    };
    let exit_at = before_throw.map(|before_throw| {
        let at = new_code.len() as u32;
        new_code.extend_from_slice(before_throw);
        new_code.push(ATHROW);
        at
    });
    let handler = exit_at.map(|at| ExitHandler { at, after_enter: ends.after_enter, release: ends.release });
    let waited = found.map(|found| Waited { found, stubs: &placed });
    let table = Table::new(code, layout, prelude.as_ref(), waited.as_ref(), handler)?;
    // A body that cannot throw, such as a single return, needs no handler.
    let handler = exit_at.filter(|&at| table.rows.iter().any(|row| u32::from(row.handler) == at));
    if exit_at.is_some() && handler.is_none() && placed.is_empty() {
        let end = layout.end() as usize;
        new_code.truncate(end);
    }
    if let Some(report) = report {
        report::after_code(&placed, handler, report);
    }

    let waits = waits.as_ref();
    let steps = waits.is_some_and(|waits| waits.found.has_steps || waits.task.is_some());
    let locals = waits.map_or(0, |waits| waits.found.locals);
    let waits = waits.is_some();
    let new = NewCode {
        bytes: new_code,
        layout,
        waits,
        steps,
        locals,
        placed: &placed,
        handler,
        lock,
        table: &table,
    };
    code_attribute::append(&mut context, method, code, &new, out)?;
    Ok(Done { unsynchronized: lock.is_some_and(|lock| lock.rewritten) })
}

/// Writes the old code with the inserted code and adjusted jumps to `new_code`.
fn lay_out(
    code: &[u8],
    insertions: Insertions<'_>,
    layout: &mut Layout,
    widened: &mut Vec<u32>,
    new_code: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    widened.clear();
    for round in 1.. {
        let insertions = Insertions { widened, ..insertions };
        new_code.clear();
        layout.compute(code, &insertions)?;
        let mut too_far = Vec::new();
        emit::emit(code, layout, &insertions, new_code, &mut too_far)?;
        if too_far.is_empty() {
            break;
        }
        // Each round widens at least one more jump, so this ends; but hostile code could need a round for each jump.
        // So at the limit all are widened.
        if round == MAX_ROUNDS {
            let all = opcodes::instructions(code).filter_map(Result::ok);
            too_far = all.filter(|instruction| instruction.opcode == GOTO).map(|goto| goto.pc).collect();
        }
        widened.extend(too_far);
        widened.sort_unstable();
        widened.dedup();
    }
    Ok(())
}
