//! Rewrites the `Code` attribute of one method.
//!
//! ```text
//!     if the method takes locks                wb(0, null) where it begins, not guarded: see `MethodBeat`
//!     enter call                            i(id)      guarded
//! a:  the old code
//! r:  store; exit call; load; xRETURN       o(id)      before every return
//! l:  pop; lost = id; load; xRETURN                    an error of an exit call before a return
//! s:  stubs                                 we(..)     if there are waits: see stubs
//! e:  store; exit call; load; athrow        o(id)      handler of [a, r) and of every such stretch up to l, and of the stubs
//!     pop; lost = id; load; athrow                     an error of the exit call at e
//! ```
//!
//! The returns and their exit calls are outside the handler's ranges, so that no exit counts twice. The handler is
//! the last row of the exception table: the method's own handlers come first, and only exceptions that leave the
//! method reach it.
//!
//! An error of an inserted call is dropped ([`super::guard`]), and what the method returns or throws is in a local variable
//! meanwhile. With [`Exits::Normal`] only exceptions of inserted calls are handled. With [`Exits::Bare`] calls of `i` and `o` have no
//! handler: the build is for ART, which inlines no method that has one. `MethodBeat` argues why these two do not throw there.

use std::collections::BTreeMap;

use super::calls::Calls;
use super::code_attribute::{self, FRAMES_SINCE, NewCode};
use super::context::{Context, Target};
use super::emit::{self, PushId};
use super::exception_table::{ExitHandler, Table, Waited};
use super::flow::{self, State, Value};
use super::frames::{self, Frame};
use super::guard::{Guard, Lost, Row};
use super::layout::{Insertions, Layout, Prelude};
use super::lock::Lock;
use super::site::{Call, Site};
use super::stack_map::Type;
use super::task::Task;
use super::waits::{self, Found, InMethod};
use super::{constructor, local, report, stubs};
use crate::class::class_file::{ClassFile, Method};
use crate::class::code::Code;
use crate::class::constant_pool::Appended;
use crate::class::descriptor::Types;
use crate::class::opcodes::{self, ASTORE, GOTO, ILOAD, IRETURN, ISTORE};
use crate::error::SkipReason;
use crate::options::Exits;
use crate::waits::Monitors;
use crate::waits::call_kind::CallKind;
use crate::waits::scan::is_locked;

/// The most bytes of the instructions that bring an object to a `monitorenter`, after the first of them: `dup; astore`.
const MAX_BETWEEN: u32 = 2;

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

/// The waits of a method, and the stubs, lock and task for them.
#[derive(Default)]
struct MethodWaits {
    found: Found,
    stubs: Vec<stubs::Stub>,
    lock: Option<Lock>,
    task: Option<Task>,
    calls: Option<Calls>,
    /// True if the method calls what takes a lock or permits.
    takes_locks: bool,
}

/// The method that is rewritten.
struct Rewritten<'m, 'a> {
    class: &'a ClassFile<'a>,
    target: &'m Target,
    method: &'m Method<'a>,
    code: &'m Code<'a>,
    push: PushId,
    /// The first local variable that neither the method nor its lock uses.
    free: u16,
    prelude: Option<Prelude>,
}

impl<'a> Rewritten<'_, 'a> {
    /// True if the calls of `i` and `o` are guarded.
    fn is_guarded(&self) -> bool {
        self.target.exits != Exits::Bare
    }

    /// Returns the start of a constructor's body as sites: after each super call.
    fn starts(&self, enter: &[u8]) -> Vec<Site<'a>> {
        let Some(prelude) = self.prelude.as_ref().filter(|_| self.is_guarded()) else { return Vec::new() };
        let instructions = opcodes::instructions(self.code.bytes).filter_map(Result::ok);
        let is_super = |pc: u32, next: u32| prelude.contains(pc) && prelude.bodies.contains(&next);
        let calls = instructions.filter(|call| is_super(call.pc, call.next()));
        let start = |call| {
            let mut site = Site::new(call);
            site.after.push(Call::Code(enter.to_vec()));
            site
        };
        calls.map(start).collect()
    }

    /// Returns the old frames, with all their types.
    fn old_frames(&self, pool: &mut Appended) -> Result<BTreeMap<u32, Frame>, SkipReason> {
        for &(name, table) in &self.code.attributes {
            if self.class.pool.is_text(name, b"StackMapTable") {
                return frames::read(State::first(self.class, self.method)?.frame_locals(pool)?, table);
            }
        }
        Ok(BTreeMap::new())
    }
}

