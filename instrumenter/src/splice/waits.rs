//! The waits and steps of a method, and the code around them.

use std::collections::{HashMap, HashSet};

use trace_format::event::{ConcurrencyStep, WaitKind};

use super::emit::PushId;
use super::layout::{Mark, Prelude};
use super::steps::{self, Site, StepCalls};
use super::{local, shuffle};
use crate::class::class_file::{ClassFile, Method};
use crate::class::code::Code;
use crate::class::constant_pool::Appended;
use crate::class::descriptor::{Types, words_of};
use crate::class::opcodes::{
    self, ACONST_NULL, ALOAD, ASTORE, BIPUSH, DUP, ICONST_0, INVOKEDYNAMIC, INVOKESTATIC, INVOKEVIRTUAL,
    MONITORENTER, MONITOREXIT, NEW, SWAP,
};
use crate::error::SkipReason;
use crate::waits::call_kind::CallKind;
use crate::waits::steps::Step;
#[cfg(doc)]
use crate::waits::steps::StepKind;
use crate::waits::tasks::Tasks;
use crate::waits::{WaitObject, Waits};

/// Constant pool indices of `wb`, `we` and `wr`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitCalls {
    begin: u16,
    end: u16,
    release: u16,
}

impl WaitCalls {
    /// Appends a push of `kind` below the object on the stack.
    fn call_on_top(kind: u8, method: u16, out: &mut Vec<u8>) {
        push_kind(kind, out);
        out.push(SWAP);
        call(method, out);
    }

    /// `.. object` to `..`: a wait for it begins.
    pub(crate) fn begin(self, kind: CallKind, out: &mut Vec<u8>) {
        Self::call_on_top(kind.number(), self.begin, out);
    }

    /// `.. object` to `..`: the wait for it has ended.
    pub(crate) fn end(self, kind: CallKind, out: &mut Vec<u8>) {
        Self::call_on_top(kind.number(), self.end, out);
    }

    /// A wait of the kind with this number has ended; only an end that takes a lock needs the object.
    pub(crate) fn end_any(self, kind: u8, out: &mut Vec<u8>) {
        push_kind(kind, out);
        out.push(ACONST_NULL);
        call(self.end, out);
    }

    /// `.. object` to `..`: the monitor is released.
    pub(crate) fn release(self, out: &mut Vec<u8>) {
        call(self.release, out);
    }
}

fn push_kind(kind: u8, out: &mut Vec<u8>) {
    match kind {
        kind @ 0..=5 => out.push(ICONST_0 + kind),
        kind => out.extend_from_slice(&[BIPUSH, kind]),
    }
}

fn call(method: u16, out: &mut Vec<u8>) {
    out.push(INVOKESTATIC);
    out.extend_from_slice(&method.to_be_bytes());
}

/// How deep the calls of a task's code into its own class are followed, to see what it does.
pub(crate) const MAX_DEPTH: u32 = 4;
/// The longest method, in bytes, that is followed to see what a task's code does.
pub(crate) const MAX_FOLLOWED: usize = 512;

/// A call that waits: its kind, and how to access the object.
#[derive(Clone, Copy, Debug)]
struct Blocking {
    kind: CallKind,
    /// Instructions that move the object to the top and back; `None` records the wait without an object.
    object: Option<(&'static [u8], &'static [u8])>,
}

/// The state that the methods of a class share.
pub(crate) struct ClassWaits<'a> {
    waits: Waits<'a>,
    call_class: u16,
    calls: Option<WaitCalls>,
    step_calls: Option<StepCalls>,
    pub(crate) tasks: Tasks,
    /// By index of the method reference, and whether the call is static.
    known: HashMap<(u16, bool), Known>,
}

/// What is recorded at a call.
#[derive(Clone, Debug, Default)]
struct Known {
    blocking: Option<Blocking>,
    steps: Vec<Step>,
}

impl<'a> ClassWaits<'a> {
    pub(crate) fn new(waits: Waits<'a>, call_class: u16, tasks: Tasks) -> Self {
        Self { waits, call_class, calls: None, step_calls: None, tasks, known: HashMap::new() }
    }

