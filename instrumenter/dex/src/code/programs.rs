//! Random methods for tests, and an interpreter that runs them.

use std::sync::LazyLock;

use super::Code;
use super::body::{Body, Catch, Payload, Range};
use super::debug::{Debug, Event, What};
use super::instruction::{Instruction, Operand, decode, pair, unit};
use super::opcode::{
    CONST, CONST_STRING, GOTO, IF_EQ, INVOKE_DIRECT, INVOKE_INTERFACE_RANGE, INVOKE_STATIC, INVOKE_VIRTUAL,
    MONITOR_ENTER, MONITOR_EXIT, MOVE, MOVE_16, MOVE_EXCEPTION, MOVE_FROM16, MOVE_OBJECT, MOVE_OBJECT_16,
    MOVE_OBJECT_FROM16, MOVE_RESULT, MOVE_RESULT_OBJECT, MOVE_WIDE, MOVE_WIDE_16, MOVE_WIDE_FROM16,
    PACKED_SWITCH, RETURN, RETURN_OBJECT, RETURN_VOID, RETURN_WIDE, THROW,
};
use super::scan::{PACKED, SPARSE};
use crate::remap::Remap;
use crate::table::{TABLES, Table};

const IF_EQZ: u8 = 0x38;
const ADD_INT: u8 = 0x90;
const DIV_INT: u8 = 0x93;
const SPARSE_SWITCH: u8 = 0x2C;

/// The method that constructors call on their object.
pub(crate) const SUPER: u32 = 90;

/// Numbers that decide what is generated; all further ones are 0.
pub(crate) struct Choices<'a>(pub(crate) core::slice::Iter<'a, u16>);

impl Choices<'_> {
    /// Returns a number below `count`.
    pub(crate) fn below(&mut self, count: u32) -> u32 {
        let choice = u32::from(self.0.next().copied().unwrap_or(0));
        if count == 0 { 0 } else { choice % count }
    }
}

/// A generated method.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) body: Body,
    /// Registers of each parameter, the receiver included: 1 or 2.
    pub(crate) parameters: Vec<u16>,
    pub(crate) is_constructor: bool,
}

/// Returns a map that changes no index.
pub(crate) fn identity() -> Remap {
    static MADE: LazyLock<Remap> = LazyLock::new(|| {
        let mut remap = Remap { tables: TABLES.map(|_| (0..65_536).collect()) };
        remap.tables[Table::Strings as usize] = (0..70_000).collect();
        remap
    });
    MADE.clone()
}

struct Generator<'c, 'a> {
    choices: &'c mut Choices<'a>,
    body: Body,
    /// Positions that branches may go to.
    targets: Vec<u32>,
    /// Position of a branch, and the choice of its targets.
    branches: Vec<(u32, Vec<u32>)>,
    /// Registers of monitors in use: nothing writes them.
    registers: u32,
    kept: Vec<u32>,
}

pub(crate) fn program(choices: &mut Choices<'_>, is_constructor: bool) -> Program {
    let mut parameters: Vec<u16> = Vec::new();
    if is_constructor || choices.below(2) == 0 {
        parameters.push(1);
    }
    for _ in 0..choices.below(4) {
        parameters.push(1 + choices.below(2) as u16);
    }
    let ins: u16 = parameters.iter().sum();
    let locals = match choices.below(8) {
        0 | 1 => 0,
        7 => 12 + choices.below(20) as u16,
        few => few as u16,
    };
    let mut generator = Generator {
        choices,
        body: Body { registers: ins + locals, ins, outs: 5, ..Body::default() },
        targets: Vec::new(),
        branches: Vec::new(),
        registers: u32::from(ins + locals),
        kept: Vec::new(),
    };
    generator.generate(locals, is_constructor);
    Program { body: generator.body, parameters, is_constructor }
}

