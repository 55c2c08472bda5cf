//! The types of the local variables and the stack around chosen instructions.
//!
//! Code that drops an error of an inserted call needs a frame where it goes on, and a frame states all types. Between two
//! frames of a `StackMapTable` the types follow from the instructions, so each stretch is followed once, as a verifier does
//! (JVMS 4.10.1). For example, after `aload_1; invokevirtual Queue.take` the stack ends with the class in that method's
//! descriptor.
//!
//! Classes before version 50 have no frames. Theirs is followed from the method's start along each jump; the first state that
//! reaches an instruction stands for all, because verified code has values of the same kinds on each path, and no frame is
//! written for these classes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::frames::Frame;
use super::layout::short;
use super::stack_map::{OBJECT, Type, UNINITIALIZED};
use crate::class::class_file::{ClassFile, Method, access};
use crate::class::code::Code;
use crate::class::constant_pool::Appended;
use crate::class::descriptor::{Types, call_words, words_of};
use crate::class::opcodes::{self as op, Instruction};
use crate::error::{Malformed, SkipReason};

/// Bound on the words of all states that wait to be followed.
pub(super) const MAX_PENDING: usize = 1 << 20;

/// A value in one word of the locals or of the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// Nothing usable.
    Top,
    /// The second word of a long or double.
    Half,
    Integer,
    Float,
    Long,
    Double,
    Null,
    /// The object of a constructor before its super call.
    UninitializedThis,
    /// What the `new` at this old position made, before its constructor has run.
    New(u32),
    /// An object of the class with this constant pool index.
    Class(u16),
    /// An object of the class with this internal name, or an array with this descriptor.
    Named(Cow<'a, [u8]>),
}

impl<'a> Value<'a> {
    /// Returns the value of a field, argument or result with this type.
    pub(super) fn of(descriptor: &'a [u8]) -> Option<Self> {
        Some(match descriptor.first()? {
            b'J' => Self::Long,
            b'D' => Self::Double,
            b'F' => Self::Float,
            b'L' => Self::Named(Cow::Borrowed(descriptor.get(1..descriptor.len() - 1)?)),
            b'[' => Self::Named(Cow::Borrowed(descriptor)),
            b'V' => return None,
            _ => Self::Integer,
        })
    }

    fn of_type((tag, operand): Type) -> Self {
        match tag {
            OBJECT => Self::Class(operand),
            UNINITIALIZED => Self::New(u32::from(operand)),
            _ => SIMPLE.get(usize::from(tag)).cloned().unwrap_or(Self::Top),
        }
    }

    /// Returns the verification type; `None` for the second word of another.
    pub(crate) fn verification_type(&self, pool: &mut Appended) -> Result<Option<Type>, SkipReason> {
        Ok(match self {
            Self::New(pc) => Some((UNINITIALIZED, short(*pc)?)),
            Self::Class(index) => Some((OBJECT, *index)),
            Self::Named(name) => Some((OBJECT, pool.class_named(name)?)),
            simple => (0..).zip(&SIMPLE).find(|(_, value)| *value == simple).map(|(tag, _)| (tag, 0)),
        })
    }

    /// Returns how many words it takes.
    pub(crate) fn words(&self) -> u16 {
        if matches!(self, Self::Long | Self::Double) { 2 } else { 1 }
    }

    /// True for an object that can be passed to a method.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Null | Self::Class(_) | Self::Named(_))
    }

    /// Returns the place of its kind in the order of loads and stores: int, long, float, double, object.
    pub(crate) fn kind(&self) -> u8 {
        (0..).zip(&NUMBERS).find(|(_, value)| *value == self).map_or(4, |(kind, _)| kind)
    }
}

/// The values whose verification types have no operand, by their tags.
static SIMPLE: [Value<'static>; 7] = [
    Value::Top,
    Value::Integer,
    Value::Float,
    Value::Double,
    Value::Long,
    Value::Null,
    Value::UninitializedThis,
];

/// The numbers in the order of loads, stores and conversions.
static NUMBERS: [Value<'static>; 4] = [Value::Integer, Value::Long, Value::Float, Value::Double];

/// The words of the locals and of the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State<'a> {
    pub(crate) locals: Vec<Value<'a>>,
    pub(crate) stack: Vec<Value<'a>>,
}

/// The states before and after an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Around<'a> {
    pub(crate) before: State<'a>,
    pub(crate) after: State<'a>,
}