fn waits_of<'a>(
    context: &mut Context<'a, '_>,
    rewritten: &Rewritten<'_, 'a>,
) -> Result<(Vec<Site<'a>>, MethodWaits), SkipReason> {
    let Rewritten { method, code, push, free, .. } = *rewritten;
    let Context { class, number, pool, waits: Some(of_class), target } = context else {
        return Ok((Vec::new(), MethodWaits::default()));
    };
    let in_method = InMethod {
        code: code.bytes,
        number: *number,
        id: push,
        lines: &code.lines(class),
        prelude: rewritten.prelude.as_ref(),
    };
    let sites = waits::find(class, &in_method, of_class, pool)?;
    let task = match of_class.tasks.code_of(*number) {
        Some(kind) => {
            let does = of_class.does(class, code.bytes);
            Some(Task::new(kind, does, push, free, of_class.step_calls(pool)?, pool)?)
        }
        None => None,
    };
    let lock = match is_locked(class, method) {
        true => {
            let calls = of_class.calls(pool)?;
            let taken = match of_class.waits.monitors {
                Monitors::Agent => Some(of_class.step_calls(pool)?),
                Monitors::Inserted => None,
            };
            Some(Lock::new(class, method, code.max_locals, of_class.waits, (calls, taken), pool)?)
        }
        false => None,
    };
    let calls = match sites.is_empty() {
        true => None,
        false => Some(Calls {
            waits: of_class.calls(pool)?,
            steps: of_class.step_calls(pool)?,
            guard: target.guard,
        }),
    };
    let takes_locks = sites.iter().any(|site| site.wait.is_some_and(CallKind::acquires));
    Ok((sites, MethodWaits { lock, task, calls, takes_locks, ..MethodWaits::default() }))
}

/// The enter and exit code of a method; [`Scratch`] holds the bytes.
#[derive(Default)]
struct Ends<'a> {
    /// The value that the method returns.
    result: Option<Value<'a>>,
    /// Length of the call of `i`.
    enter_call: u32,
    /// Bytes at the end of the enter code that run with the lock.
    after_enter: u32,
    /// The guards of the enter code.
    guards: Vec<Guard>,
    /// Bytes at the start of the exit code up to where the lock is released; 0 without a lock.
    release: u32,
    /// The place of the calls in the exit code, if they are guarded.
    exit_calls: Option<core::ops::Range<u32>>,
    /// The load of the result before a return.
    load: Vec<u8>,
}

impl<'a> Ends<'a> {
    fn write(
        rewritten: &Rewritten<'_, 'a>,
        waits: &MethodWaits,
        needs_types: bool,
        pool: &mut Appended,
        enter: &mut Vec<u8>,
        exit: &mut Vec<u8>,
    ) -> Result<Self, SkipReason> {
        enter.clear();
        exit.clear();
        let Rewritten { class, target, method, push, free, .. } = *rewritten;
        let (guard, lock, task) = (target.guard, waits.lock.as_ref(), waits.task.as_ref());
        let mut ends = Self::default();
        let first = State::first(class, method)?;
        let locals = if needs_types { first.frame_locals(pool)? } else { Vec::new() };
        let started = |out: &mut Vec<u8>| {
            out.extend_from_slice(task.map_or(&[], |task| &task.started));
            Ok(())
        };
        if let Some(calls) = waits.calls
            && waits.takes_locks
            && rewritten.prelude.is_none()
        {
            calls.waits.leave_room(enter);
        }
        if rewritten.is_guarded() && rewritten.prelude.is_none() {
            ends.guards.push(guard.guard(locals, Lost::Nothing, enter, |out| {
                push.call(target.enter, out);
                started(out)
            })?);
        } else {
            push.call(target.enter, enter);
            if task.is_some() && !rewritten.is_guarded() {
                ends.guards.push(guard.guard(locals, Lost::Nothing, enter, started)?);
            } else {
                started(enter)?;
            }
        }
        ends.enter_call = enter.len() as u32;
        if let Some(lock) = lock {
            let (guards, after_enter) = lock.take(guard, &first, pool, enter)?;
            ends.guards.extend(guards);
            ends.after_enter = after_enter;
        }

        let mut types = Types::try_from(method.descriptor)?;
        while types.next()?.is_some() {}
        ends.result = Value::of(types.result());
        let is_guarded = rewritten.is_guarded() || lock.is_some() || task.is_some();
        if let Some(result) = ends.result.as_ref().filter(|_| is_guarded) {
            local::access(ISTORE + result.kind(), free, exit);
            local::access(ILOAD + result.kind(), free, &mut ends.load);
        }
        if let Some(lock) = lock {
            lock.release(exit);
            ends.release = exit.len() as u32;
        }
        let start = exit.len() as u32;
        exit_calls(rewritten, waits, true, exit);
        ends.exit_calls = is_guarded.then_some(start..exit.len() as u32);
        exit.extend_from_slice(&ends.load);
        Ok(ends)
    }
}

