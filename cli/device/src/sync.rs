//! The file service, version 1. A request is four letters, a length and a path; all numbers are little endian.

use std::io::{Read, Write};

use crate::error::Fault;
use crate::wire;

/// The longest piece of a file that the protocol allows, bytes.
const MAX_DATA: usize = 64 << 10;
/// The longest name or message that is accepted, bytes.
const MAX_NAME: usize = 4 << 10;
/// The most files of a directory that are accepted.
const MAX_ENTRIES: usize = 100_000;

/// The metadata of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    /// Type and permissions, as in Linux's `st_mode`; 0 if the file does not exist or access is denied.
    pub mode: u32,
    /// Its size modulo 2^32, bytes.
    pub size: u32,
    /// When it was last modified, seconds since 1970.
    pub modified: u32,
}

/// A file in a directory.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its metadata.
    pub stat: Stat,
}

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

    fn words<const N: usize>(&mut self) -> Result<[u32; N], Fault> {
        let mut words = [0; N];
        for word in &mut words {
            let mut bytes = [0; 4];
            wire::fill(&mut self.connection, &mut bytes)?;
            *word = u32::from_le_bytes(bytes);
        }
        Ok(words)
    }

    fn id(&mut self) -> Result<[u8; 4], Fault> {
        let mut id = [0; 4];
        wire::fill(&mut self.connection, &mut id)?;
        Ok(id)
    }

    fn text(&mut self, length: u32) -> Result<String, Fault> {
        let length = length as usize;
        if length > MAX_NAME {
            return Err(Fault::Malformed("a name of more than 4 KiB"));
        }
        let mut bytes = vec![0; length];
        wire::fill(&mut self.connection, &mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads the device's message after `FAIL`.
    fn refusal(&mut self) -> Fault {
        let said = self.words().and_then(|[length]| self.text(length));
        said.map_or_else(|fault| fault, Fault::Refused)
    }

    /// Returns the metadata of a file; of a symbolic link, that of the link itself.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn stat(&mut self, path: &str) -> Result<Stat, Fault> {
        self.request(b"STAT", path)?;
        match &self.id()? {
            b"STAT" => {
                let [mode, size, modified] = self.words()?;
                Ok(Stat { mode, size, modified })
            }
            b"FAIL" => Err(self.refusal()),
            _ => Err(Fault::Malformed("expected an answer to STAT")),
        }
    }

    /// Lists the files of a directory; empty if it does not exist or access is denied.
    ///
    /// # Errors
    /// If the connection breaks, or there are more than 100,000.
    pub fn list(&mut self, path: &str) -> Result<Vec<Entry>, Fault> {
        self.request(b"LIST", path)?;
        let mut entries = Vec::new();
        loop {
            let id = self.id()?;
            if &id == b"FAIL" {
                return Err(self.refusal());
            }
            let [mode, size, modified, length] = self.words()?;
            match &id {
                b"DONE" => return Ok(entries),
                b"DENT" if entries.len() < MAX_ENTRIES => {
                    let name = self.text(length)?;
                    entries.push(Entry { name, stat: Stat { mode, size, modified } });
                }
                b"DENT" => return Err(Fault::Malformed("the directory has more than 100,000 files")),
                _ => return Err(Fault::Malformed("expected an answer to LIST")),
            }
        }
    }

    /// Passes the bytes of a file to `sink`, at most 64 KiB at once.
    ///
    /// # Errors
    /// If the file does not exist, the connection breaks, or `sink` fails.
    pub fn receive(
        &mut self,
        path: &str,
        sink: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<(), Fault> {
        self.request(b"RECV", path)?;
        let mut buffer = vec![0; MAX_DATA];
        loop {
            match &self.id()? {
                b"DATA" => {
                    let [length] = self.words()?;
                    let piece = buffer
                        .get_mut(..length as usize)
                        .ok_or(Fault::Malformed("a piece of more than 64 KiB"))?;
                    wire::fill(&mut self.connection, piece)?;
                    sink(piece).map_err(Fault::Io)?;
                }
                b"DONE" => {
                    let [_] = self.words()?;
                    return Ok(());
                }
                b"FAIL" => return Err(self.refusal()),
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
        match &self.id()? {
            b"OKAY" => self.words::<1>().map(|_| ()),
            b"FAIL" => Err(self.refusal()),
            _ => Err(Fault::Malformed("expected an answer to SEND")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io;

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

    const LISTING: &[u8] =
        b"DENT\xa4\x81\0\0\x05\0\0\0\x07\0\0\0\x01\0\0\0aDONE\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    const FILE: &[u8] = b"DATA\x03\0\0\0abcDATA\x01\0\0\0dDONE\0\0\0\0";

    #[test]
    fn requests_and_answers_follow_the_protocol() {
        let mut sync = over(b"STAT\xa4\x81\0\0\x05\0\0\0\x07\0\0\0");
        assert_eq!(sync.stat("/a").unwrap(), Stat { mode: 0o100_644, size: 5, modified: 7 });
        assert_eq!(sync.connection.sent, b"STAT\x02\0\0\0/a");
        assert_eq!(over(LISTING).list("/").unwrap()[0].name, "a");
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
            over(refusal).stat("x").unwrap_err(),
            over(refusal).list("x").unwrap_err(),
            over(refusal).receive("x", &mut |_| Ok(())).unwrap_err(),
            over(refusal).send("x", 0, &mut &b""[..]).unwrap_err(),
        ];
        assert!(said.iter().all(|fault| matches!(fault, Fault::Refused(said) if said == "full")), "{said:?}");
    }

    #[test]
    fn an_answer_truncated_at_any_byte_is_reported_as_truncated() {
        for length in 0..LISTING.len() {
            assert!(matches!(over(&LISTING[..length]).list("/"), Err(Fault::Ended)), "{length}");
        }
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
        let name = b"DENT\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff";
        assert!(matches!(over(name).list("/"), Err(Fault::Malformed(_))));
    }

    proptest! {
        #[test]
        fn reading_any_bytes_ends(bytes in proptest::collection::vec(any::<u8>(), 0..300), id in 0_usize..5) {
            let bytes = [[&b"DENT"[..], b"DATA", b"STAT", b"FAIL", b"OKAY"][id], &bytes].concat();
            let _ = over(&bytes).stat("x");
            let _ = over(&bytes).list("x");
            let _ = over(&bytes).receive("x", &mut |_| Ok(()));
            let _ = over(&bytes).send("x", 0, &mut &b"y"[..]);
        }
    }
}
