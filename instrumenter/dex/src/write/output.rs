//! Appends numbers to bytes.

pub(super) trait Output {
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    /// Appends zeros up to a multiple of `alignment`.
    fn align(&mut self, alignment: usize);
}

impl Output for Vec<u8> {
    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn align(&mut self, alignment: usize) {
        self.resize(self.len().next_multiple_of(alignment), 0);
    }
}
