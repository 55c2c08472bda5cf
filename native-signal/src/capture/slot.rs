//! A slot in shared memory.

use std::ptr::NonNull;

/// A slot of the recording's region for native stacks; see [`trace_format::native_slot`].
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    memory: NonNull<u8>,
}

// SAFETY: all access to the memory is by atomic operations, or by the one who has the slot's state `asked` or `filling`.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    /// The slot in this memory.
    ///
    /// # Safety
    ///
    /// [`trace_format::native_slot::LEN`] bytes of mapped, writable memory, aligned to 8 bytes, that stay mapped for the process's life and that only
    /// slots access while their state is not full.
    #[must_use]
    pub unsafe fn new(memory: NonNull<u8>) -> Self {
        Slot { memory }
    }

    /// Its memory.
    #[must_use]
    pub fn memory(&self) -> NonNull<u8> {
        self.memory
    }
}