/// Appends the calls at an exit: the lock was released, the task has finished, and the method exits.
fn exit_calls(rewritten: &Rewritten<'_, '_>, waits: &MethodWaits, exits: bool, out: &mut Vec<u8>) {
    if let Some(lock) = &waits.lock {
        lock.released(out);
    }
    if let Some(task) = &waits.task {
        out.extend_from_slice(&task.finished);
    }
    if exits {
        rewritten.push.call(rewritten.target.exit, out);
    }
}

/// The code after the old code.
#[derive(Default)]
struct Tail {
    /// The stubs.
    placed: Vec<stubs::Placed>,
    /// The exit handler, and the guard of its calls.
    exit: Option<(ExitHandler, Row)>,
    /// Where an error of an exit call before a return goes.
    lost_exit: Option<u32>,
    /// The guards of the exit calls before returns.
    returns: Vec<Row>,
}

impl Tail {
    fn write(
        rewritten: &Rewritten<'_, '_>,
        waits: &MethodWaits,
        ends: &Ends<'_>,
        layout: &Layout,
        code: &mut Vec<u8>,
    ) -> Result<Self, SkipReason> {
        let Rewritten { target, push, free, .. } = *rewritten;
        let mut tail = Self::default();
        tail.write_lost_exit(rewritten, ends, layout, code)?;
        let stubs = code.len() as u32;
        if let Some(calls) = waits.calls {
            tail.placed = stubs::emit(&waits.stubs, calls.waits, calls.guard, free, code);
        }
        if target.exits == Exits::All || waits.lock.is_some() || waits.task.is_some() {
            let at = code.len() as u32;
            local::access(ASTORE, free, code);
            let mut own_release = 0;
            if let Some(lock) = &waits.lock {
                lock.release(code);
                own_release = code.len() as u32 - at;
            }
            let start = code.len() as u32;
            exit_calls(rewritten, waits, target.exits == Exits::All, code);
            let end = code.len() as u32;
            local::throw(free, code);
            let handler = code.len() as u32;
            target.guard.drop_error(Lost::Exit(push), code);
            local::throw(free, code);
            let (after_enter, release) = (ends.after_enter, ends.release);
            let exit = ExitHandler { at, after_enter, release, own_release, stubs };
            tail.exit = Some((exit, Row { start, end, handler }));
        }
        Ok(tail)
    }

    /// Appends where errors of the exit calls before returns go, if there are any.
    fn write_lost_exit(
        &mut self,
        rewritten: &Rewritten<'_, '_>,
        ends: &Ends<'_>,
        layout: &Layout,
        code: &mut Vec<u8>,
    ) -> Result<(), SkipReason> {
        let Some(calls) = &ends.exit_calls else { return Ok(()) };
        let handler = code.len() as u32;
        for instruction in opcodes::instructions(rewritten.code.bytes).filter_map(Result::ok) {
            if opcodes::is_return(instruction.opcode) {
                let at = layout.before(instruction.pc)?;
                self.returns.push(Row { start: at + calls.start, end: at + calls.end, handler });
            }
        }
        if !self.returns.is_empty() {
            self.lost_exit = Some(handler);
            rewritten.target.guard.drop_error(Lost::Exit(rewritten.push), code);
            code.extend_from_slice(&ends.load);
            code.push(IRETURN + ends.result.as_ref().map_or(5, Value::kind));
        }
        Ok(())
    }
}

