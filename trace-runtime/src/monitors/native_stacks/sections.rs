//! The worker moves captures from their slots to sections, each as the difference from the one before of the same thread.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use native_signal::capture::Slot;
use trace_format::native_slot::{self, at, state};
use trace_format::section::SectionKind;
use trace_format::sections::native_stack::NativeStack;

use super::modules;
use crate::files::worker;
use crate::recorder::notice;
use crate::unpoisoned::lock;

/// Captures take at most this many bytes of a recording.
const MAX_CAPTURE_BYTES: usize = 16 << 20;
/// Threads whose last capture is kept in memory, to store the difference only.
const MAX_THREADS: usize = native_slot::SLOTS;

static MOVED: Mutex<Moved> = Mutex::new(Moved { last: Vec::new(), bytes: 0, full: false });

struct Moved {
    /// The last capture of a few threads.
    last: Vec<Last>,
    bytes: usize,
    full: bool,
}

struct Last {
    tid: u32,
    number: u64,
    /// The address behind the copied stack.
    end: u64,
    stack: Vec<u8>,
}

/// The state of a slot.
fn state_of(slot: &Slot) -> &AtomicU32 {
    // SAFETY: a slot is mapped for the process's life and aligned to 8 bytes; its state is accessed only through atomics.
    unsafe { AtomicU32::from_ptr(slot.memory().add(at::STATE).cast().as_ptr()) }
}

/// Has the worker move a full slot, which is free afterwards. Until its section is written it stays full: a kill in between leaves the
/// capture in the slot.
pub(super) fn move_from(slot: Slot) {
    worker::then(Box::new(move || {
        move_now(&slot);
        // Behind the section.
        worker::then(Box::new(move || state_of(&slot).store(state::FREE, Ordering::Release)));
    }));
}

fn move_now(slot: &Slot) {
    let Some(capture) = slot.stack() else { return };
    modules::record(words(&capture));
    lock(&MOVED).append(capture);
}

/// The words that may be addresses of code: the registers and the stack.
fn words(capture: &NativeStack) -> impl Iterator<Item = u64> {
    let words = capture.stack.chunks_exact(size_of::<usize>());
    let words = words.map(|word| usize::from_ne_bytes(word.try_into().expect("a word")) as u64);
    capture.registers[..capture.machine.registers()].iter().copied().chain(words)
}

impl Moved {
    fn append(&mut self, mut capture: NativeStack) {
        let Some(payload) = self.next(&mut capture) else { return };
        if self.bytes + payload.len() > MAX_CAPTURE_BYTES {
            if !std::mem::replace(&mut self.full, true) {
                notice("no more native stacks are recorded: the recording has the most it may have");
            }
            return;
        }
        self.bytes += payload.len();
        worker::append(SectionKind::NativeStack, payload);
    }

    /// The payload of a capture, as the difference from the last one of its thread; `None` once there are too many.
    fn next(&mut self, capture: &mut NativeStack) -> Option<Vec<u8>> {
        if self.full {
            return None;
        }
        let end = capture.sp.wrapping_add(capture.stack.len() as u64);
        let stack = capture.stack.clone();
        let before = self.last.iter().position(|last| last.tid == capture.tid);
        if let Some(last) = before.map(|before| self.last.remove(before)).filter(|last| last.end == end) {
            capture.share(last.number, &last.stack);
        } else if self.last.len() >= MAX_THREADS {
            self.last.remove(0);
        }
        self.last.push(Last { tid: capture.tid, number: capture.number, end, stack });
        Some(capture.encode())
    }
}

#[cfg(test)]
mod tests {
    use trace_format::native_slot::{Machine, REGISTERS};

    use super::*;

    fn capture(number: u64, tid: u32, sp: u64, stack: Vec<u8>) -> NativeStack {
        NativeStack {
            number,
            tid,
            asked: 1,
            at: 2,
            machine: Machine::X86_64,
            reason: None,
            flags: 0,
            stack_end: 0,
            sp,
            registers: [0; REGISTERS],
            system_call: None,
            mutex: (0, 0),
            previous: None,
            stack,
        }
    }

    #[test]
    fn a_capture_is_the_difference_from_the_one_before_of_its_thread() {
        let mut moved = Moved { last: Vec::new(), bytes: 0, full: false };
        let outer: Vec<u8> = (0..=255).collect();
        let mut write = |mut capture| NativeStack::parse(&moved.next(&mut capture).unwrap()).unwrap();
        let first = write(capture(1, 7, 0x1000, outer.clone()));
        assert_eq!((first.previous, &first.stack), (None, &outer));
        // Eight bytes deeper, with another thread's capture between.
        write(capture(2, 8, 0x1000, vec![3; 256]));
        let inner = [&[9; 8], &outer[..]].concat();
        let second = write(capture(3, 7, 0x1000 - 8, inner.clone()));
        assert_eq!((second.previous, second.stack.len()), (Some((1, 256)), 8));
        assert_eq!(second.whole(Some(&outer)), Some(inner));
        // Of a stack that ends elsewhere nothing is shared.
        let moved_on = write(capture(4, 7, 0x9000, outer.clone()));
        assert_eq!((moved_on.previous, moved_on.stack), (None, outer));
    }

    #[test]
    fn few_threads_are_kept() {
        let mut moved = Moved { last: Vec::new(), bytes: 0, full: false };
        for tid in 1..100 {
            moved.next(&mut capture(u64::from(tid), tid, 0x1000, vec![1; 64])).unwrap();
        }
        assert_eq!(moved.last.len(), MAX_THREADS);
        moved.full = true;
        assert_eq!(moved.next(&mut capture(100, 1, 0x1000, vec![1; 64])), None);
    }
}
