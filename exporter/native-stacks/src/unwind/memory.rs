//! The memory that a capture has: its stack.

/// Stack bytes from an address upwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory<'s> {
    pub(super) start: u64,
    pub(super) bytes: &'s [u8],
    /// Bytes of a word.
    pub(super) word: u64,
}

impl Memory<'_> {
    /// The address behind the copied bytes.
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }

    /// Up to 8 bytes as a number; `None` outside of the copy.
    pub(super) fn number(&self, address: u64, length: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(at..at.checked_add(usize::try_from(length).ok()?)?)?;
        let mut number = [0; 8];
        number.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }

    pub(super) fn word(&self, address: u64) -> Option<u64> {
        self.number(address, self.word)
    }
}
