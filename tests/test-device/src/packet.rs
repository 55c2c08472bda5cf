//! The packets between a device and the adb server.
//!
//! ```text
//! 0  4  command      12  4  length of the payload
//! 4  4  arg0         16  4  sum of the payload's bytes
//! 8  4  arg1         20  4  command, every bit flipped
//! ```

use std::io::{self, Read};

pub(crate) const CNXN: u32 = u32::from_le_bytes(*b"CNXN");
pub(crate) const AUTH: u32 = u32::from_le_bytes(*b"AUTH");
pub(crate) const OPEN: u32 = u32::from_le_bytes(*b"OPEN");
pub(crate) const OKAY: u32 = u32::from_le_bytes(*b"OKAY");
pub(crate) const WRTE: u32 = u32::from_le_bytes(*b"WRTE");
pub(crate) const CLSE: u32 = u32::from_le_bytes(*b"CLSE");

/// The protocol version. Since this version the checksum is ignored.
pub(crate) const VERSION: u32 = 0x0100_0001;
/// The longest payload that is accepted, bytes.
pub(crate) const MAX_PAYLOAD: u32 = 256 << 10;

/// One packet, as either side sends it.
#[derive(Debug)]
pub struct Packet {
    pub(crate) command: u32,
    pub(crate) arg0: u32,
    pub(crate) arg1: u32,
    pub(crate) payload: Vec<u8>,
}

impl Packet {
    /// Reads one packet. Memory is taken for at most 256 KiB of payload.
    ///
    /// # Errors
    /// If `from` ends or fails, the head contradicts itself, or the payload is longer.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut head = [0; 24];
        from.read_exact(&mut head)?;
        let word =
            |n: usize| u32::from_le_bytes([head[n * 4], head[n * 4 + 1], head[n * 4 + 2], head[n * 4 + 3]]);
        let (command, arg0, arg1, length) = (word(0), word(1), word(2), word(3));
        if command != !word(5) || length > MAX_PAYLOAD {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not an adb packet"));
        }
        let mut payload = vec![0; length as usize];
        from.read_exact(&mut payload)?;
        Ok(Self { command, arg0, arg1, payload })
    }

    /// What it carries.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    pub(crate) fn bytes(command: u32, arg0: u32, arg1: u32, payload: &[u8]) -> Vec<u8> {
        let sum = payload.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
        let mut bytes = Vec::with_capacity(24 + payload.len());
        for word in [command, arg0, arg1, payload.len() as u32, sum, !command] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(payload);
        bytes
    }
}
