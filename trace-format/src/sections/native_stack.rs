//! A thread's registers and stack bytes: the payload of [`SectionKind::NativeStack`].
//!
//! ```text
//!   0 392  as in a slot ([`crate::native_slot`]); the state is the number of this form, 1
//! 392   4  outermost bytes of the stack that are those of the capture below
//! 396   4  reserved, zero
//! 400   8  number of that capture, an earlier one of the same thread; 0 without one
//! 408   8  reserved, zero
//! 416 ...  the other stack bytes, from the stack pointer upwards
//! ```
//! Most of a hung thread's stack does not change between two captures, so each holds only what differs at its inner end.
//!
//! Stack bytes are the user's data. [`NativeStack::wipe`] overwrites them in place, and keeps what says that there was a capture.
//!
//! [`SectionKind::NativeStack`]: crate::section::SectionKind::NativeStack

use std::collections::VecDeque;

use super::MAX_TIME;
use crate::layout::{u16_at, u32_at, u64_at};
use crate::native_slot::{self, Machine, REGISTERS, Reason, at, flags};

/// The longest payload in bytes.
pub const MAX_LEN: usize = HEADER_LEN + native_slot::MAX_STACK;
/// Length of what stands before the stack bytes.
pub const HEADER_LEN: usize = 416;
/// Whole stacks that a reader keeps for captures that share with them, 64 KiB each.
///
/// A capture shares with the last one of the same thread, and the recorder follows no more than [`native_slot::SLOTS`] threads at a
/// time, so real recordings need fewer.
const MAX_WHOLE: usize = 64;
/// Bytes that are compared as one where two stacks are: a word on 64 bits, two on 32.
const STACK_WORD: usize = 8;
const FORM: u32 = 1;
const KEPT_AT: usize = 392;
const PREVIOUS: usize = 400;

/// The system call that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemCall {
    /// Its number on this machine.
    pub number: u64,
    /// Its arguments, as far as they are known.
    pub arguments: [u64; 6],
}

/// A capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeStack {
    /// Its number in this process, from 1.
    pub number: u64,
    /// The thread.
    pub tid: u32,
    /// When it was asked for, BOOTTIME ns in `1..MAX_TIME`.
    pub asked: u64,
    /// When the registers were read, BOOTTIME ns in `1..MAX_TIME`.
    pub at: u64,
    /// The instruction set.
    pub machine: Machine,
    /// Why; `None` for a reason of a later version.
    pub reason: Option<Reason>,
    /// Bits of [`native_slot::flags`].
    pub flags: u16,
    /// The address behind the thread's stack; 0 if unknown.
    pub stack_end: u64,
    /// The stack pointer.
    pub sp: u64,
    /// All registers, in DWARF order; see [`native_slot`]. [`Machine::registers`] of them count.
    pub registers: [u64; REGISTERS],
    /// The system call that the thread is in, if it is in one.
    pub system_call: Option<SystemCall>,
    /// The address of the mutex that the thread waits for, and the tid of its owner: each 0 if unknown.
    pub mutex: (u64, u32),
    /// The number of the capture whose outermost bytes this one shares, and how many.
    pub previous: Option<(u64, u32)>,
    /// The stack bytes from the stack pointer upwards, without those that it shares.
    pub stack: Vec<u8>,
}

impl NativeStack {
    /// The program counter.
    #[must_use]
    pub fn pc(&self) -> u64 {
        self.registers[self.machine.registers() - 1]
    }

    /// Whether the stack bytes are gone.
    #[must_use]
    pub fn is_wiped(&self) -> bool {
        self.flags & flags::WIPED != 0
    }

    /// The whole stack from the stack pointer upwards: its own bytes and those that it shares with `previous`, which is the whole stack
    /// of the capture that [`Self::previous`] names. `None` if that one is missing or too short.
    #[must_use]
    pub fn whole(&self, previous: Option<&[u8]>) -> Option<Vec<u8>> {
        let Some((_, kept)) = self.previous.filter(|(_, kept)| *kept > 0) else {
            return Some(self.stack.clone());
        };
        let previous = previous?;
        let shared = &previous[previous.len().checked_sub(kept as usize)?..];
        (self.stack.len() + shared.len() <= native_slot::MAX_STACK).then(|| [&self.stack, shared].concat())
    }

