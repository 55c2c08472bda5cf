//! Version 2 of the shell service: packets of one byte of kind, four of length (little endian), and the bytes.

use std::io::Read;

use crate::error::Fault;
use crate::wire;

/// The longest answer that is kept as text, bytes.
pub const LONGEST_TEXT: usize = 1 << 20;

/// The longest piece that is handed on at once.
const PIECE: usize = 64 << 10;

/// A piece of what a command said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShellPacket<'a> {
    /// Of its standard output.
    Stdout(&'a [u8]),
    /// Of its standard error.
    Stderr(&'a [u8]),
    /// Its exit code; nothing follows.
    Exit(u8),
}

/// Reads packets. However long one says it is, at most 64 KiB are kept.
#[derive(Debug)]
pub struct ShellReader<R> {
    from: R,
    kind: u8,
    /// Bytes of the packet that have not been read.
    left: usize,
    buffer: Vec<u8>,
}

impl<R: Read> ShellReader<R> {
    /// Reads from `from`.
    pub fn new(from: R) -> Self {
        Self { from, kind: 0, left: 0, buffer: vec![0; PIECE] }
    }

    /// Where it reads from.
    pub(crate) fn get_mut(&mut self) -> &mut R {
        &mut self.from
    }

    /// The next piece.
    ///
    /// # Errors
    /// [`Fault::Ended`] if there is none: a command's end is an exit code.
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
                if !matches!(self.kind, 1..=3) && self.left > PIECE {
                    return Err(Fault::Malformed("an unknown packet of the shell's"));
                }
            }
            let n = self.left.min(PIECE);
            wire::fill(&mut self.from, &mut self.buffer[..n])?;
            self.left -= n;
            match self.kind {
                1 => return Ok(ShellPacket::Stdout(&self.buffer[..n])),
                2 => return Ok(ShellPacket::Stderr(&self.buffer[..n])),
                3 => return Ok(ShellPacket::Exit(self.buffer[0])),
                // Kinds of a later version are stepped over.
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
    fn both_streams_and_the_exit_code() {
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
    fn cut_at_every_byte_is_told_as_cut() {
        let whole = [packet(1, b"out"), packet(2, b"err"), packet(3, &[0])].concat();
        for length in 0..whole.len() {
            assert!(matches!(all(&whole[..length]), Err(Fault::Ended)), "{length}");
        }
    }

    #[test]
    fn a_packet_that_says_four_gigabytes_costs_no_memory() {
        let mut bytes = vec![1, 255, 255, 255, 255];
        bytes.extend_from_slice(&[b'x'; 100]);
        assert!(matches!(all(&bytes), Err(Fault::Ended)));
        assert!(matches!(all(&[9, 255, 255, 255, 255]), Err(Fault::Malformed(_))));
        assert!(matches!(all(&[3, 2, 0, 0, 0, 0, 0]), Err(Fault::Malformed(_))));
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = all(&bytes);
        }

        #[test]
        fn however_it_is_cut_into_packets_the_streams_are_the_same(
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
