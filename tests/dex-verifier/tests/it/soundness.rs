//! Programs at random: what the verifier accepts never confuses types when it is run.
//!
//! The interpreter here knows for each register what really is in it. It takes branches and exceptions at random, so that
//! a state which the verifier forgets, such as the one before a throwing instruction, shows up as a wrong operand.

use super::assembler::{Body, body};
use dex_verifier::{Severity, verify};

const REGISTERS: usize = 6;
const PROGRAMS: u32 = 10_000;
const WALKS: u32 = 12;

/// A small generator of random numbers (xorshift): the same programs in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }
}

/// An instruction; the last number of a branch is the position of its target in the program.
#[derive(Clone, Copy, Debug)]
enum Op {
    Const(usize, i8),
    ConstWide(usize),
    ConstString(usize),
    Move(usize, usize),
    MoveObject(usize, usize),
    MoveWide(usize, usize),
    AddInt(usize, usize, usize),
    NegLong(usize, usize),
    NewArray(usize, usize),
    ArrayLength(usize, usize),
    Call(usize),
    MoveException(usize),
    Throw(usize),
    IfZero(usize, usize),
    Goto(usize),
    Return,
}

/// What a register really holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Nothing,
    /// A constant, which has no type of its own.
    Constant(i8),
    Int,
    /// One half of the 64-bit value with this number.
    Low(u32),
    High(u32),
    String,
    Array,
    Exception,
}

impl Held {
    fn is_int(self) -> bool {
        matches!(self, Self::Constant(_) | Self::Int)
    }

    fn is_null(self) -> bool {
        self == Self::Constant(0)
    }
}

struct Program {
    ops: Vec<Op>,
    /// First and last covered instruction, and the handler.
    range: Option<(usize, usize, usize)>,
}

impl Program {
    fn random(random: &mut Random) -> Self {
        let length = 6 + random.below(8);
        let mut ops = vec![Op::Const(0, 0), Op::ConstString(1), Op::ConstWide(2), Op::Const(4, 5)];
        for position in ops.len()..length {
            let (a, b, c) = (random.below(REGISTERS), random.below(REGISTERS), random.below(REGISTERS));
            let wide = |register: usize| register.min(REGISTERS - 2);
            let target = if random.below(4) == 0 {
                random.below(length + 1)
            } else {
                position + 1 + random.below(length - position)
            };
            ops.push(match random.below(17) {
                0 => Op::Const(a, random.below(3) as i8),
                1 => Op::ConstWide(wide(a)),
                2 | 3 => Op::ConstString(a),
                4 => Op::Move(a, b),
                5 => Op::MoveObject(a, b),
                6 => Op::MoveWide(wide(a), wide(b)),
                7 => Op::AddInt(a, b, c),
                8 => Op::NegLong(wide(a), wide(b)),
                9 => Op::NewArray(a, b),
                10 => Op::ArrayLength(a, b),
                11 | 12 => Op::Call(a),
                13 => Op::Throw(a),
                14 | 15 => Op::IfZero(a, target),
                _ => Op::Goto(target),
            });
        }
        ops.push(Op::Return);
        // The handler, behind everything; its instructions read registers that the range may have changed.
        let handler = ops.len();
        if random.below(2) == 0 {
            ops.push(Op::MoveException(random.below(REGISTERS)));
        }
        for _ in 0..1 + random.below(2) {
            let (a, b) = (random.below(REGISTERS), random.below(REGISTERS));
            ops.push(match random.below(4) {
                0 => Op::AddInt(a, b, b),
                1 => Op::ArrayLength(a, b),
                2 => Op::Throw(b),
                _ => Op::NegLong(a.min(REGISTERS - 2), b.min(REGISTERS - 2)),
            });
        }
        ops.push(Op::Return);
        let first = random.below(length);
        let range = (random.below(4) > 0).then(|| (first, first + random.below(length - first), handler));
        Self { ops, range }
    }

    fn dex(&self) -> Vec<u8> {
        let lengths = self.ops.iter().map(|op| match op {
            Op::Const(..) | Op::Move(..) | Op::MoveObject(..) | Op::MoveWide(..) | Op::NegLong(..) => 1,
            Op::ArrayLength(..) | Op::MoveException(_) | Op::Throw(_) | Op::Return => 1,
            Op::Call(_) => 3,
            _ => 2,
        });
        let mut pcs = vec![0usize];
        pcs.extend(lengths.scan(0, |pc, length| {
            *pc += length;
            Some(*pc)
        }));
        let mut units: Vec<u16> = Vec::new();
        for (&op, &pc) in self.ops.iter().zip(&pcs) {
            let offset = |target: usize| (pcs[target] as i64 - pc as i64) as u16;
            let pair = |code: usize, a: usize, b: usize| (code | a << 8 | b << 12) as u16;
            let one = |code: usize, a: usize| (code | a << 8) as u16;
            match op {
                Op::Const(a, value) => units.push(pair(0x12, a, value as usize)),
                Op::ConstWide(a) => units.extend([one(0x16, a), 7]),
                Op::ConstString(a) => units.extend([one(0x1a, a), 6]),
                Op::Move(a, b) => units.push(pair(0x01, a, b)),
                Op::MoveObject(a, b) => units.push(pair(0x07, a, b)),
                Op::MoveWide(a, b) => units.push(pair(0x04, a, b)),
                Op::AddInt(a, b, c) => units.extend([one(0x90, a), (b | c << 8) as u16]),
                Op::NegLong(a, b) => units.push(pair(0x7d, a, b)),
                Op::NewArray(a, b) => units.extend([pair(0x23, a, b), 5]),
                Op::ArrayLength(a, b) => units.push(pair(0x21, a, b)),
                Op::Call(a) => units.extend([0x1071, 0, a as u16]),
                Op::MoveException(a) => units.push(one(0x0d, a)),
                Op::Throw(a) => units.push(one(0x27, a)),
                Op::IfZero(a, target) => units.extend([one(0x38, a), offset(target)]),
                Op::Goto(target) => units.extend([0x29, offset(target)]),
                Op::Return => units.push(0x0e),
            }
        }
        let mut body = Body { registers: REGISTERS as u16, ..body(&units) };
        if let Some((first, last, handler)) = self.range {
            body.tries = vec![(pcs[first] as u32, (pcs[last + 1] - pcs[first]) as u16, 1)];
            body.handlers = vec![1, 0, pcs[handler] as u8];
        }
        body.dex()
    }

