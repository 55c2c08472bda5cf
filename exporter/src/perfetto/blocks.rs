//! Collects packets into blocks, and writes the blocks plain or compressed.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress, Status};

use super::packets::packet;
use crate::protobuf::{LENGTH, write::put_varint};

/// Size from which a block is closed, in bytes. The engine requires less than 512 kB.
const MAX_BLOCK: usize = 400 << 10;

/// Size of the buffer for a short packet.
pub(crate) const SHORT_PACKET: usize = 48;

/// Writes complete packets.
pub(crate) struct Blocks<W> {
    out: W,
    block: Vec<u8>,
    zlib: Option<Compress>,
    squeezed: Vec<u8>,
    written: u64,
}

impl<W: Write> Blocks<W> {
    /// Level 0 writes packets uncompressed.
    pub(crate) fn new(out: W, level: u32) -> Self {
        Self {
            out,
            block: Vec::with_capacity(MAX_BLOCK + (64 << 10)),
            zlib: (level > 0).then(|| Compress::new(Compression::new(level.min(9)), true)),
            squeezed: Vec::new(),
            written: 0,
        }
    }

    /// Adds a packet.
    #[inline]
    pub(crate) fn packet(&mut self, packet: &[u8]) -> io::Result<()> {
        let mut head = [0; 11];
        head[0] = 0x0A;
        let n = 1 + put_varint(&mut head[1..], packet.len() as u64);
        self.block.extend_from_slice(&head[..n]);
        self.block.extend_from_slice(packet);
        self.flush_if_full()
    }

    /// Adds a short packet including tag and length: the first `length` bytes of `packet`.
    #[inline]
    pub(crate) fn short(&mut self, packet: &[u8; SHORT_PACKET], length: usize) -> io::Result<()> {
        // Copying a fixed length and truncating takes a few moves; copying a variable length is a call.
        let end = self.block.len() + length;
        self.block.extend_from_slice(packet);
        self.block.truncate(end);
        self.flush_if_full()
    }

    #[inline]
    fn flush_if_full(&mut self) -> io::Result<()> {
        if self.block.len() < MAX_BLOCK { Ok(()) } else { self.flush_block() }
    }

    /// Writes what has been collected uncompressed, for packets that readers need first.
    pub(crate) fn flush_plain(&mut self) -> io::Result<()> {
        self.out.write_all(&self.block)?;
        self.written += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }

    fn flush_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let Some(zlib) = &mut self.zlib else { return self.flush_plain() };
        zlib.reset();
        self.squeezed.clear();
        // zlib's own bound for incompressible data, rounded up.
        self.squeezed.reserve(self.block.len() + self.block.len() / 1000 + 1024);
        let status = zlib.compress_vec(&self.block, &mut self.squeezed, FlushCompress::Finish);
        if !matches!(status, Ok(Status::StreamEnd)) {
            return Err(io::Error::other("zlib did not take a block"));
        }
        let mut inner = [0; 12];
        let mut n = put_varint(&mut inner, u64::from(packet::COMPRESSED_PACKETS << 3 | LENGTH));
        n += put_varint(&mut inner[n..], self.squeezed.len() as u64);
        let mut outer = [0; 11];
        outer[0] = 0x0A;
        let m = 1 + put_varint(&mut outer[1..], (n + self.squeezed.len()) as u64);
        for part in [&outer[..m], &inner[..n], &self.squeezed] {
            self.out.write_all(part)?;
            self.written += part.len() as u64;
        }
        self.block.clear();
        Ok(())
    }

    /// Writes the rest; returns the total number of bytes.
    pub(crate) fn finish(&mut self) -> io::Result<u64> {
        self.flush_block()?;
        self.out.flush()?;
        Ok(self.written)
    }
}