const EMPTY: Malformed = Malformed { at: 0, what: "an empty stack is popped" };

impl<'a> State<'a> {
    /// Returns the state at the start of a method.
    pub(super) fn first(class: &ClassFile<'_>, method: &Method<'a>) -> Result<Self, Malformed> {
        let mut state = Self::default();
        if method.access & access::STATIC == 0 {
            state.locals.push(match method.is_constructor() {
                true => Value::UninitializedThis,
                false => Value::Class(class.this_class),
            });
        }
        let mut types = Types::try_from(method.descriptor)?;
        while let Some(argument) = types.next()? {
            push(&mut state.locals, Value::of(argument));
        }
        Ok(state)
    }

    fn of_frame(frame: &Frame) -> Self {
        let mut state = Self::default();
        frame.locals.iter().for_each(|&kind| push(&mut state.locals, Some(Value::of_type(kind))));
        frame.stack.iter().for_each(|&kind| push(&mut state.stack, Some(Value::of_type(kind))));
        state
    }

    /// Returns the values on the stack without the second words.
    pub(crate) fn entries(&self) -> Vec<Value<'a>> {
        self.stack.iter().filter(|value| **value != Value::Half).cloned().collect()
    }

    fn pop(&mut self) -> Result<Value<'a>, Malformed> {
        self.stack.pop().ok_or(EMPTY)
    }

    fn pop_words(&mut self, count: usize) -> Result<(), Malformed> {
        let left = self.stack.len().checked_sub(count).ok_or(EMPTY)?;
        self.stack.truncate(left);
        Ok(())
    }

    fn push(&mut self, value: Value<'a>) {
        push(&mut self.stack, Some(value));
    }

    fn replace(&mut self, words: usize, value: Value<'a>) -> Result<(), Malformed> {
        self.pop_words(words)?;
        self.push(value);
        Ok(())
    }

    fn load(&mut self, kind: u8, local: u16) {
        let value = NUMBERS.get(usize::from(kind)).or_else(|| self.locals.get(usize::from(local)));
        self.push(value.cloned().unwrap_or(Value::Top));
    }

    fn store(&mut self, kind: u8, local: u16) -> Result<(), Malformed> {
        if matches!(kind, 1 | 3) {
            self.pop()?;
        }
        let value = self.pop()?;
        self.set_local(local, value);
        Ok(())
    }

    /// Stores a value in a local variable. A long or double that loses one of its words is unusable.
    pub(crate) fn set_local(&mut self, local: u16, value: Value<'a>) {
        let (at, words) = (usize::from(local), usize::from(value.words()));
        if self.locals.len() < at + words {
            self.locals.resize(at + words, Value::Top);
        }
        if self.locals.get(at) == Some(&Value::Half)
            && let Some(first) = at.checked_sub(1).and_then(|first| self.locals.get_mut(first))
        {
            *first = Value::Top;
        }
        if let Some(after @ Value::Half) = self.locals.get_mut(at + words) {
            *after = Value::Top;
        }
        if let Some(slot) = self.locals.get_mut(at) {
            *slot = value;
        }
        if words == 2
            && let Some(slot) = self.locals.get_mut(at + 1)
        {
            *slot = Value::Half;
        }
    }

    /// Gives every copy of an uninitialized object its class.
    fn initialize(&mut self, object: &Value<'a>, class: &Value<'a>) {
        for slot in self.locals.iter_mut().chain(&mut self.stack) {
            if slot == object {
                *slot = class.clone();
            }
        }
    }

    /// Returns its locals as a frame has them, without unusable ones at the end.
    pub(crate) fn frame_locals(&self, pool: &mut Appended) -> Result<Vec<Type>, SkipReason> {
        let used = self.locals.iter().rposition(|value| *value != Value::Top).map_or(0, |last| last + 1);
        let mut types = Vec::with_capacity(used);
        for value in self.locals.iter().take(used) {
            types.extend(value.verification_type(pool)?);
        }
        Ok(types)
    }
}

fn push<'a>(words: &mut Vec<Value<'a>>, value: Option<Value<'a>>) {
    let Some(value) = value else { return };
    let is_wide = value.words() == 2;
    words.push(value);
    if is_wide {
        words.push(Value::Half);
    }
}

