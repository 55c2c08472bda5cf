//! The file service, version 1. A request is four letters, a length and a path; all numbers are little endian.

use std::io::{self, Read, Write};

use crate::error::Fault;
use crate::wire;

/// The longest piece of a file that the protocol allows, bytes.
const MAX_DATA: usize = 64 << 10;
/// The longest message that is accepted, bytes.
const MAX_MESSAGE: usize = 4 << 10;

/// Takes bytes as they arrive; its error ends the transfer.
pub type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> io::Result<()>;

/// A session of the file service.
#[derive(Debug)]
pub struct Sync<C> {
    connection: C,
}

impl<C: Read + Write> Sync<C> {
    /// Starts a session over a stream that was opened for `sync:`.
    pub fn new(connection: C) -> Self {
        Self { connection }
    }

    fn request(&mut self, id: &[u8; 4], path: &str) -> Result<(), Fault> {
        let mut bytes = id.to_vec();
        bytes.extend_from_slice(&(path.len() as u32).to_le_bytes());
        bytes.extend_from_slice(path.as_bytes());
        self.connection.write_all(&bytes).map_err(wire::fault)
    }

    /// Reads the start of an answer, its letters and a number. `FAIL` is an error, with the device's message.
    fn answer(&mut self) -> Result<([u8; 4], usize), Fault> {
        let (mut id, mut number) = ([0; 4], [0; 4]);
        wire::fill(&mut self.connection, &mut id)?;
        wire::fill(&mut self.connection, &mut number)?;
        let number = u32::from_le_bytes(number) as usize;
        match &id {
            b"FAIL" if number > MAX_MESSAGE => Err(Fault::Malformed("a name of more than 4 KiB")),
            b"FAIL" => {
                let mut message = vec![0; number];
                wire::fill(&mut self.connection, &mut message)?;
                Err(Fault::Refused(String::from_utf8_lossy(&message).into_owned()))
            }
            _ => Ok((id, number)),
        }
    }

    /// Passes the bytes of a file to `sink`, at most 64 KiB at once.
    ///
    /// # Errors
    /// If the file does not exist, the connection breaks, or `sink` fails.
    pub fn receive(&mut self, path: &str, sink: Sink<'_>) -> Result<(), Fault> {
        self.request(b"RECV", path)?;
        let mut buffer = vec![0; MAX_DATA];
        loop {
            let (id, length) = self.answer()?;
            match &id {
                b"DATA" => {
                    let piece =
                        buffer.get_mut(..length).ok_or(Fault::Malformed("a piece of more than 64 KiB"))?;
                    wire::fill(&mut self.connection, piece)?;
                    sink(piece).map_err(Fault::Io)?;
                }
                b"DONE" => return Ok(()),
                _ => return Err(Fault::Malformed("expected an answer to RECV")),
            }
        }
    }

    /// Writes a file of these permission bits.
    ///
    /// # Errors
    /// If the device does not take it, the connection breaks, or `from` fails.
    pub fn send(&mut self, path: &str, mode: u32, from: &mut impl Read) -> Result<(), Fault> {
        self.request(b"SEND", &format!("{path},{mode}"))?;
        let mut buffer = vec![0; MAX_DATA];
        loop {
            let n = from.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            self.connection.write_all(b"DATA").map_err(wire::fault)?;
            self.connection.write_all(&(n as u32).to_le_bytes()).map_err(wire::fault)?;
            self.connection.write_all(&buffer[..n]).map_err(wire::fault)?;
        }
        // The modification time, which no caller needs.
        self.connection.write_all(b"DONE\0\0\0\0").map_err(wire::fault)?;
        match &self.answer()?.0 {
            b"OKAY" => Ok(()),
            _ => Err(Fault::Malformed("expected an answer to SEND")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A fake connection that answers `answer` and keeps what is sent to it.
    struct FakeConnection<'a> {
        answer: &'a [u8],
        sent: Vec<u8>,
    }

    impl Read for FakeConnection<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.answer.read(buffer)
        }
    }

    impl Write for FakeConnection<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.sent.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn over(answer: &[u8]) -> Sync<FakeConnection<'_>> {
        Sync::new(FakeConnection { answer, sent: Vec::new() })
    }

    const FILE: &[u8] = b"DATA\x03\0\0\0abcDATA\x01\0\0\0dDONE\0\0\0\0";

    #[test]
    fn requests_and_answers_follow_the_protocol() {
        let mut got = Vec::new();
        over(FILE)
            .receive("/f", &mut |bytes| {
                got.extend_from_slice(bytes);
                Ok(())
            })
            .unwrap();
        assert_eq!(got, b"abcd");
        let mut sync = over(b"OKAY\0\0\0\0");
        sync.send("/f", 0o644, &mut &b"abcd"[..]).unwrap();
        assert_eq!(sync.connection.sent, b"SEND\x06\0\0\0/f,420DATA\x04\0\0\0abcdDONE\0\0\0\0");
    }

    #[test]
    fn refusals_contain_the_message_of_the_device() {
        let refusal = b"FAIL\x04\0\0\0full";
        let said = [
            over(refusal).receive("x", &mut |_| Ok(())).unwrap_err(),
            over(refusal).send("x", 0, &mut &b""[..]).unwrap_err(),
        ];
        assert!(said.iter().all(|fault| matches!(fault, Fault::Refused(said) if said == "full")), "{said:?}");
    }

    #[test]
    fn an_answer_truncated_at_any_byte_is_reported_as_truncated() {
        for length in 0..FILE.len() {
            assert!(
                matches!(over(&FILE[..length]).receive("/", &mut |_| Ok(())), Err(Fault::Ended)),
                "{length}"
            );
        }
    }

    #[test]
    fn lengths_beyond_the_limits_are_refused() {
        let huge = b"DATA\x01\0\x01\0";
        assert!(matches!(over(huge).receive("/", &mut |_| Ok(())), Err(Fault::Malformed(_))));
        let message = b"FAIL\xff\xff\xff\xff";
        assert!(matches!(over(message).receive("/", &mut |_| Ok(())), Err(Fault::Malformed(_))));
    }

    proptest! {
        #[test]
        fn reading_any_bytes_ends(bytes in proptest::collection::vec(any::<u8>(), 0..300), id in 0_usize..4) {
            let bytes = [[&b"DATA"[..], b"DONE", b"FAIL", b"OKAY"][id], &bytes].concat();
            let _ = over(&bytes).receive("x", &mut |_| Ok(()));
            let _ = over(&bytes).send("x", 0, &mut &b"y"[..]);
        }
    }
}
