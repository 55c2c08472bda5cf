//! The data flow of one method: states at branch targets, merged until nothing changes.
//!
//! As ART's `CodeFlowVerifyMethod`, a state is kept only where control can arrive from elsewhere; between such places it
//! is carried along. A handler gets the states *before* each instruction of its range that may throw.
//!
//! The order in which the states are taken is ART's too, because its check of locks depends on it. For example, where one path makes
//! a register an alias of a lock that is held, and the other path does not, the code behind may have been checked with the
//! alias before the paths meet. If that code takes the register's lock, its states no longer fit:
//!
//! ```text
//!     monitor-enter v2
//!     if-nez v4, b
//!     move-object v5, v2
//!     goto c                  c is next, and b has to wait
//! b:  move-object v5, v4
//! c:  monitor-enter v5        first as an alias of v2, then not
//! ```

use std::collections::BTreeSet;

use crate::code::Code;
use crate::file::DexFile;
use crate::instruction::Instruction;
use crate::line::Line;
use crate::members::Members;
use crate::opcodes::{Effect, Test};
use crate::report::{Finding, Severity};
use crate::structure::{Fault, Structure, switch_offsets};
use crate::types::{Answer, TypeId, Types};
use crate::value::Value;

/// Work that any method may cost, in registers touched.
const BASE_WORK: u64 = 1 << 20;
/// How often each instruction may be visited or merged into a handler, on average. Of 170,000 methods of real apps the
/// most expensive one takes 4.
const VISITS: u64 = 32;
/// Most register states that are kept for a method.
const MAX_STATES: usize = 1 << 23;
/// Most different soft findings and lock warnings of one method.
const MAX_FINDINGS: usize = 64;

/// What all methods of a file share.
pub(crate) struct Context<'a> {
    pub(crate) file: DexFile<'a>,
    pub(crate) types: Types<'a>,
    pub(crate) members: Members,
}

/// The method to check.
#[derive(Clone, Copy)]
pub(crate) struct Method {
    /// The class that declares it.
    pub(crate) class: TypeId,
    /// Index into the method table.
    pub(crate) index: u32,
    pub(crate) is_static: bool,
    /// Whether it is an instance constructor.
    pub(crate) is_constructor: bool,
}

/// A refinement of the state on one way out of a branch.
pub(crate) struct Refined {
    /// Whether it holds where the branch is taken, or else where it is not.
    pub(crate) taken: bool,
    pub(crate) registers: [Option<u32>; 2],
    pub(crate) value: Value,
}

/// Why the data flow ended early.
pub(crate) enum Stop {
    /// A rule is violated.
    Fault(Fault),
    /// The limit on work is reached.
    TooExpensive,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The state of the analysis.
pub(crate) struct Flow<'m, 'a> {
    pub(crate) context: &'m Context<'a>,
    pub(crate) code: &'m Code,
    pub(crate) structure: &'m Structure,
    pub(crate) method: Method,
    /// The state before, and then after, the instruction at `pc`.
    pub(crate) line: Line,
    pub(crate) pc: u32,
    /// The instructions that control just came through, latest first: the one before `pc` and the one before that.
    pub(crate) previous: [Option<Instruction>; 2],
    /// States by position in `structure.targets`.
    lines: Vec<Option<Line>>,
    pending: BTreeSet<u32>,
    /// Where the search for the next pending pc begins: behind the instruction that was checked last, or at its target.
    from: u32,
    pub(crate) findings: Vec<Finding>,
    work: u64,
}

impl<'m, 'a> Flow<'m, 'a> {
    pub(crate) fn new(
        context: &'m Context<'a>,
        code: &'m Code,
        structure: &'m Structure,
        method: Method,
    ) -> Self {
        let cost = u64::from(code.registers + 4) * (code.units.len() as u64);
        Self {
            context,
            code,
            structure,
            method,
            line: Line::new(code.registers),
            pc: 0,
            previous: [None; 2],
            lines: vec![None; structure.targets.len()],
            pending: BTreeSet::new(),
            from: 0,
            findings: Vec::new(),
            work: BASE_WORK.saturating_add(cost.saturating_mul(VISITS)),
        }
    }

    /// Checks the method, up to its first error.
    pub(crate) fn run(&mut self) -> Result<(), Stop> {
        if self.structure.targets.len().saturating_mul(self.code.registers as usize) > MAX_STATES {
            return Err(Stop::TooExpensive);
        }
        self.set_parameters()?;
        self.flow_to(0)?;
        while let Some(pc) = self.next_pending() {
            let Some(line) = self.position(pc).and_then(|position| self.lines.get(position)?.clone()) else {
                continue;
            };
            self.line = line;
            self.previous = [None; 2];
            self.pc = pc;
            while self.step()? {}
        }
        Ok(())
    }