/// Returns the states around the instructions that `wanted` names. Instructions that are never reached have none. The types in
/// `frames` are constants of the class, or appended ones.
pub(crate) fn around<'a>(
    class: &ClassFile<'a>,
    method: &Method<'a>,
    code: &Code<'a>,
    frames: &BTreeMap<u32, Frame>,
    appended: &Appended,
    wanted: &dyn Fn(u32) -> bool,
) -> Result<BTreeMap<u32, Around<'a>>, SkipReason> {
    let mut followed = Followed {
        pending: Vec::new(),
        words: 0,
        seen: vec![false; code.bytes.len()],
        frames,
        appended,
        found: BTreeMap::new(),
    };
    // The last one is followed first: the start of the method comes before its frames.
    for (&pc, frame) in frames.iter().rev() {
        followed.queue(pc, &State::of_frame(frame))?;
    }
    followed.queue(0, &State::first(class, method)?)?;
    while let Some((pc, state)) = followed.pending.pop() {
        followed.words = followed.words.saturating_sub(state.locals.len() + state.stack.len());
        followed.follow(class, code, pc, state, wanted)?;
    }
    Ok(followed.found)
}

struct Followed<'f, 'a> {
    pending: Vec<(u32, State<'a>)>,
    words: usize,
    seen: Vec<bool>,
    frames: &'f BTreeMap<u32, Frame>,
    appended: &'f Appended,
    found: BTreeMap<u32, Around<'a>>,
}

impl<'a> Followed<'_, 'a> {
    fn queue(&mut self, pc: u32, state: &State<'a>) -> Result<(), SkipReason> {
        if self.seen.get(pc as usize).is_none_or(|seen| *seen) {
            return Ok(());
        }
        self.words += state.locals.len() + state.stack.len();
        if self.words > MAX_PENDING {
            return Err(SkipReason::TableFull);
        }
        self.pending.push((pc, state.clone()));
        Ok(())
    }

    /// Follows the code from `pc` to where it ends, jumps, or was seen.
    fn follow(
        &mut self,
        class: &ClassFile<'a>,
        code: &Code<'a>,
        mut pc: u32,
        mut state: State<'a>,
        wanted: &dyn Fn(u32) -> bool,
    ) -> Result<(), SkipReason> {
        loop {
            match self.seen.get_mut(pc as usize) {
                None | Some(true) => return Ok(()),
                Some(seen) => *seen = true,
            }
            if let Some(frame) = self.frames.get(&pc) {
                state = State::of_frame(frame);
            }
            if self.frames.is_empty() {
                for row in code.handlers.iter().filter(|row| row.covers(pc)) {
                    let caught = Value::Named(Cow::Borrowed(b"java/lang/Throwable"));
                    let state = State { locals: state.locals.clone(), stack: vec![caught] };
                    self.queue(u32::from(row.handler), &state)?;
                }
            }
            let instruction = op::instruction_at(code.bytes, pc)?;
            let before = wanted(pc).then(|| state.clone());
            let next = step(class, self.appended, code.bytes, instruction, &mut state)?;
            if let Some(before) = before {
                self.found.insert(pc, Around { before, after: state.clone() });
            }
            for target in next.jumps {
                self.queue(target, &state)?;
            }
            if !next.falls_through {
                return Ok(());
            }
            pc = instruction.next();
        }
    }
}

/// The descriptors of what `newarray` makes, by its operand from 4 on.
const ARRAYS: [&[u8]; 8] = [b"[Z", b"[C", b"[F", b"[D", b"[B", b"[S", b"[I", b"[J"];

/// Where control goes from an instruction.
pub(super) struct Next {
    pub(super) jumps: Vec<u32>,
    pub(super) falls_through: bool,
}