/// Appends the rewritten `Code` attribute of `method` to `out`. After an error, discard what was appended.
pub(crate) fn rewrite<'c>(
    mut context: Context<'c, '_>,
    method: &Method<'c>,
    code: &Code<'c>,
    push: PushId,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<Done, SkipReason> {
    let (class, target) = (context.class, context.target);
    let prelude = if method.is_constructor() {
        Some(constructor::prelude(class, method, code, context.pool)?)
    } else {
        None
    };
    let is_locked = context.waits.is_some() && is_locked(class, method);
    let free = code.max_locals.checked_add(u16::from(is_locked)).ok_or(SkipReason::TooManyLocals)?;
    let rewritten = Rewritten { class, target, method, code, push, free, prelude };
    let (mut sites, mut waits) = waits_of(&mut context, &rewritten)?;

    let Scratch { layout, widened, code: new_code, enter, exit, report } = scratch;
    let has_start = rewritten.prelude.is_some() && rewritten.is_guarded();
    let needs_types = waits.lock.is_some() || waits.task.is_some() || has_start || !sites.is_empty();
    let ends = Ends::write(&rewritten, &waits, needs_types, context.pool, enter, exit)?;
    sites.extend(rewritten.starts(enter));
    sites.sort_by_key(|site| site.instruction.pc);
    let old_frames = if needs_types { Some(rewritten.old_frames(context.pool)?) } else { None };
    if let Some(old) = &old_frames
        && !sites.is_empty()
    {
        waits.found = sites_code(&rewritten, &mut sites, old, &waits, &mut context)?;
        waits.stubs = stubs::needed(code, &waits.found)?;
    }
    let found = &waits.found;

    let mut exit_call = Vec::new();
    push.call(target.exit, &mut exit_call);
    let bodies = rewritten.prelude.as_ref().map_or(&[0][..], |prelude| &prelude.bodies);
    let insertions = Insertions {
        enters: if has_start { &[] } else { bodies },
        enter,
        exit,
        throw: if target.exits == Exits::Bare { &exit_call } else { &[] },
        prelude: rewritten.prelude.as_ref(),
        marks: &found.marks,
        mark_code: &found.code,
        widened: &[],
    };
    lay_out(code.bytes, insertions, layout, widened, new_code)?;
    if let Some(report) = report {
        report::insertions(code.bytes, layout, &insertions, found, report);
        if let Some(lock) = waits.lock {
            report::lock(lock.rewritten, ends.enter_call, report);
        }
    }

    let mut tail = Tail::write(&rewritten, &waits, &ends, layout, new_code)?;
    let mut guards = Guards { rows: Vec::new(), frames: Vec::new() };
    guards.add_inside(&rewritten, &ends, found, layout)?;
    guards.rows.extend(tail.placed.iter().map(|placed| placed.guarded));
    guards.rows.append(&mut tail.returns);
    let waited = Waited { found, stubs: &tail.placed };
    let handler = tail.exit.map(|(handler, _)| handler);
    let mut table = Table::new(
        (&guards.rows, target.guard.errors),
        code,
        layout,
        rewritten.prelude.as_ref(),
        &waited,
        handler,
    )?;
    // A body that cannot throw, such as a single return, needs no handler.
    let is_used = |handler: &ExitHandler| table.rows.iter().any(|row| u32::from(row.handler) == handler.at);
    if let Some((exit, guarded)) = tail.exit {
        if is_used(&exit) {
            table.add_guard(guarded, target.guard.errors)?;
        } else {
            new_code.truncate(exit.at as usize);
            tail.exit = None;
        }
    }
    if let Some(report) = report {
        report::after_code(&tail.placed, tail.exit.map(|(exit, _)| exit.at), report);
    }
    // For what the method returns or throws.
    let spare = if ends.exit_calls.is_some() { ends.result.as_ref().map_or(1, Value::words) } else { 0 };
    guards.add_after(&rewritten, &waits, &ends, &tail, old_frames.as_ref(), context.pool)?;
    let new = NewCode {
        bytes: new_code,
        layout,
        waits: !found.marks.is_empty() || waits.lock.is_some(),
        steps: found.has_steps || waits.task.is_some(),
        handler_stack: rewritten.target.guard.handler_stack(),
        locals: found.locals.max(spare),
        lock: waits.lock,
        table: &table,
        old_frames: old_frames.as_ref(),
        frames: guards.frames,
    };
    code_attribute::append(&mut context, code, &new, out)?;
    Ok(Done { unsynchronized: waits.lock.is_some_and(|lock| lock.rewritten) })
}