    /// Takes the first pending pc from where the last instruction leads, or the first one of all.
    fn next_pending(&mut self) -> Option<u32> {
        let pc = self.pending.range(self.from..).next().or_else(|| {
            self.from = 0;
            self.pending.first()
        });
        let pc = *pc?;
        self.pending.remove(&pc);
        Some(pc)
    }

    fn position(&self, pc: u32) -> Option<usize> {
        self.structure.targets.binary_search(&pc).ok()
    }

    fn spend(&mut self, times: usize) -> Result<(), Stop> {
        let cost = (u64::from(self.code.registers) + 4) * times as u64;
        self.work = self.work.checked_sub(cost).ok_or(Stop::TooExpensive)?;
        Ok(())
    }

    /// Handles the instruction at `pc`. Returns whether to go on with the one that `pc` is set to.
    fn step(&mut self) -> Result<bool, Stop> {
        let pc = self.pc;
        let insn = Instruction::decode(&self.code.units, pc as usize);
        let insn = insn.ok_or_else(|| Fault::new(pc, "an instruction or payload leaves the code", ""))?;
        let handlers = if insn.effect.throws() { self.code.handlers_at(pc) } else { &[] };
        self.spend(1 + handlers.len())?;
        if insn.effect == Effect::MoveException {
            // Its type is sought among all handlers.
            self.spend(self.code.handlers.iter().map(Vec::len).sum::<usize>() / 4)?;
        }
        for handler in handlers {
            self.flow_to(handler.address)?;
        }
        let refined = self.execute(&insn)?;
        if !insn.effect.has_result() {
            self.line.result = [Value::Undefined; 2];
        }
        if !handlers.is_empty() && self.line.lock_depth() > 0 {
            let catches_all = handlers.iter().any(|handler| {
                handler.catches.is_none_or(|index| self.context.types.of(index) == TypeId::THROWABLE)
            });
            // If the first monitor-enter throws, it has not taken the lock.
            let first = insn.effect == Effect::MonitorEnter && self.line.lock_depth() == 1;
            if !catches_all && !first {
                return Err(self
                    .fault("a lock is held where an exception leaves it: no catch-all", insn.name)
                    .into());
            }
        }
        match insn.effect {
            Effect::Goto | Effect::If(_) => {
                let target = i64::from(pc).saturating_add(insn.literal) as u32;
                self.flow_refined(target, refined.as_ref().filter(|refined| refined.taken))?;
            }
            Effect::Switch => {
                let payload = i64::from(pc).saturating_add(insn.literal) as u32;
                for offset in switch_offsets(&self.code.units, payload) {
                    self.spend(1)?;
                    self.flow_to(pc.wrapping_add_signed(offset))?;
                }
            }
            Effect::ReturnVoid | Effect::Return(_) if self.line.lock_depth() > 0 => {
                self.report(Severity::Lock, "a lock is still held at a return", String::new());
            }
            _ => {}
        }
        if !insn.effect.continues() {
            if insn.effect == Effect::Goto {
                self.from = i64::from(pc).saturating_add(insn.literal) as u32;
            }
            return Ok(false);
        }
        let next = pc + insn.units;
        self.from = next;
        match Instruction::decode(&self.code.units, next as usize) {
            None => return Err(self.fault("control runs off the end of the code", "").into()),
            Some(next) if next.is_payload() => {
                return Err(self.fault("control runs into a payload", "").into());
            }
            Some(next) if next.effect == Effect::MoveException => {
                return Err(self.fault("control runs into move-exception", "").into());
            }
            Some(_) => {}
        }
        if self.structure.is_target(next) {
            self.flow_refined(next, refined.as_ref().filter(|refined| !refined.taken))?;
            return Ok(false);
        }
        if let Some(refined) = refined.filter(|refined| !refined.taken) {
            refined.apply(&mut self.line);
        }
        self.previous = [Some(insn), self.previous[0]];
        self.pc = next;
        Ok(true)
    }

    fn flow_refined(&mut self, target: u32, refined: Option<&Refined>) -> Result<(), Stop> {
        let Some(refined) = refined else { return self.flow_to(target) };
        let saved = self.line.clone();
        refined.apply(&mut self.line);
        self.flow_to(target)?;
        self.line = saved;
        Ok(())
    }