    /// Runs the program once. `Err` if an instruction finds an operand of the wrong type.
    fn walk(&self, random: &mut Random) -> Result<(), String> {
        let mut held = [Held::Nothing; REGISTERS];
        held[REGISTERS - 1] = Held::Int;
        let mut wide = 0;
        let mut position = 0;
        for _ in 0..60 {
            let op = self.ops[position];
            let wrong = || Err(format!("{op:?} at {position} of {:?} with {held:?}", self.ops));
            let mut next = position + 1;
            let mut throws = false;
            let before = held;
            match op {
                Op::Const(a, value) => held[a] = Held::Constant(value),
                Op::ConstWide(a) => {
                    wide += 1;
                    (held[a], held[a + 1]) = (Held::Low(wide), Held::High(wide));
                }
                Op::ConstString(a) => {
                    throws = random.below(3) == 0;
                    held[a] = Held::String;
                }
                Op::Move(a, b) | Op::MoveObject(a, b) => held[a] = held[b],
                Op::MoveWide(a, b) | Op::NegLong(a, b) => match (held[b], held[b + 1]) {
                    (Held::Low(low), Held::High(high)) if low == high => {
                        (held[a], held[a + 1]) = (Held::Low(low), Held::High(high));
                    }
                    _ => return wrong(),
                },
                Op::AddInt(a, b, c) => {
                    if !held[b].is_int() || !held[c].is_int() {
                        return wrong();
                    }
                    held[a] = Held::Int;
                }
                Op::NewArray(a, b) => {
                    if !held[b].is_int() {
                        return wrong();
                    }
                    throws = random.below(3) == 0;
                    held[a] = Held::Array;
                }
                Op::ArrayLength(a, b) => {
                    if held[b] != Held::Array && !held[b].is_null() {
                        return wrong();
                    }
                    throws = held[b].is_null();
                    held[a] = Held::Int;
                }
                Op::Call(a) => {
                    if !held[a].is_int() {
                        return wrong();
                    }
                    throws = random.below(3) == 0;
                }
                Op::MoveException(a) => held[a] = Held::Exception,
                Op::Throw(a) => {
                    if held[a] != Held::Exception && !held[a].is_null() {
                        return wrong();
                    }
                    throws = true;
                }
                Op::IfZero(a, target) => {
                    if matches!(held[a], Held::Nothing | Held::Low(_) | Held::High(_)) {
                        return wrong();
                    }
                    let taken = match held[a] {
                        Held::Constant(value) => value == 0,
                        Held::Int => random.below(2) == 0,
                        _ => false,
                    };
                    if taken {
                        next = target;
                    }
                }
                Op::Goto(target) => next = target,
                Op::Return => return Ok(()),
            }
            if throws {
                held = before;
                match self.range {
                    Some((first, last, handler)) if (first..=last).contains(&position) => next = handler,
                    _ => return Ok(()),
                }
            }
            position = next;
        }
        Ok(())
    }
}

#[test]
fn accepted_programs_never_confuse_types() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut accepted, mut refused_and_wrong) = (0, 0);
    for _ in 0..PROGRAMS {
        let program = Program::random(&mut random);
        let report = verify(&program.dex()).expect("the tables are whole");
        let is_accepted = report.count(Severity::Error) == 0;
        accepted += u32::from(is_accepted);
        let mut wrong = false;
        for _ in 0..WALKS {
            let walk = program.walk(&mut random);
            wrong |= walk.is_err();
            if is_accepted {
                assert_eq!(walk, Ok(()), "try range {:?}", program.range);
            }
        }
        refused_and_wrong += u32::from(wrong && !is_accepted);
    }
    // Enough of both, or else the test says little.
    assert!(accepted > PROGRAMS / 50, "{accepted} accepted");
    assert!(refused_and_wrong > PROGRAMS / 10, "{refused_and_wrong} refused and wrong");
    println!("{accepted} accepted, {refused_and_wrong} refused and wrong in a walk");
}