    /// Stores only what differs from `previous`, the whole stack of the capture `number` of the same thread, which ends at the same
    /// address. Words count as a whole, and less than 64 bytes in common as none.
    pub fn share(&mut self, number: u64, previous: &[u8]) {
        let words = self.stack.rchunks_exact(STACK_WORD).zip(previous.rchunks_exact(STACK_WORD));
        let kept = words.take_while(|(one, other)| one == other).count() * STACK_WORD;
        if kept >= 64 {
            self.stack.truncate(self.stack.len() - kept);
            self.previous = Some((number, u32::try_from(kept).expect("64 KiB at most")));
        }
    }

    /// The section's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; HEADER_LEN + self.stack.len()];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        let length = u32::try_from(self.stack.len()).expect("64 KiB at most");
        let call = self.system_call.unwrap_or(SystemCall { number: u64::MAX, arguments: [0; 6] });
        let (previous, kept) = self.previous.unwrap_or_default();
        put(at::STATE, &FORM.to_le_bytes());
        put(at::TID, &self.tid.to_le_bytes());
        put(at::NUMBER, &self.number.to_le_bytes());
        put(at::ASKED, &self.asked.to_le_bytes());
        put(at::FILLED, &self.at.to_le_bytes());
        put(at::STACK_END, &self.stack_end.to_le_bytes());
        put(at::SP, &self.sp.to_le_bytes());
        put(at::STACK_LEN, &length.to_le_bytes());
        put(at::MACHINE, &[self.machine as u8, self.reason.map_or(0, |reason| reason as u8)]);
        put(at::FLAGS, &self.flags.to_le_bytes());
        put(at::SYSTEM_CALL, &call.number.to_le_bytes());
        for (i, argument) in call.arguments.iter().enumerate() {
            put(at::ARGUMENTS + 8 * i, &argument.to_le_bytes());
        }
        put(at::OWNER, &u64::from(self.mutex.1).to_le_bytes());
        put(at::MUTEX, &self.mutex.0.to_le_bytes());
        for (i, register) in self.registers.iter().enumerate() {
            put(at::REGISTERS + 8 * i, &register.to_le_bytes());
        }
        put(KEPT_AT, &kept.to_le_bytes());
        put(PREVIOUS, &previous.to_le_bytes());
        put(HEADER_LEN, &self.stack);
        out
    }

    /// Reads a payload; `None` if it is too long or too short, of another form, of an unknown machine, or without valid times.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        if payload.len() > MAX_LEN {
            return None;
        }
        let (header, stack) = payload.split_at_checked(HEADER_LEN)?;
        if u32_at(header, at::STATE) != FORM || u32_at(header, at::STACK_LEN) as usize != stack.len() {
            return None;
        }
        let mut found = Self::from_words(header)?;
        let kept = u32_at(header, KEPT_AT);
        if kept as usize > native_slot::MAX_STACK - stack.len() {
            return None;
        }
        // A capture shares with an earlier one: reading ends.
        found.previous = (kept > 0).then(|| (u64_at(header, PREVIOUS), kept));
        if found.previous.is_some_and(|(previous, _)| previous == 0 || previous >= found.number) {
            return None;
        }
        found.stack = stack.to_vec();
        Some(found)
    }

    /// Reads a slot of the mapped part, with its whole stack; `None` if it is not full or not valid.
    #[must_use]
    pub fn from_slot(slot: &[u8]) -> Option<Self> {
        let header = slot.get(..KEPT_AT)?;
        if u32_at(header, at::STATE) != native_slot::state::FULL {
            return None;
        }
        let length = u32_at(header, at::STACK_LEN) as usize;
        let stack =
            slot.get(native_slot::STACK..)?.get(..length).filter(|_| length <= native_slot::MAX_STACK)?;
        let mut found = Self::from_words(header)?;
        found.stack = stack.to_vec();
        Some(found)
    }

    /// What a slot and a payload have in common.
    fn from_words(header: &[u8]) -> Option<Self> {
        let number = |at| u64_at(header, at);
        let time = |at| Some(number(at)).filter(|time| (1..MAX_TIME).contains(time));
        let call = SystemCall {
            number: number(at::SYSTEM_CALL),
            arguments: std::array::from_fn(|i| number(at::ARGUMENTS + 8 * i)),
        };
        Some(Self {
            number: Some(number(at::NUMBER)).filter(|number| *number > 0)?,
            tid: u32_at(header, at::TID),
            asked: time(at::ASKED)?,
            at: time(at::FILLED)?,
            machine: Machine::try_from(header[at::MACHINE]).ok()?,
            reason: Reason::try_from(header[at::REASON]).ok(),
            flags: u16_at(header, at::FLAGS),
            stack_end: number(at::STACK_END),
            sp: number(at::SP),
            registers: std::array::from_fn(|i| number(at::REGISTERS + 8 * i)),
            system_call: (call.number != u64::MAX).then_some(call),
            mutex: (number(at::MUTEX), u32::try_from(number(at::OWNER)).unwrap_or(0)),
            previous: None,
            stack: Vec::new(),
        })
    }

    /// Overwrites what a payload has of the user's data: stack bytes, registers and the call's arguments, all but the stack pointer and
    /// the program counter. Its length stays. What is too short for a payload is overwritten whole.
    pub fn wipe(payload: &mut [u8]) {
        if payload.len() < HEADER_LEN {
            payload.fill(0);
            return;
        }
        let machine = Machine::try_from(payload[at::MACHINE]).ok();
        let pc = machine.map(|machine| at::REGISTERS + 8 * (machine.registers() - 1));
        let pc = pc.map(|at| (at, <[u8; 8]>::try_from(&payload[at..at + 8]).expect("8 bytes")));
        payload[at::REGISTERS..KEPT_AT].fill(0);
        payload[at::ARGUMENTS..at::OWNER].fill(0);
        payload[HEADER_LEN..].fill(0);
        if let Some((at, bytes)) = pc {
            payload[at..at + 8].copy_from_slice(&bytes);
        }
        let marked = u16_at(payload, at::FLAGS) | flags::WIPED;
        payload[at::FLAGS..at::FLAGS + 2].copy_from_slice(&marked.to_le_bytes());
    }

    /// What the first bytes of a payload of this length are once it is wiped; behind [`HEADER_LEN`] all are zero. A payload of another
    /// form has nothing that may stay.
    pub(crate) fn wiped_head(head: &[u8], length: u64) -> Vec<u8> {
        let mut wiped = head.to_vec();
        if head.len() == HEADER_LEN
            && u32_at(head, at::STATE) == FORM
            && u64::from(u32_at(head, at::STACK_LEN)) + HEADER_LEN as u64 == length
        {
            Self::wipe(&mut wiped);
        } else {
            wiped.fill(0);
        }
        wiped
    }

    /// The number of the capture whose payload begins with these bytes; 0 if unknown.
    pub(crate) fn number_in(head: &[u8]) -> u64 {
        if head.len() < at::NUMBER + 8 { 0 } else { u64_at(head, at::NUMBER) }
    }
}

