//! Copies packets while they are read, and removes the last one if it turns out to be cut or unwanted: neither its length nor what
//! it unpacks to costs memory.

use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};

/// Size of the buffer at which it is written, bytes.
pub(super) const BUFFER: usize = 1 << 20;

/// An output whose last bytes can be removed again.
pub trait RemoveEnd: Write {
    /// Removes the last `count` bytes.
    ///
    /// # Errors
    /// If it is not a regular file, or the system fails.
    fn remove_end(&mut self, count: u64) -> io::Result<()>;
}

impl RemoveEnd for &File {
    fn remove_end(&mut self, count: u64) -> io::Result<()> {
        let end = self.stream_position()?.saturating_sub(count);
        self.set_len(end)?;
        self.seek(SeekFrom::Start(end)).map(|_| ())
    }
}

impl RemoveEnd for &mut Vec<u8> {
    fn remove_end(&mut self, count: u64) -> io::Result<()> {
        self.truncate(self.len().saturating_sub(count as usize));
        Ok(())
    }
}

/// A buffered copy of the packets, of which the current one can be removed.
#[derive(Debug)]
pub(super) struct Copied<W> {
    out: W,
    /// Bytes that were not written yet.
    held: Vec<u8>,
    /// Number of held bytes that belong to finished packets.
    kept: usize,
    /// Bytes of the current packet that were written.
    written: u64,
    /// The error of the output.
    pub(super) failed: Option<io::Error>,
}

impl<W: RemoveEnd> Copied<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, held: Vec::new(), kept: 0, written: 0, failed: None }
    }

    /// Writes the buffered bytes.
    pub(super) fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.held)?;
        self.written += (self.held.len() - self.kept) as u64;
        self.held.clear();
        self.kept = 0;
        Ok(())
    }

    /// Keeps the current packet.
    pub(super) fn keep(&mut self) {
        (self.kept, self.written) = (self.held.len(), 0);
    }

    /// Removes the current packet.
    pub(super) fn discard(&mut self) -> io::Result<()> {
        self.held.truncate(self.kept);
        match std::mem::take(&mut self.written) {
            0 => Ok(()),
            written => self.out.remove_end(written),
        }
    }
}

/// A reader that copies what is read.
pub(super) struct Tee<'t, W> {
    from: &'t mut dyn BufRead,
    to: &'t mut Copied<W>,
    /// Bytes read so far.
    pub(super) taken: u64,
    /// The error of the input.
    pub(super) failed: Option<io::Error>,
}

impl<'t, W> Tee<'t, W> {
    pub(super) fn new(from: &'t mut dyn BufRead, to: &'t mut Copied<W>) -> Self {
        Self { from, to, taken: 0, failed: None }
    }
}

impl<W: RemoveEnd> Read for Tee<'_, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl<W: RemoveEnd> BufRead for Tee<'_, W> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.to.held.len() >= BUFFER
            && let Err(error) = self.to.write()
        {
            let kind = error.kind();
            self.to.failed = Some(error);
            return Err(kind.into());
        }
        while let Err(error) = self.from.fill_buf() {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failed = Some(error);
                return Err(kind.into());
            }
        }
        self.from.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        // The reader's buffer has at least these bytes already.
        if let Ok(bytes) = self.from.fill_buf() {
            self.to.held.extend_from_slice(&bytes[..n]);
        }
        self.from.consume(n);
        self.taken += n as u64;
    }
}