/// Applies an instruction to the state.
pub(super) fn step<'a>(
    class: &ClassFile<'a>,
    appended: &Appended,
    code: &'a [u8],
    instruction: Instruction,
    state: &mut State<'a>,
) -> Result<Next, SkipReason> {
    let Instruction { pc, opcode, .. } = instruction;
    let operand = |at: u32| code.get((pc + at) as usize).copied().unwrap_or(0);
    let mut next = Next { jumps: Vec::new(), falls_through: true };
    match opcode {
        op::ILOAD..=op::ALOAD => state.load(opcode - op::ILOAD, u16::from(operand(1))),
        op::ILOAD_0..=op::ALOAD_3 => {
            let form = opcode - op::ILOAD_0;
            state.load(form / 4, u16::from(form % 4));
        }
        op::ISTORE..=op::ASTORE => state.store(opcode - op::ISTORE, u16::from(operand(1)))?,
        op::ISTORE_0..=op::ASTORE_3 => {
            let form = opcode - op::ISTORE_0;
            state.store(form / 4, u16::from(form % 4))?;
        }
        op::WIDE => {
            let local = op::u2_at(code, pc + 2)?;
            match operand(1) {
                load @ op::ILOAD..=op::ALOAD => state.load(load - op::ILOAD, local),
                store @ op::ISTORE..=op::ASTORE => state.store(store - op::ISTORE, local)?,
                op::IINC => {}
                _ => return Err(SkipReason::Subroutines),
            }
        }
        op::POP..=op::SWAP => shuffle(&mut state.stack, opcode)?,
        op::LDC..=op::LDC2_W => {
            let index = if opcode == op::LDC { u16::from(operand(1)) } else { op::u2_at(code, pc + 1)? };
            state.push(Value::of(class.pool.constant_type(index)?).unwrap_or(Value::Top));
        }
        op::IALOAD..=op::SALOAD => load_element(class, appended, opcode, state)?,
        op::GETSTATIC..=op::PUTFIELD => access_field(class, opcode, op::u2_at(code, pc + 1)?, state)?,
        op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => {
            call(class, code, opcode, op::u2_at(code, pc + 1)?, state)?;
        }
        op::NEW => state.push(Value::New(pc)),
        op::NEWARRAY => {
            let kind = usize::from(operand(1).wrapping_sub(4));
            let descriptor: &[u8] = ARRAYS.get(kind).copied().unwrap_or(b"[I");
            state.replace(1, Value::Named(Cow::Borrowed(descriptor)))?;
        }
        op::ANEWARRAY => {
            let element = class.pool.class_name(op::u2_at(code, pc + 1)?)?;
            let descriptor = match element.first() {
                Some(b'[') => [b"[", element].concat(),
                _ => [b"[L", element, b";"].concat(),
            };
            state.replace(1, Value::Named(Cow::Owned(descriptor)))?;
        }
        op::MULTIANEWARRAY => {
            state.replace(usize::from(operand(3)), Value::Class(op::u2_at(code, pc + 1)?))?;
        }
        op::CHECKCAST => state.replace(1, Value::Class(op::u2_at(code, pc + 1)?))?,
        op::ATHROW => next.falls_through = false,
        op::GOTO | op::GOTO_W => {
            next = Next { jumps: vec![op::target_at(code, pc)?], falls_through: false };
        }
        op::TABLESWITCH | op::LOOKUPSWITCH => {
            state.pop()?;
            next = Next { jumps: op::switch_targets(code, pc)?, falls_through: false };
        }
        _ if op::is_subroutine(opcode) => return Err(SkipReason::Subroutines),
        _ if op::is_return(opcode) => next.falls_through = false,
        _ => {
            let (popped, pushed) = effect(opcode);
            state.pop_words(popped)?;
            pushed.into_iter().for_each(|value| state.push(value));
            if op::is_short_branch(opcode) {
                next.jumps.push(op::target_at(code, pc)?);
            }
        }
    }
    Ok(next)
}

fn load_element<'a>(
    class: &ClassFile<'a>,
    appended: &Appended,
    opcode: u8,
    state: &mut State<'a>,
) -> Result<(), Malformed> {
    state.pop()?;
    let array = state.pop()?;
    let element = match opcode {
        op::LALOAD => Value::Long,
        op::FALOAD => Value::Float,
        op::DALOAD => Value::Double,
        op::AALOAD => match array {
            Value::Class(index) => element_of(match appended.class_name(index) {
                Some(name) => Cow::Owned(name.to_vec()),
                None => Cow::Borrowed(class.pool.class_name(index)?),
            }),
            Value::Named(descriptor) => element_of(descriptor),
            _ => Value::Null,
        },
        _ => Value::Integer,
    };
    state.push(element);
    Ok(())
}

/// Returns an element of an array with this descriptor.
fn element_of<'a>(array: Cow<'a, [u8]>) -> Value<'a> {
    let element = match array {
        Cow::Borrowed(array) => return array.get(1..).and_then(Value::of).unwrap_or(Value::Top),
        Cow::Owned(array) => array.get(1..).unwrap_or_default().to_vec(),
    };
    match element.as_slice() {
        [b'L', name @ .., b';'] => Value::Named(Cow::Owned(name.to_vec())),
        _ => Value::Named(Cow::Owned(element)),
    }
}