/// The last whole stacks, for the captures that share with them.
#[derive(Default, Debug)]
pub struct WholeStacks(VecDeque<(u64, Vec<u8>)>);

impl WholeStacks {
    /// Returns the whole stack of a capture, or its own inner part if the capture that it shares with is missing.
    pub fn of(&mut self, capture: &NativeStack) -> Vec<u8> {
        let previous = capture.previous.and_then(|(number, _)| {
            self.0.iter().find(|(known, _)| *known == number).map(|(_, stack)| &stack[..])
        });
        let Some(stack) = capture.whole(previous) else { return capture.stack.clone() };
        if self.0.len() >= MAX_WHOLE {
            self.0.pop_front();
        }
        self.0.push_back((capture.number, stack.clone()));
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_stacks_of_captures_come_from_earlier_ones() {
        let first = NativeStack {
            number: 1,
            tid: 7,
            asked: 1,
            at: 1,
            machine: Machine::X86_64,
            reason: Some(Reason::Stall),
            flags: 0,
            stack_end: 0,
            sp: 0x7fff_0000,
            registers: [0; REGISTERS],
            system_call: None,
            mutex: (0, 0),
            previous: None,
            stack: vec![0xa5; 256],
        };
        let mut stacks = WholeStacks::default();
        let whole = stacks.of(&first);
        let mut second = NativeStack { number: 2, ..first.clone() };
        second.stack[..8].fill(1);
        let wanted = second.stack.clone();
        second.share(1, &whole);
        assert_eq!((second.stack.len(), stacks.of(&second)), (8, wanted.clone()));
        for number in 3..200 {
            let mut next = NativeStack { number, stack: wanted.clone(), ..first.clone() };
            next.share(number - 1, &wanted);
            assert_eq!(stacks.of(&next), wanted);
            assert!(stacks.0.len() <= MAX_WHOLE);
        }
        // The stack that the first one shared is gone.
        second.number = 999;
        assert_eq!(stacks.of(&second), second.stack);
    }

    prop_compose! {
        fn captures()(
            number in 2u64..1_000, tid in 1u32..99_999, asked in 1..MAX_TIME, at in 1..MAX_TIME, flags in 0u16..8,
            stack_end: u64, sp: u64, registers: [u64; 32], call in prop::option::of((0u64..500, any::<[u64; 6]>())),
            mutex: (u64, u32), previous in prop::option::of((1u64..2, 1u32..4096)), stack in prop::collection::vec(any::<u8>(), 0..4096),
        ) -> NativeStack {
            NativeStack {
                number, tid, asked, at, machine: Machine::Aarch64, reason: Some(Reason::Sigquit), flags, stack_end, sp,
                registers: std::array::from_fn(|i| registers[i % 32]),
                system_call: call.map(|(number, arguments)| SystemCall { number, arguments }),
                mutex, previous, stack,
            }
        }
    }

    proptest! {
        #[test]
        fn a_capture_round_trips_and_is_read_whole_or_not_at_all(capture in captures(), cut: prop::sample::Index) {
            let payload = capture.encode();
            prop_assert_eq!(NativeStack::parse(&payload), Some(capture));
            prop_assert_eq!(NativeStack::parse(&payload[..cut.index(payload.len())]), None);
        }

        #[test]
        fn a_shared_stack_is_restored(
            outer in prop::collection::vec(any::<u8>(), 0..512), inner in prop::collection::vec(any::<u8>(), 0..64),
            earlier in prop::collection::vec(any::<u8>(), 0..64), mut capture in captures(),
        ) {
            let (whole, before) = ([inner, outer.clone()].concat(), [earlier, outer].concat());
            capture.previous = None;
            capture.stack = whole.clone();
            capture.share(1, &before);
            prop_assert_eq!(capture.whole(Some(&before)), Some(whole.clone()));
            prop_assert!(capture.previous.is_none() || capture.whole(None).is_none());
        }

        #[test]
        fn wiping_leaves_no_byte_of_the_stack(capture in captures()) {
            let mut payload = capture.encode();
            NativeStack::wipe(&mut payload);
            let wiped = NativeStack::parse(&payload).unwrap();
            prop_assert!(wiped.is_wiped() && wiped.stack.iter().all(|byte| *byte == 0));
            prop_assert_eq!((wiped.pc(), wiped.number, wiped.at), (capture.pc(), capture.number, capture.at));
            prop_assert!(wiped.registers[..32].iter().all(|register| *register == 0));
        }

        #[test]
        fn any_slot_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..native_slot::STACK + 64)) {
            let mut bytes = bytes;
            if bytes.len() >= 4 {
                bytes[..4].copy_from_slice(&native_slot::state::FULL.to_le_bytes());
            }
            let _ = NativeStack::from_slot(&bytes);
        }
    }
}
