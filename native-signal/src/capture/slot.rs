//! A slot in shared memory.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use trace_format::native_slot::{LEN, STACK, at, state};
use trace_format::sections::native_stack::NativeStack;

/// A slot of the recording's region for native stacks; see [`trace_format::native_slot`].
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    memory: NonNull<u8>,
}

// SAFETY: the state is atomic; the rest is accessed by the one thread that moved the state to `asked` or `filling`, or that found it full.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    /// The slot in this memory.
    ///
    /// # Safety
    ///
    /// [`LEN`] bytes of mapped, writable memory, aligned to 8 bytes, that stay mapped for the process's life and that only slots access, apart from
    /// readers of a full one.
    #[must_use]
    pub unsafe fn new(memory: NonNull<u8>) -> Self {
        Slot { memory }
    }

    /// Its memory.
    #[must_use]
    pub fn memory(&self) -> NonNull<u8> {
        self.memory
    }

    /// Whether it may be asked for.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.state().load(Ordering::Acquire) == state::FREE
    }

    /// Whether it holds a capture.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.state().load(Ordering::Acquire) == state::FULL
    }

    /// A copy of the capture in it; `None` if it is not full. Nothing may free it meanwhile.
    #[must_use]
    pub fn stack(&self) -> Option<NativeStack> {
        if !self.is_full() {
            return None;
        }
        // SAFETY: `LEN` bytes by the contract of `new`; a full slot is not written to.
        NativeStack::from_slot(unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), LEN) })
    }

    /// Makes a full slot free again; nothing happens to another.
    pub fn free(&self) {
        self.advance(state::FULL, state::FREE);
    }

    pub(super) fn state(&self) -> &AtomicU32 {
        // SAFETY: mapped and aligned by the contract of `new`; the state is only accessed as an atomic.
        unsafe { AtomicU32::from_ptr(self.at(at::STATE).cast()) }
    }

    /// Moves the state on; false if it was another one.
    pub(super) fn advance(&self, from: u32, to: u32) -> bool {
        self.state().compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Stores a plain number at an offset of [`at`], by the one who has the slot.
    #[inline(always)]
    pub(super) fn store<T: Number>(&self, offset: usize, number: T) {
        // SAFETY: the offsets are those of the header, aligned to their numbers' size; the memory is as `new` requires.
        unsafe { self.at(offset).cast::<T>().write_volatile(number) }
    }

    pub(super) fn load<T: Number>(&self, offset: usize) -> T {
        // SAFETY: as in `store`.
        unsafe { self.at(offset).cast::<T>().read_volatile() }
    }

    /// Where the stack bytes go.
    #[inline(always)]
    pub(super) fn stack_bytes(&self) -> *mut u8 {
        self.at(STACK)
    }

    #[inline(always)]
    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        self.memory.as_ptr().wrapping_add(offset)
    }
}

/// Integers in a slot's header. All of Android is little-endian, as the form is.
pub(super) trait Number: Copy {}
impl Number for u8 {}
impl Number for u16 {}
impl Number for u32 {}
impl Number for u64 {}