    /// Merges the present state into that of `target`.
    fn flow_to(&mut self, target: u32) -> Result<(), Stop> {
        let position = self.position(target);
        let Some(slot) = position.and_then(|position| self.lines.get_mut(position)) else {
            return Err(self.fault("a branch target is no start of an instruction", "").into());
        };
        match slot {
            None => {
                *slot = Some(self.line.clone());
                self.pending.insert(target);
            }
            Some(line) => {
                let (changed, locks) = line.merge(&self.line, &self.context.types);
                if changed {
                    self.pending.insert(target);
                }
                if let Some(rule) = locks {
                    self.report(Severity::Lock, rule, format!("at {target:#06x}"));
                }
            }
        }
        Ok(())
    }

    fn set_parameters(&mut self) -> Result<(), Fault> {
        let mut register = self.code.registers.saturating_sub(self.code.ins);
        if !self.method.is_static {
            let uninitialized = self.method.is_constructor && self.method.class != TypeId::OBJECT;
            self.line.this_initialized = !uninitialized;
            let this =
                if uninitialized { Value::UninitializedThis } else { Value::Reference(self.method.class) };
            self.line.set(register, this);
            register += 1;
        }
        let file = &self.context.file;
        let proto = file.methods.get(self.method.index as usize).and_then(|&method| file.proto_of(method));
        let parameters = proto.map(|proto| file.parameters(proto)).unwrap_or_default();
        for &parameter in parameters {
            match Slot::of(&self.context.types, self.context.types.of(u32::from(parameter))) {
                Slot::Void => {}
                Slot::One(value) => {
                    self.line.set(register, value);
                    register += 1;
                }
                Slot::Two(uses) => {
                    self.line.set_wide(register, uses);
                    register += 2;
                }
            }
        }
        if register != self.code.registers {
            let needed = register.saturating_sub(self.code.registers - self.code.ins);
            let detail = format!("{} instead of {needed}", self.code.ins);
            return Err(Fault::new(0, "ins_size differs from the parameters", detail));
        }
        Ok(())
    }

    pub(crate) fn fault(&self, rule: &'static str, detail: impl Into<String>) -> Fault {
        Fault::new(self.pc, rule, detail)
    }

    /// Records something that is no error; once for each instruction.
    pub(crate) fn report(&mut self, severity: Severity, rule: &'static str, detail: String) {
        let finding = Finding { severity, pc: Some(self.pc), rule, detail };
        if self.findings.len() < MAX_FINDINGS && !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Returns what an `if-eqz` or `if-nez` right behind an `instance-of` says of the object.
    ///
    /// ART does so for classes only, since interfaces are as good as `Object` to it.
    pub(crate) fn refine_by_instance_of(&self, insn: &Instruction) -> Option<Refined> {
        let [Some(test), before] = &self.previous else { return None };
        let matches = insn.effect == Effect::If(Test::EqualZero)
            && test.effect == Effect::InstanceOf
            && test.a == insn.a
            && test.a != test.b;
        let types = &self.context.types;
        let class = types.of(test.c);
        if !matches || !types.is_definite_class(class) {
            return None;
        }
        let Value::Reference(old) = self.line.get(test.b) else { return None };
        if old == class || types.assignable(old, class) == Answer::No {
            return None;
        }
        // The copy that was tested stands for its source, too.
        let source = before.as_ref().filter(|copy| {
            matches!(copy.effect, Effect::Move(crate::opcodes::Cell::Object))
                && copy.a == test.b
                && copy.b != test.a
        });
        Some(Refined {
            taken: insn.op == 0x39,
            registers: [Some(test.b), source.map(|copy| copy.b)],
            value: Value::Reference(class),
        })
    }
}

impl Refined {
    fn apply(&self, line: &mut Line) {
        for register in self.registers.into_iter().flatten() {
            line.refine(register, self.value);
        }
    }
}

/// What a type takes in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// Nothing.
    Void,
    /// One register.
    One(Value),
    /// A pair; `value::LONG` or `value::DOUBLE`.
    Two(u8),
}

impl Slot {
    pub(crate) fn of(types: &Types<'_>, id: TypeId) -> Self {
        use crate::types::Kind;
        match types.kind(id) {
            Kind::Void => Self::Void,
            Kind::Primitive(b'J') => Self::Two(crate::value::LONG),
            Kind::Primitive(b'D') => Self::Two(crate::value::DOUBLE),
            Kind::Primitive(b'Z') => Self::One(Value::BOOLEAN),
            Kind::Primitive(b'B') => Self::One(Value::BYTE),
            Kind::Primitive(b'C') => Self::One(Value::CHAR),
            Kind::Primitive(b'S') => Self::One(Value::INT16),
            Kind::Primitive(b'F') => Self::One(Value::FLOAT),
            Kind::Primitive(_) => Self::One(Value::INT),
            Kind::Class | Kind::Array(_) => Self::One(Value::Reference(id)),
        }
    }
}
