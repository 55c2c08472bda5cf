//! The waits and steps of a method, and the code around them.

use std::collections::{BTreeMap, HashMap, HashSet};

use trace_format::event::{ConcurrencyStep, WaitKind};

use super::calls::{Calls, StepCalls, WaitCalls};
use super::emit::PushId;
use super::flow::Around;
use super::guard::Guard;
use super::layout::{Mark, Prelude};
use super::site::{Call, Site};
use crate::class::class_file::{ClassFile, Method};
use crate::class::code::{Code, line_at};
use crate::class::constant_pool::Appended;
use crate::class::opcodes::{
    self, ALOAD, ALOAD_0, ASTORE, ASTORE_0, DUP, INVOKEDYNAMIC, INVOKEVIRTUAL, Instruction, MONITORENTER,
    MONITOREXIT,
};
use crate::error::SkipReason;
use crate::waits::call_kind::CallKind;
use crate::waits::steps::{Operand, StepKind};
use crate::waits::tasks::Tasks;
use crate::waits::{Blocking, Known, Monitors, Waits};

/// How deep the calls of a task's code into its own class are followed, to see what it does.
pub(crate) const MAX_DEPTH: u32 = 4;
/// The longest method, in bytes, that is followed to see what a task's code does.
pub(crate) const MAX_FOLLOWED: usize = 512;

/// The state that the methods of a class share.
pub(crate) struct ClassWaits<'a> {
    pub(crate) waits: Waits<'a>,
    call_class: u16,
    calls: Option<WaitCalls>,
    step_calls: Option<StepCalls>,
    pub(crate) tasks: Tasks,
    /// By index of the method reference.
    known: HashMap<u16, Known>,
}

impl<'a> ClassWaits<'a> {
    pub(crate) fn new(waits: Waits<'a>, call_class: u16, tasks: Tasks) -> Self {
        Self { waits, call_class, calls: None, step_calls: None, tasks, known: HashMap::new() }
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
        let [c, wt] = [pool.utf8(b"c")?, pool.utf8(b"wt")?];
        let step = pool.utf8(b"(Ljava/lang/Object;Ljava/lang/Object;II)V")?;
        let tried = pool.utf8(b"(ZLjava/lang/Object;)V")?;
        let calls = StepCalls {
            step: pool.method(self.call_class, c, step)?,
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
            let steps = self.known(class, index).steps;
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

    fn known(&mut self, class: &ClassFile<'_>, index: u16) -> Known {
        let waits = self.waits;
        let look = || {
            let Ok([owner, name, descriptor]) = class.pool.method(index) else { return Known::default() };
            // A class may call inherited methods by its own name.
            let parents = class.supertypes.iter().copied().filter(|_| owner == class.name);
            let mut classes = [owner].into_iter().chain(parents);
            let blocking = classes
                .clone()
                .find_map(|class| waits.catalogue.find(class, name, descriptor, waits.hierarchy));
            let steps = |class: &[u8]| {
                let class = core::str::from_utf8(class).ok()?;
                let steps = waits.catalogue.steps.find(class, name, descriptor, waits.hierarchy);
                Some(steps).filter(|steps| !steps.is_empty())
            };
            let steps = classes.find_map(steps).unwrap_or_default();
            Known { blocking, steps, creates: name == b"<init>" }
        };
        self.known.entry(index).or_insert_with(look).clone()
    }
}

/// The waits and steps of a method, and the code around them.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) marks: Vec<Mark>,
    pub(crate) code: Vec<u8>,
    /// For each mark, the kind of the wait that an exception there ends.
    pub(crate) kinds: Vec<Option<CallKind>>,
    /// The guards of the inserted code, with positions in `code`, and the number of the mark that each belongs to.
    pub(crate) guards: Vec<(usize, Guard)>,
    /// How many additional local variables the code needs.
    pub(crate) locals: u16,
    /// Whether there are steps, whose calls need more stack.
    pub(crate) has_steps: bool,
}

/// Stack slots that the code around a wait needs: the kind and the object.
pub(crate) const EXTRA_STACK: u16 = 2;

/// The method whose waits and steps are looked for.
pub(crate) struct InMethod<'m> {
    pub(crate) code: &'m [u8],
    /// Its number in the class.
    pub(crate) number: usize,
    /// Its id.
    pub(crate) id: PushId,
    /// Where each source line starts, sorted by position.
    pub(crate) lines: &'m [(u16, u16)],
    pub(crate) prelude: Option<&'m Prelude>,
}