impl Generator<'_, '_> {
    fn push(&mut self, op: u8, registers: &[u32], operand: Operand) -> u32 {
        let registers: Vec<u16> = registers.iter().map(|register| *register as u16).collect();
        self.body.instructions.push(Instruction::new(op, &registers, operand));
        self.body.instructions.len() as u32 - 1
    }

    /// Any register, below a bound.
    fn any(&mut self, below: u32) -> u32 {
        self.choices.below(self.registers.min(below))
    }

    /// A register that may be written.
    fn free(&mut self, below: u32) -> Option<u32> {
        let register = self.any(below);
        let kept = self.kept.contains(&register);
        (self.registers > 0 && !kept).then_some(register)
    }

    fn generate(&mut self, locals: u16, is_constructor: bool) {
        for register in 0..u32::from(locals) {
            let value = self.choices.below(100);
            self.push(CONST, &[register], Operand::Literal(i64::from(value)));
        }
        if is_constructor {
            self.kept.push(u32::from(locals));
            for _ in 0..self.choices.below(3) {
                self.step();
            }
            let this = u32::from(locals);
            if this < 16 {
                self.push(INVOKE_DIRECT, &[this], Operand::Index(SUPER));
            } else {
                self.push(super::opcode::INVOKE_DIRECT_RANGE, &[this], Operand::Index(SUPER));
            }
            // Branches may lead to code behind the call only.
            let start = self.body.instructions.len() as u32;
            self.targets.retain(|target| *target >= start);
            if self.choices.below(2) == 0 {
                self.kept.clear();
            }
        }
        for _ in 0..self.choices.below(30) {
            self.step();
        }
        self.end();
        let count = self.choices.below(4);
        let end = self.body.instructions.len() as u32;
        let handlers: Vec<u32> = (0..count).map(|_| self.handler()).collect();
        self.tries(end, &handlers);
        self.link();
        let events = (0..self.body.instructions.len() as u32)
            .filter(|at| at % 3 == 0)
            .map(|at| Event { at, what: What::Line(100 + at * 7 % 60) });
        let debug = Debug { line_start: 100, parameters: vec![None, Some(5)], events: events.collect() };
        self.body.debug = (self.choices.below(2) == 0).then_some(debug);
    }

    /// Appends a few instructions.
    fn step(&mut self) {
        self.targets.push(self.body.instructions.len() as u32);
        let kind = self.choices.below(13);
        let (a, b) = (self.any(16), self.any(16));
        let has = self.registers > 0;
        match kind {
            0 if has => {
                if let Some(to) = self.free(256) {
                    let value = self.choices.below(0xFFFF);
                    self.push(CONST, &[to], Operand::Literal(i64::from(value)));
                }
            }
            1 if has => {
                if let Some(to) = self.free(16) {
                    self.push(MOVE, &[to, a], Operand::None);
                }
            }
            2 if has => {
                if let Some(to) = self.free(256) {
                    self.push(ADD_INT, &[to, a, b], Operand::None);
                }
            }
            3 if has => {
                if let Some(to) = self.free(256) {
                    self.push(DIV_INT, &[to, a, b], Operand::None);
                }
            }
            4 => self.branch(GOTO, &[], 1),
            5 if has => self.branch(IF_EQ + (self.registers % 6) as u8, &[a, b], 1),
            6 if has => self.branch(IF_EQZ, &[a], 1),
            7 if has => {
                let cases = self.choices.below(4) as usize;
                let payload = self.body.payloads.len() as u32;
                let is_packed = self.choices.below(2) == 0;
                let (mark, keys) = if is_packed { (PACKED, 1) } else { (SPARSE, cases) };
                self.body.payloads.push(Payload {
                    mark,
                    count: cases as u16,
                    keys: (0..keys as i32).collect(),
                    targets: Vec::new(),
                    bytes: Vec::new(),
                });
                let op = if is_packed { PACKED_SWITCH } else { SPARSE_SWITCH };
                self.branch(op, &[a], cases);
                if let Some(last) = self.body.instructions.last_mut() {
                    last.operand = Operand::Payload(payload);
                }
            }
            8 if has && self.choices.below(3) == 0 => {
                self.push(THROW, &[a], Operand::None);
            }
            9 if has => {
                if let Some(to) = self.free(256) {
                    let string = [7, 65_535, 65_536][self.choices.below(3) as usize];
                    let op = if string > 0xFFFF { super::opcode::CONST_STRING_JUMBO } else { CONST_STRING };
                    self.push(op, &[to], Operand::Index(string));
                }
            }
            10 if has && self.registers < 16 => self.monitor(a),
            11 if self.choices.below(4) == 0 => self.end(),
            _ => {
                let list: Vec<u32> = [a, b].into_iter().take(if has { 2 } else { 0 }).collect();
                let method = 40 + self.choices.below(9);
                self.push(INVOKE_STATIC, &list, Operand::Index(method));
                if self.choices.below(2) == 0
                    && let Some(to) = self.free(256)
                {
                    self.push(MOVE_RESULT, &[to], Operand::None);
                }
            }
        }
    }