/// Writes the code around the sites.
fn sites_code<'a>(
    rewritten: &Rewritten<'_, 'a>,
    sites: &mut [Site<'a>],
    old: &BTreeMap<u32, Frame>,
    waits: &MethodWaits,
    context: &mut Context<'a, '_>,
) -> Result<Found, SkipReason> {
    for site in sites.iter_mut() {
        // Control that comes from elsewhere may bring another object. Old classes do not say where it comes to.
        let pc = site.instruction.pc;
        let is_straight = old.range(pc.saturating_sub(MAX_BETWEEN)..=pc).next().is_none();
        site.held_in = site.held_in.filter(|_| is_straight && rewritten.class.major > FRAMES_SINCE);
    }
    let wanted = |pc: u32| sites.binary_search_by_key(&pc, |site| site.instruction.pc).is_ok();
    let Rewritten { class, method, code, .. } = rewritten;
    let mut around = flow::around(class, method, code, old, context.pool, &wanted)?;
    if let Some(lock) = &waits.lock {
        for around in around.values_mut() {
            lock.add_to(&mut around.before);
            lock.add_to(&mut around.after);
        }
    }
    // The starts of constructors alone use only guards.
    let none = || Calls { guard: context.target.guard, ..Calls::default() };
    let calls = waits.calls.unwrap_or_else(none);
    Found::write(sites, &around, rewritten.free, calls, context.pool)
}

/// The rows and frames of all guards of a method.
struct Guards {
    rows: Vec<Row>,
    /// By new position.
    frames: Vec<(u32, Frame)>,
}

impl Guards {
    fn add(&mut self, guard: &Guard, base: u32, rewritten: &Rewritten<'_, '_>) {
        let (row, frames) = guard.placed(base, rewritten.target.guard);
        self.rows.push(row);
        self.frames.extend(frames);
    }

    /// Adds the guards inside of the old code.
    fn add_inside(
        &mut self,
        rewritten: &Rewritten<'_, '_>,
        ends: &Ends<'_>,
        found: &Found,
        layout: &Layout,
    ) -> Result<(), SkipReason> {
        // Constructors have theirs at a mark; others begin with the enter code.
        ends.guards.iter().for_each(|guard| self.add(guard, 0, rewritten));
        for (mark, guard) in &found.guards {
            let Some(mark) = found.marks.get(*mark) else { continue };
            let at = layout.instruction(mark.pc)?;
            // Positions in the code of all marks: this one's was placed around the instruction.
            let base = match guard.resume <= mark.before.end {
                true => at - mark.before.end as u32,
                false => (at + (mark.next - mark.pc)).wrapping_sub(mark.after.start as u32),
            };
            self.add(guard, base, rewritten);
        }
        Ok(())
    }

    /// Adds the frames of the code after the old code.
    fn add_after(
        &mut self,
        rewritten: &Rewritten<'_, '_>,
        waits: &MethodWaits,
        ends: &Ends<'_>,
        tail: &Tail,
        old: Option<&BTreeMap<u32, Frame>>,
        pool: &mut Appended,
    ) -> Result<(), SkipReason> {
        let Rewritten { target, free, .. } = *rewritten;
        let thrown = frames::object(target.guard.throwable);
        let with_lock = |mut locals: Vec<Type>| -> Result<Vec<Type>, SkipReason> {
            if let Some(lock) = &waits.lock {
                frames::set_local(&mut locals, lock.local, frames::object(lock.object))?;
            }
            Ok(locals)
        };
        let own = with_lock(Vec::new())?;
        for placed in &tail.placed {
            let (mut locals, caught) = match placed.stub.handler() {
                Some(pc) if rewritten.class.major >= code_attribute::FRAMES_SINCE => {
                    let frame = old.and_then(|old| old.get(&pc));
                    let frame = frame.ok_or(SkipReason::HandlerWithoutFrame)?;
                    let caught = frame.stack.first().copied().unwrap_or(thrown);
                    (with_lock(frame.locals.clone())?, caught)
                }
                _ => (own.clone(), thrown),
            };
            self.frames.push((placed.at, Frame { locals: locals.clone(), stack: vec![caught] }));
            frames::set_local(&mut locals, free, caught)?;
            self.frames.push((placed.guarded.handler, target.guard.handler_frame(locals)));
        }
        if let Some((exit, guarded)) = tail.exit {
            self.frames.push((exit.at, Frame { locals: own, stack: vec![thrown] }));
            let mut locals = Vec::new();
            frames::set_local(&mut locals, free, thrown)?;
            self.frames.push((guarded.handler, target.guard.handler_frame(locals)));
        }
        if let Some(at) = tail.lost_exit {
            let mut locals = Vec::new();
            if let Some(result) = &ends.result
                && let Some(result) = result.verification_type(pool)?
            {
                frames::set_local(&mut locals, free, result)?;
            }
            self.frames.push((at, target.guard.handler_frame(locals)));
        }
        Ok(())
    }
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