/// Finds the waits and steps in a method, except for those before a constructor's super call: no handler can cover them,
/// so they could stay open.
pub(crate) fn find<'a>(
    class: &ClassFile<'a>,
    method: &InMethod<'_>,
    of_class: &mut ClassWaits<'_>,
    pool: &mut Appended,
) -> Result<Vec<Site<'a>>, SkipReason> {
    let mut sites = Vec::new();
    let mut previous = [None, None];
    for instruction in opcodes::instructions(method.code) {
        let instruction = instruction?;
        let opcode = instruction.opcode;
        let before = previous;
        previous = [before[1], Some(instruction)];
        let interesting =
            matches!(opcode, MONITORENTER | MONITOREXIT) || (INVOKEVIRTUAL..=INVOKEDYNAMIC).contains(&opcode);
        if !interesting || method.prelude.is_some_and(|prelude| prelude.contains(instruction.pc)) {
            continue;
        }
        let mut site = Site::new(instruction);
        match opcode {
            MONITORENTER if of_class.waits.monitors == Monitors::Agent => {
                site.held_in = held_in(method.code, before);
                site.after.push(Call::Taken(Operand::Argument(0)));
            }
            MONITORENTER => {
                let kind = CallKind::Wait(WaitKind::Monitor);
                site.wait = Some(kind);
                site.held_in = held_in(method.code, before);
                site.before.push(Call::Begin(kind.number().into(), Operand::Argument(0)));
                site.after.push(Call::End(kind, Operand::Argument(0)));
            }
            MONITOREXIT => site.after.push(Call::Release(Operand::Argument(0))),
            INVOKEDYNAMIC => {
                let Some(body) = of_class.tasks.made_at(method.number, instruction.pc) else { continue };
                let code = body.number.and_then(|number| class.methods.get(number));
                let code = code.and_then(|method| Code::for_method(class, method).ok()?);
                let does = code.map_or(0, |code| of_class.does(class, code.bytes));
                let id = PushId::new(body.id, |id| pool.integer(id))?;
                let created = [Operand::Result, Operand::None];
                site.after.push(Call::Step(ConcurrencyStep::Created, created, does, id));
                (_, site.descriptor) = class.pool.member(opcodes::u2_at(method.code, instruction.pc + 1)?)?;
            }
            _ => {
                let index = opcodes::u2_at(method.code, instruction.pc + 1)?;
                let known = of_class.known(class, index);
                if known.blocking.is_none() && known.steps.is_empty() {
                    continue;
                }
                (_, site.descriptor) = class.pool.member(index)?;
                site.creates = known.creates;
                calls_around(&known, method, &mut site);
            }
        }
        sites.push(site);
    }
    Ok(sites)
}

/// Returns the variable that holds what is on top of the stack after two instructions: `dup; astore` or `aload`.
fn held_in(code: &[u8], [first, second]: [Option<Instruction>; 2]) -> Option<u16> {
    let second = second?;
    let operand = |base: u8, short: u8| match second.opcode {
        opcode if opcode == base => code.get(second.pc as usize + 1).map(|&local| u16::from(local)),
        opcode if (short..short + 4).contains(&opcode) => Some(u16::from(opcode - short)),
        _ => None,
    };
    let is_copied = first.is_some_and(|first| first.opcode == DUP);
    operand(ALOAD, ALOAD_0).or_else(|| operand(ASTORE, ASTORE_0).filter(|_| is_copied))
}

/// Adds what is recorded around a call.
fn calls_around(known: &Known, method: &InMethod<'_>, site: &mut Site<'_>) {
    let line = line_at(method.lines, site.instruction.pc).unwrap_or(0);
    for step in &known.steps {
        let call = match step.kind {
            StepKind::Unlock => Call::Release(Operand::Receiver),
            StepKind::TryLock => Call::Tried,
            StepKind::Step(kind) => Call::Step(kind, [step.object, step.other], line, method.id),
        };
        if step.kind.is_after() { &mut site.after } else { &mut site.before }.push(call);
    }
    if let Some(Blocking { kind, call, on }) = known.blocking {
        site.wait = Some(kind);
        site.before.push(Call::Begin(call.with_kind(kind.number()), on));
        site.after.insert(0, Call::End(kind, on));
    }
}

impl Found {
    /// Writes the code of the sites. Code that is never reached stays as it is.
    pub(crate) fn write<'a>(
        sites: &[Site<'a>],
        around: &BTreeMap<u32, Around<'a>>,
        free: u16,
        calls: Calls,
        pool: &mut Appended,
    ) -> Result<Self, SkipReason> {
        let mut found = Self::default();
        for site in sites {
            let Some(around) = around.get(&site.instruction.pc) else { continue };
            let start = found.code.len();
            let written = site.write(around, free, calls, pool, &mut found.code)?;
            let Some(written) = written else { continue };
            let mark = found.marks.len();
            found.guards.extend(written.guards.into_iter().flatten().map(|guard| (mark, guard)));
            found.marks.push(Mark {
                pc: site.instruction.pc,
                next: site.instruction.next(),
                before: start..written.between,
                after: written.between..found.code.len(),
            });
            found.kinds.push(site.wait);
            found.locals = found.locals.max(written.free - free);
            found.has_steps |= site.has_steps();
        }
        Ok(found)
    }
}