    pub(crate) fn waits(&self) -> Waits<'a> {
        self.waits
    }

    /// Returns the calls, which are added to the constant pool when they are first needed.
    pub(crate) fn calls(&mut self, pool: &mut Appended) -> Result<WaitCalls, SkipReason> {
        if let Some(calls) = self.calls {
            return Ok(calls);
        }
        let [wb, we, wr] = [pool.utf8(b"wb")?, pool.utf8(b"we")?, pool.utf8(b"wr")?];
        let kind_and_object = pool.utf8(b"(ILjava/lang/Object;)V")?;
        let object = pool.utf8(b"(Ljava/lang/Object;)V")?;
        let calls = WaitCalls {
            begin: pool.method(self.call_class, wb, kind_and_object)?,
            end: pool.method(self.call_class, we, kind_and_object)?,
            release: pool.method(self.call_class, wr, object)?,
        };
        self.calls = Some(calls);
        Ok(calls)
    }

    /// Returns the calls that record steps, as [`Self::calls`].
    pub(crate) fn step_calls(&mut self, pool: &mut Appended) -> Result<StepCalls, SkipReason> {
        if let Some(calls) = self.step_calls {
            return Ok(calls);
        }
        let release = self.calls(pool)?.release;
        let [c, wt] = [pool.utf8(b"c")?, pool.utf8(b"wt")?];
        let step = pool.utf8(b"(Ljava/lang/Object;Ljava/lang/Object;II)V")?;
        let tried = pool.utf8(b"(ZLjava/lang/Object;)V")?;
        let calls = StepCalls {
            step: pool.method(self.call_class, c, step)?,
            release,
            tried: pool.method(self.call_class, wt, tried)?,
        };
        self.step_calls = Some(calls);
        Ok(calls)
    }

    /// What a task's code does, itself or through methods of its class up to [`MAX_DEPTH`] calls away: see
    /// [`StepKind::does`].
    pub(crate) fn does(&mut self, class: &ClassFile<'_>, code: &[u8]) -> u16 {
        let mut does = 0;
        let mut seen = HashSet::new();
        let mut level = vec![code];
        for _ in 0..=MAX_DEPTH {
            let mut next = Vec::new();
            for code in level {
                does |= self.does_itself(class, code, &mut |number| {
                    next.extend(Some(number).filter(|&number| seen.insert(number)))
                });
            }
            let codes = next.into_iter().filter_map(|number: usize| class.methods.get(number));
            let codes = codes.filter_map(|method| Code::for_method(class, method).ok().flatten());
            level = codes.map(|code| code.bytes).filter(|bytes| bytes.len() <= MAX_FOLLOWED).collect();
        }
        does
    }

    /// What code does itself. `visit` gets the numbers of the methods of its class that it calls.
    fn does_itself(&mut self, class: &ClassFile<'_>, code: &[u8], visit: &mut dyn FnMut(usize)) -> u16 {
        let mut does = 0;
        for instruction in opcodes::instructions(code).map_while(Result::ok) {
            if !(INVOKEVIRTUAL..INVOKEDYNAMIC).contains(&instruction.opcode) {
                continue;
            }
            let Ok(index) = opcodes::u2_at(code, instruction.pc + 1) else { break };
            let steps = self.known(class, index, instruction.opcode == INVOKESTATIC).steps;
            does |= steps.iter().fold(0, |does, step| does | step.kind.does());
            let Ok([owner, name, descriptor]) = class.pool.method(index) else { continue };
            let same = |method: &Method<'_>| method.name == name && method.descriptor == descriptor;
            if owner == class.name
                && let Some(number) = class.methods.iter().position(same)
            {
                visit(number);
            }
        }
        does
    }

    fn known(&mut self, class: &ClassFile<'_>, index: u16, is_static: bool) -> Known {
        let waits = self.waits;
        let look = || {
            let Ok([owner, name, descriptor]) = class.pool.method(index) else { return Known::default() };
            // A class may call inherited methods by its own name.
            let parents = class.supertypes.iter().copied().filter(|_| owner == class.name);
            let mut classes = [owner].into_iter().chain(parents);
            let found = classes
                .clone()
                .find_map(|class| waits.catalogue.find(class, name, descriptor, waits.hierarchy));
            let blocking = found.map(|(kind, on)| {
                let object = object_of(descriptor, on, is_static, name == b"<init>");
                Blocking { kind, object }
            });
            let steps = |class: &[u8]| {
                let class = core::str::from_utf8(class).ok()?;
                let steps = waits.catalogue.steps.find(class, name, descriptor, waits.hierarchy);
                Some(steps).filter(|steps| !steps.is_empty())
            };
            let steps = classes.find_map(steps).unwrap_or_default();
            Known { blocking, steps }
        };
        self.known.entry((index, is_static)).or_insert_with(look).clone()
    }
}

type Shuffle = (&'static [u8], &'static [u8]);