    /// A lock as d8 writes it: the code that holds it, and its handler, release it after any exception.
    fn monitor(&mut self, lock: u32) {
        let Some(exception) = self.free(16).filter(|exception| *exception != lock) else { return };
        self.push(MONITOR_ENTER, &[lock], Operand::None);
        let start = self.push(INVOKE_STATIC, &[lock], Operand::Index(50));
        if self.choices.below(2) == 0 {
            self.push(INVOKE_STATIC, &[], Operand::Index(51));
        }
        let end = self.push(MONITOR_EXIT, &[lock], Operand::None) + 1;
        let over = self.push(GOTO, &[], Operand::None);
        let handler = self.push(MOVE_EXCEPTION, &[exception], Operand::None);
        let release = self.push(MONITOR_EXIT, &[lock], Operand::None);
        self.push(THROW, &[exception], Operand::None);
        let behind = self.body.instructions.len() as u32;
        let label = self.body.add_label(behind);
        self.body.instructions[over as usize].operand = Operand::Target(label);
        let all = Some(self.body.add_label(handler));
        let catch = self.body.handlers.len();
        self.body.handlers.push(Catch { typed: Vec::new(), all });
        self.body.tries.push(Range { start, end, handler: catch });
        self.body.tries.push(Range { start: handler, end: release + 1, handler: catch });
    }

    fn branch(&mut self, op: u8, registers: &[u32], count: usize) {
        let at = self.push(op, registers, Operand::None);
        let choices = (0..count).map(|_| self.choices.below(1000)).collect();
        self.branches.push((at, choices));
    }

    /// A return or a throw.
    fn end(&mut self) {
        let a = self.any(256);
        match self.choices.below(4) {
            1 if self.registers > 0 => self.push(RETURN, &[a], Operand::None),
            2 if self.registers > 0 => self.push(RETURN_OBJECT, &[a], Operand::None),
            3 if self.registers > a + 1 => self.push(RETURN_WIDE, &[a], Operand::None),
            _ => self.push(RETURN_VOID, &[], Operand::None),
        };
    }

    fn handler(&mut self) -> u32 {
        let start = self.body.instructions.len() as u32;
        if let Some(to) = self.free(256) {
            self.push(MOVE_EXCEPTION, &[to], Operand::None);
        }
        for _ in 0..self.choices.below(3) {
            self.step();
        }
        match self.choices.below(3) {
            0 => self.branch(GOTO, &[], 1),
            _ => self.end(),
        }
        start
    }