fn access_field<'a>(
    class: &ClassFile<'a>,
    opcode: u8,
    index: u16,
    state: &mut State<'a>,
) -> Result<(), Malformed> {
    let (_, descriptor) = class.pool.member(index)?;
    let words = words_of(descriptor.first());
    match opcode {
        op::PUTSTATIC => state.pop_words(words)?,
        op::PUTFIELD => state.pop_words(words + 1)?,
        _ => {
            if opcode == op::GETFIELD {
                state.pop()?;
            }
            state.push(Value::of(descriptor).unwrap_or(Value::Top));
        }
    }
    Ok(())
}

fn call<'a>(
    class: &ClassFile<'a>,
    code: &[u8],
    opcode: u8,
    index: u16,
    state: &mut State<'a>,
) -> Result<(), Malformed> {
    let (name, descriptor) = class.pool.member(index)?;
    let (words, result) = call_words(descriptor)?;
    state.pop_words(words)?;
    if !matches!(opcode, op::INVOKESTATIC | op::INVOKEDYNAMIC) {
        let receiver = state.pop()?;
        if name == b"<init>" {
            let made = match receiver {
                Value::New(pc) => Value::Class(op::u2_at(code, pc + 1)?),
                _ => Value::Class(class.this_class),
            };
            state.initialize(&receiver, &made);
        }
    }
    push(&mut state.stack, Value::of(result));
    Ok(())
}

/// Applies pop, pop2, the six dups or swap to the words of a stack.
fn shuffle(stack: &mut Vec<Value<'_>>, opcode: u8) -> Result<(), Malformed> {
    let empty = Malformed { at: 0, what: "too little on the stack to duplicate" };
    let (copied, below) = match opcode - op::POP {
        words @ 0..=1 => {
            stack.truncate(stack.len().checked_sub(usize::from(words) + 1).ok_or(EMPTY)?);
            return Ok(());
        }
        dup @ 2..=4 => (1, usize::from(dup - 2)),
        dup @ 5..=7 => (2, usize::from(dup - 5)),
        _ => {
            let top = stack.len();
            if top < 2 {
                return Err(EMPTY);
            }
            stack.swap(top - 1, top - 2);
            return Ok(());
        }
    };
    let at = stack.len().checked_sub(copied + below).ok_or(empty)?;
    let words = stack.get(at + below..).unwrap_or_default().to_vec();
    stack.splice(at..at, words);
    Ok(())
}

/// Returns the words that an instruction of a fixed effect pops, and what it pushes.
fn effect<'a>(opcode: u8) -> (usize, Option<Value<'a>>) {
    use Value::{Double, Float, Integer, Long, Null};
    match opcode {
        op::ACONST_NULL => (0, Some(Null)),
        op::ICONST_M1..=op::ICONST_5 | op::BIPUSH | op::SIPUSH => (0, Some(Integer)),
        op::LCONST_0 | op::LCONST_1 => (0, Some(Long)),
        op::FCONST_0..=op::FCONST_2 => (0, Some(Float)),
        op::DCONST_0 | op::DCONST_1 => (0, Some(Double)),
        op::LASTORE | op::DASTORE => (4, None),
        op::IASTORE..=op::SASTORE => (3, None),
        // A shift takes its distance, an int, and keeps the kind of the value.
        op::ISHL..=op::LUSHR => (1, None),
        // Int and float have even numbers, long and double odd ones.
        op::IADD..=op::DREM | op::IAND..=op::LXOR => (1 + usize::from(opcode % 2), None),
        op::I2L..=op::D2F => {
            // From each type in turn to the three others.
            let mut types = NUMBERS.to_vec();
            let from = types.remove(usize::from((opcode - op::I2L) / 3));
            let to = types.remove(usize::from((opcode - op::I2L) % 3));
            (usize::from(from.words()), Some(to))
        }
        op::ARRAYLENGTH | op::INSTANCEOF => (1, Some(Integer)),
        op::FCMPL | op::FCMPG => (2, Some(Integer)),
        op::LCMP | op::DCMPL | op::DCMPG => (4, Some(Integer)),
        op::IFEQ..=op::IFLE | op::IFNULL | op::IFNONNULL | op::MONITORENTER | op::MONITOREXIT => (1, None),
        op::IF_ICMPEQ..=op::IF_ACMPNE => (2, None),
        _ => (0, None),
    }
}