/// Returns how to access the object of a call, if it has one.
fn object_of(descriptor: &[u8], on: WaitObject, is_static: bool, is_constructor: bool) -> Option<Shuffle> {
    // The receiver of a constructor is not an object yet.
    if (is_constructor || is_static) && on == WaitObject::Receiver || on == WaitObject::None {
        return None;
    }
    let mut types = Types::try_from(descriptor).ok()?;
    let mut sizes = Vec::new();
    if on == WaitObject::SecondArgument {
        types.next().ok()??;
    }
    if on != WaitObject::Receiver {
        let argument = types.next().ok()??;
        if !argument.starts_with(b"L") && !argument.starts_with(b"[") {
            return None;
        }
    }
    while let Some(argument) = types.next().ok()? {
        sizes.push(words_of(argument.first()));
        if sizes.len() > 4 {
            return None;
        }
    }
    shuffle::below(&sizes)
}

/// The waits and steps of a method, and the code around them.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) marks: Vec<Mark>,
    pub(crate) code: Vec<u8>,
    /// For each mark, the kind of the wait that an exception there ends.
    pub(crate) kinds: Vec<Option<CallKind>>,
    /// How many additional local variables the code needs.
    pub(crate) locals: u16,
    /// Whether there are steps, whose calls need more stack.
    pub(crate) has_steps: bool,
}

/// Stack slots that the code around a wait needs: the object twice, and the kind. Taking a lock needs the object once
/// more.
pub(crate) const EXTRA_STACK: u16 = 3;

/// Objects that are being created: `new`, and whether a `dup` right behind it leaves the object on the stack when its
/// constructor has returned. Compilers nest them.
#[derive(Default)]
struct Creations(Vec<(u16, bool)>);

impl Creations {
    fn instruction(&mut self, opcode: u8, pc: u32, code: &[u8]) {
        if opcode == NEW
            && let Ok(class) = opcodes::u2_at(code, pc + 1)
        {
            let next = code.get(pc as usize + 3);
            self.0.push((class, next == Some(&DUP)));
        }
    }

    /// A constructor of `owner` is called. Returns whether the created object is on top of the stack afterwards.
    fn created(&mut self, class: &ClassFile<'_>, owner: &[u8]) -> bool {
        let is_it = |index: u16| class.pool.class_name(index).is_ok_and(|name| name == owner);
        self.0.pop_if(|(index, _)| is_it(*index)).is_some_and(|(_, stays)| stays)
    }
}

/// The method whose waits and steps are looked for.
pub(crate) struct InMethod<'m> {
    pub(crate) code: &'m [u8],
    /// Its number in the class.
    pub(crate) number: usize,
    /// Its id.
    pub(crate) id: PushId,
    /// Where each source line starts, sorted by position.
    pub(crate) lines: &'m [(u16, u16)],
    /// The first free local variable.
    pub(crate) free: u16,
    pub(crate) prelude: Option<&'m Prelude>,
}

impl InMethod<'_> {
    fn line(&self, pc: u32) -> u16 {
        let behind = self.lines.partition_point(|(start, _)| u32::from(*start) <= pc);
        behind.checked_sub(1).and_then(|at| self.lines.get(at)).map_or(0, |(_, line)| *line)
    }
}