    /// Places try ranges between those of monitors.
    fn tries(&mut self, end: u32, handlers: &[u32]) {
        let mut at = self.choices.below(6);
        while !handlers.is_empty() && at < end {
            let next = at + 1 + self.choices.below(8);
            let mut catch = Catch::default();
            let labels: Vec<u32> = handlers.iter().map(|handler| self.body.add_label(*handler)).collect();
            for (kind, label) in labels.iter().enumerate() {
                match self.choices.below(3) {
                    0 => catch.typed.push((kind as u32, *label)),
                    1 => catch.all = Some(*label),
                    _ => {}
                }
            }
            let free = !self.body.tries.iter().any(|range| range.start < next && at < range.end);
            if free && next <= end && catch.labels().next().is_some() {
                self.body.tries.push(Range { start: at, end: next, handler: self.body.handlers.len() });
                self.body.handlers.push(catch);
            }
            at = next + self.choices.below(6);
        }
        self.body.tries.sort_by_key(|range| range.start);
    }

    /// Gives each branch its targets.
    fn link(&mut self) {
        let end = self.body.instructions.len() as u32 - 1;
        let inner = |body: &Body, at: u32| {
            matches!(
                body.instructions.get(at as usize).map(|i| i.op),
                Some(MOVE_RESULT | MOVE_EXCEPTION) | None
            )
        };
        let mut targets: Vec<u32> =
            self.targets.iter().copied().filter(|at| !inner(&self.body, *at)).collect();
        if targets.is_empty() {
            targets.push(end);
        }
        for (at, choices) in std::mem::take(&mut self.branches) {
            let labels: Vec<u32> =
                choices.iter().map(|choice| targets[*choice as usize % targets.len()]).collect();
            let labels: Vec<u32> = labels.into_iter().map(|target| self.body.add_label(target)).collect();
            let operand = &mut self.body.instructions[at as usize].operand;
            match *operand {
                Operand::Payload(payload) => self.body.payloads[payload as usize].targets = labels,
                _ => *operand = Operand::Target(labels[0]),
            }
        }
    }
}

/// What a run of a method does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Call(u32, Vec<u32>),
    String(u32),
    Lock(u32),
    Unlock(u32),
    Return(Vec<u32>),
    Throw(u32),
    /// The run is longer than what is compared.
    Stopped,
}

/// Calls of these methods do not count, and throw only in [`run_failing`].
pub(crate) const QUIET: core::ops::Range<u32> = 100..110;

/// The errors that quiet calls throw, by the type indices of their classes.
pub(crate) const ERRORS: [u32; 2] = [0x7E44, 0x7E45];

/// Runs code: calls return and throw what their number among the calls decides.
pub(crate) fn run(code: &Code<'_>, arguments: &[u32], seed: u32) -> Vec<Action> {
    run_failing(code, arguments, seed, &|_| false)
}

