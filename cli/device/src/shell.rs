//! Version 2 of the shell service. A packet is a kind (1 byte), a length (4 bytes, little endian), and the payload.

use std::io::Read;

use crate::error::Fault;
use crate::wire;

/// The longest output of a command that is kept as text, bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// The most bytes of a packet that are returned at once.
const MAX_PIECE: usize = 64 << 10;

/// A piece of a command's output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShellPacket<'a> {
    /// Part of the standard output.
    Stdout(&'a [u8]),
    /// Part of the standard error.
    Stderr(&'a [u8]),
    /// The exit code, which is the last packet.
    Exit(u8),
}

/// Reads packets. It holds at most 64 KiB of a packet, even if the packet declares a greater length.
#[derive(Debug)]
pub struct ShellReader<R> {
    from: R,
    kind: u8,
    /// Bytes of the current packet that have not been read.
    left: usize,
    buffer: Vec<u8>,
}

impl<R: Read> ShellReader<R> {
    /// Creates a reader of the stream `from`.
    pub fn new(from: R) -> Self {
        Self { from, kind: 0, left: 0, buffer: vec![0; MAX_PIECE] }
    }

    /// Returns the stream that it reads from.
    pub(crate) fn get_mut(&mut self) -> &mut R {
        &mut self.from
    }

    /// Reads the next piece.
    ///
    /// # Errors
    /// [`Fault::Ended`] if the stream ends before the exit code.
    pub fn read(&mut self) -> Result<ShellPacket<'_>, Fault> {
        loop {
            while self.left == 0 {
                let mut head = [0; 5];
                wire::fill(&mut self.from, &mut head)?;
                self.kind = head[0];
                self.left = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
                if self.kind == 3 && self.left != 1 {
                    return Err(Fault::Malformed("an exit code that is not one byte"));
                }
                if !matches!(self.kind, 1..=3) && self.left > MAX_PIECE {
                    return Err(Fault::Malformed("an unknown packet of the shell service"));
                }
            }
            let n = self.left.min(MAX_PIECE);
            wire::fill(&mut self.from, &mut self.buffer[..n])?;
            self.left -= n;
            match self.kind {
                1 => return Ok(ShellPacket::Stdout(&self.buffer[..n])),
                2 => return Ok(ShellPacket::Stderr(&self.buffer[..n])),
                3 => return Ok(ShellPacket::Exit(self.buffer[0])),
                // Kinds of a later version are skipped.
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(kind: u8, bytes: &[u8]) -> Vec<u8> {
        [&[kind][..], &(bytes.len() as u32).to_le_bytes(), bytes].concat()
    }

    fn all(bytes: &[u8]) -> Result<(Vec<u8>, Vec<u8>, u8), Fault> {
        let mut reader = ShellReader::new(bytes);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        loop {
            match reader.read()? {
                ShellPacket::Stdout(bytes) => out.extend_from_slice(bytes),
                ShellPacket::Stderr(bytes) => err.extend_from_slice(bytes),
                ShellPacket::Exit(code) => return Ok((out, err, code)),
            }
        }
    }

    #[test]
    fn both_streams_and_the_exit_code_are_read() {
        let bytes = [
            packet(1, b"out"),
            packet(2, b""),
            packet(2, b"err"),
            packet(9, b"?"),
            packet(1, b"put"),
            packet(3, &[7]),
        ];
        assert_eq!(all(&bytes.concat()).unwrap(), (b"output".to_vec(), b"err".to_vec(), 7));
    }

    #[test]
    fn a_stream_truncated_at_any_byte_is_reported_as_truncated() {
        let whole = [packet(1, b"out"), packet(2, b"err"), packet(3, &[0])].concat();
        for length in 0..whole.len() {
            assert!(matches!(all(&whole[..length]), Err(Fault::Ended)), "{length}");
        }
    }

    #[test]
    fn a_packet_that_declares_four_gigabytes_takes_no_memory() {
        let mut bytes = vec![1, 255, 255, 255, 255];
        bytes.extend_from_slice(&[b'x'; 100]);
        assert!(matches!(all(&bytes), Err(Fault::Ended)));
        assert!(matches!(all(&[9, 255, 255, 255, 255]), Err(Fault::Malformed(_))));
        assert!(matches!(all(&[3, 2, 0, 0, 0, 0, 0]), Err(Fault::Malformed(_))));
    }

    proptest! {
        #[test]
        fn reading_any_bytes_ends(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = all(&bytes);
        }

        #[test]
        fn the_streams_do_not_depend_on_the_packet_boundaries(
            pieces in proptest::collection::vec((1_u8..3, proptest::collection::vec(any::<u8>(), 0..100)), 0..20),
            code: u8,
        ) {
            let mut bytes: Vec<u8> = pieces.iter().flat_map(|(kind, bytes)| packet(*kind, bytes)).collect();
            bytes.extend(packet(3, &[code]));
            let of = |wanted: u8| -> Vec<u8> {
                pieces.iter().filter(|(kind, _)| *kind == wanted).flat_map(|(_, bytes)| bytes.clone()).collect()
            };
            prop_assert_eq!(all(&bytes).unwrap(), (of(1), of(2), code));
        }
    }
}