/// Finds the waits and steps in a method, except for those before a constructor's super call: no handler can cover them,
/// so they could stay open.
pub(crate) fn find(
    class: &ClassFile<'_>,
    method: &InMethod<'_>,
    of_class: &mut ClassWaits<'_>,
    pool: &mut Appended,
) -> Result<Found, SkipReason> {
    let mut found = Found::default();
    let mut news = Creations::default();
    for instruction in opcodes::instructions(method.code) {
        let instruction = instruction?;
        let opcode = instruction.opcode;
        news.instruction(opcode, instruction.pc, method.code);
        let interesting =
            matches!(opcode, MONITORENTER | MONITOREXIT) || (INVOKEVIRTUAL..=INVOKEDYNAMIC).contains(&opcode);
        if !interesting || method.prelude.is_some_and(|prelude| prelude.contains(instruction.pc)) {
            continue;
        }
        let start = found.code.len();
        let (between, kind) = match opcode {
            MONITORENTER => {
                let out = &mut found.code;
                let (calls, kind) = (of_class.calls(pool)?, CallKind::Wait(WaitKind::Monitor));
                out.extend_from_slice(&[DUP, DUP]);
                calls.begin(kind, out);
                let between = out.len();
                calls.end(kind, out);
                (between, Some(kind))
            }
            MONITOREXIT => {
                let calls = of_class.calls(pool)?;
                found.code.push(DUP);
                let between = found.code.len();
                calls.release(&mut found.code);
                (between, None)
            }
            INVOKEDYNAMIC => {
                let Some(body) = of_class.tasks.made_at(method.number, instruction.pc) else { continue };
                let calls = of_class.step_calls(pool)?;
                let between = found.code.len();
                found.code.extend_from_slice(&[DUP, ACONST_NULL]);
                let code = body.number.and_then(|number| class.methods.get(number));
                let code = code.and_then(|method| Code::for_method(class, method).ok()?);
                let does = code.map_or(0, |code| of_class.does(class, code.bytes));
                let body = PushId::new(body.id, |id| pool.integer(id))?;
                steps::call_step(ConcurrencyStep::Created, does, body, calls.step, pool, &mut found.code)?;
                found.has_steps = true;
                (between, None)
            }
            _ => {
                let index = opcodes::u2_at(method.code, instruction.pc + 1)?;
                let mut known = of_class.known(class, index, opcode == INVOKESTATIC);
                let [owner, name, descriptor] = class.pool.method(index)?;
                let creates = name == b"<init>";
                if creates && !news.created(class, owner) {
                    known.steps.clear();
                }
                if known.blocking.is_none() && known.steps.is_empty() {
                    continue;
                }
                let site = Site {
                    creates,
                    calls: of_class.step_calls(pool)?,
                    descriptor,
                    is_static: opcode == INVOKESTATIC,
                    line: method.line(instruction.pc),
                    method: method.id,
                    free: method.free,
                };
                around_call(&known, &site, of_class, pool, &mut found)?
            }
        };
        let (before, after) = (start..between, between..found.code.len());
        found.marks.push(Mark { pc: instruction.pc, next: instruction.next(), before, after });
        found.kinds.push(kind);
    }
    Ok(found)
}

/// Appends the code around a call. Returns where the call is in it, and the kind of its wait.
fn around_call(
    known: &Known,
    site: &Site<'_>,
    of_class: &mut ClassWaits<'_>,
    pool: &mut Appended,
    found: &mut Found,
) -> Result<(usize, Option<CallKind>), SkipReason> {
    let around = site.around(&known.steps, pool)?;
    found.has_steps |= !known.steps.is_empty();
    found.code.extend_from_slice(&around.before);
    let out = &mut found.code;
    let mut free = around.free;
    let mut object = None;
    if let Some(blocking) = known.blocking {
        let calls = of_class.calls(pool)?;
        match blocking.object {
            Some((up, down)) => {
                out.extend_from_slice(up);
                out.push(DUP);
                if blocking.kind.takes_lock() {
                    object = Some(free);
                    out.push(DUP);
                    local::access(ASTORE, free, out);
                    free = free.checked_add(1).ok_or(SkipReason::TooManyLocals)?;
                }
                calls.begin(blocking.kind, out);
                out.extend_from_slice(down);
            }
            None => {
                push_kind(blocking.kind.number(), out);
                out.push(ACONST_NULL);
                call(calls.begin, out);
            }
        }
    }
    let between = out.len();
    if let Some(blocking) = known.blocking {
        let calls = of_class.calls(pool)?;
        match object {
            Some(object) => {
                local::access(ALOAD, object, out);
                calls.end(blocking.kind, out);
            }
            None => calls.end_any(blocking.kind.number(), out),
        }
    }
    out.extend_from_slice(&around.after);
    found.locals = found.locals.max(free - site.free);
    Ok((between, known.blocking.map(|blocking| blocking.kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_is_the_one_in_the_catalogue_where_it_can_be_accessed() {
        let has = |descriptor: &str, on, is_static, is_constructor| {
            object_of(descriptor.as_bytes(), on, is_static, is_constructor).is_some()
        };
        assert!(has("(J)V", WaitObject::Receiver, false, false));
        assert!(has("([BII)I", WaitObject::Receiver, false, false));
        assert!(!has("([BIII)I", WaitObject::Receiver, false, false), "too deep");
        assert!(!has("(J)V", WaitObject::Receiver, true, false), "static");
        assert!(!has("(J)V", WaitObject::None, false, false));
        assert!(!has("(I)V", WaitObject::Receiver, false, true), "not yet an object");
        assert!(has("(Ljava/lang/Object;J)V", WaitObject::FirstArgument, true, false));
        assert!(!has("(IJ)V", WaitObject::FirstArgument, true, false), "no object");
        assert!(!has("()V", WaitObject::FirstArgument, true, false));
    }
}