/// Runs code in which the quiet calls of some methods throw one of [`ERRORS`].
pub(crate) fn run_failing(
    code: &Code<'_>,
    arguments: &[u32],
    seed: u32,
    fails: &dyn Fn(u32) -> bool,
) -> Vec<Action> {
    let units = &code.units[..];
    let mut registers = vec![0xDEAD_u32; usize::from(code.registers)];
    let first = registers.len() - usize::from(code.ins);
    registers[first..].copy_from_slice(arguments);
    let (mut actions, mut result, mut exception, mut pc) = (Vec::new(), 0_u32, 0_u32, 0_u32);
    let mut calls = 0_u32;
    for _ in 0..4000 {
        if actions.len() > 60 {
            break;
        }
        let (instruction, offset) = decode(units, pc).unwrap_or_else(|| panic!("runs into {pc}"));
        let next = pc + instruction.opcode().format.units();
        let [a, b, c, ..] = instruction.registers.map(usize::from);
        let literal = if let Operand::Literal(value) = instruction.operand { value as u32 } else { 0 };
        let index = if let Operand::Index(index) = instruction.operand { index } else { 0 };
        let to = pc.wrapping_add_signed(offset);
        let mut thrown = None;
        let mut then = next;
        match instruction.op {
            0 => {}
            0x12..=0x15 => registers[a] = literal,
            MOVE | MOVE_FROM16 | MOVE_16 | MOVE_OBJECT | MOVE_OBJECT_FROM16 | MOVE_OBJECT_16 => {
                registers[a] = registers[b]
            }
            MOVE_WIDE | MOVE_WIDE_FROM16 | MOVE_WIDE_16 => {
                let pair = [registers[b], registers[b + 1]];
                registers[a..a + 2].copy_from_slice(&pair);
            }
            MOVE_RESULT | MOVE_RESULT_OBJECT => registers[a] = result,
            MOVE_EXCEPTION => registers[a] = exception,
            RETURN_VOID => {
                actions.push(Action::Return(Vec::new()));
                return actions;
            }
            RETURN | RETURN_OBJECT => {
                actions.push(Action::Return(vec![registers[a]]));
                return actions;
            }
            RETURN_WIDE => {
                actions.push(Action::Return(vec![registers[a], registers[a + 1]]));
                return actions;
            }
            CONST_STRING | super::opcode::CONST_STRING_JUMBO => {
                registers[a] = index;
                actions.push(Action::String(index));
            }
            MONITOR_ENTER => actions.push(Action::Lock(registers[a])),
            MONITOR_EXIT => actions.push(Action::Unlock(registers[a])),
            THROW => thrown = Some(registers[a]),
            0x28..=0x2a => then = to,
            PACKED_SWITCH | SPARSE_SWITCH => {
                let cases = u32::from(unit(units, to + 1).unwrap());
                let word = |at: u32| pair(units, at).unwrap();
                let value = registers[a];
                let offset = if instruction.op == PACKED_SWITCH {
                    let case = value.wrapping_sub(word(to + 2));
                    (case < cases).then(|| word(to + 4 + 2 * case))
                } else {
                    (0..cases)
                        .find(|case| word(to + 2 + 2 * case) == value)
                        .map(|case| word(to + 2 + 2 * (cases + case)))
                };
                if let Some(offset) = offset {
                    then = pc.wrapping_add(offset);
                }
            }
            op @ 0x32..=0x3d => {
                let (left, right) = (registers[a] as i32, if op < 0x38 { registers[b] as i32 } else { 0 });
                let taken = match (op - 0x32) % 6 {
                    0 => left == right,
                    1 => left != right,
                    2 => left < right,
                    3 => left >= right,
                    4 => left > right,
                    _ => left <= right,
                };
                if taken {
                    then = to;
                }
            }
            ADD_INT => registers[a] = registers[b].wrapping_add(registers[c]),
            DIV_INT => match registers[c] {
                0 => thrown = Some(2),
                divisor => registers[a] = registers[b] / divisor,
            },
            INVOKE_VIRTUAL..=INVOKE_INTERFACE_RANGE => {
                let list: Vec<u32> =
                    instruction.registers().map(|register| registers[register as usize]).collect();
                actions.push(Action::Call(index, list));
                assert!(instruction.count <= code.outs as u8, "outs");
                if QUIET.contains(&index) {
                    thrown = fails(index).then_some(ERRORS[pc as usize % 2]);
                } else {
                    calls += 1;
                    result = calls.wrapping_mul(0x9E37_79B1).wrapping_add(seed).rotate_left(7) >> 20;
                    thrown = Some(result).filter(|result| result % 4 == 0);
                }
            }
            op => panic!("{op:#x}"),
        }
        if let Some(value) = thrown {
            let covers =
                |range: &&super::Try| range.start <= pc && pc < range.start + u32::from(range.length);
            let handler = code.tries.iter().find(covers).and_then(|range| {
                let handler = &code.handlers[range.handler];
                let class = if ERRORS.contains(&value) { value } else { value % 4 };
                let typed = handler.typed.iter().find(|(kind, _)| *kind == class).map(|(_, at)| *at);
                typed.or(handler.catch_all)
            });
            let Some(handler) = handler else {
                actions.push(Action::Throw(value));
                return actions;
            };
            exception = value;
            then = handler;
        }
        pc = then;
    }
    actions.push(Action::Stopped);
    actions
}
