//! A file that grows section by section, and its header and map.

use super::output::Output;
use super::pool::Pool;
use crate::WriteError;
use crate::sha1::sha1;

pub(super) const HEADER_SIZE: usize = 0x70;

/// Where a table is, and its number of entries.
#[derive(Clone, Copy, Debug, Default)]
struct Section {
    kind: u16,
    size: u32,
    at: u32,
}

/// The bytes of the file so far.
///
/// Offsets wrap beyond 4 GiB; such a file is refused at the end.
#[derive(Debug)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    sections: Vec<Section>,
    data: usize,
}

impl File {
    /// A file with room for the header and the tables (`tables` bytes), which [`finish`](Self::finish) fills in.
    pub(super) fn new(tables: usize) -> Self {
        let data = HEADER_SIZE + tables;
        Self { bytes: vec![0; data], sections: Vec::new(), data }
    }

    /// A section that is to be appended next.
    pub(super) fn pool(&mut self, alignment: usize) -> Pool {
        Pool::new(self.begin(alignment), alignment)
    }

    /// Appends a section, and returns its offset.
    pub(super) fn append(&mut self, kind: u16, pool: &Pool) -> u32 {
        let at = self.begin(pool.alignment);
        self.bytes.extend_from_slice(&pool.bytes);
        self.section(kind, pool.count, at);
        at
    }

    /// Aligns the end of the file, which becomes the start of a section that is written directly.
    pub(super) fn begin(&mut self, alignment: usize) -> u32 {
        self.bytes.align(alignment);
        self.bytes.len() as u32
    }

    /// Lists a section in the map. Sections are listed in the order of the file.
    pub(super) fn section(&mut self, kind: u16, size: usize, at: u32) {
        if size != 0 {
            self.sections.push(Section { kind, size: size as u32, at });
        }
    }

    /// Writes the tables, the map and the header. `tables` are their numbers in the map, numbers of entries and bytes, in the order of
    /// the file.
    pub(super) fn finish(
        mut self,
        version: u8,
        tables: &[(u16, usize, Vec<u8>)],
    ) -> Result<Vec<u8>, WriteError> {
        let mut listed = vec![Section { kind: 0, size: 1, at: 0 }];
        let mut at = HEADER_SIZE;
        for (kind, size, bytes) in tables {
            let end = at + bytes.len();
            if let Some(room) = self.bytes.get_mut(at..end) {
                room.copy_from_slice(bytes);
            }
            if *size != 0 {
                listed.push(Section { kind: *kind, size: *size as u32, at: at as u32 });
            }
            at = end;
        }
        let map_at = self.begin(4);
        self.section(0x1000, 1, map_at);
        listed.append(&mut self.sections);
        self.bytes.u32(listed.len() as u32);
        for section in &listed {
            self.bytes.u16(section.kind);
            self.bytes.u16(0);
            self.bytes.u32(section.size);
            self.bytes.u32(section.at);
        }
        let size = u32::try_from(self.bytes.len()).map_err(|_| WriteError::TooLarge)?;

        let mut header = Vec::with_capacity(HEADER_SIZE);
        header.extend_from_slice(b"dex\n0");
        header.extend_from_slice(&[b'0' + version / 10, b'0' + version % 10, 0]);
        // The sums.
        header.resize(32, 0);
        header.u32(size);
        header.u32(HEADER_SIZE as u32);
        header.u32(0x1234_5678);
        // No link section.
        header.u32(0);
        header.u32(0);
        header.u32(map_at);
        for kind in 1..=6 {
            let table = listed.iter().find(|section| section.kind == kind).copied().unwrap_or_default();
            header.u32(table.size);
            header.u32(table.at);
        }
        header.u32(size - self.data as u32);
        header.u32(self.data as u32);
        let (room, _) = self.bytes.split_at_mut(HEADER_SIZE.min(header.len()));
        room.copy_from_slice(&header);
        // The Adler-32 covers the digest, and the digest all that follows it.
        let digest = sha1(&self.bytes[32..]);
        self.bytes[12..32].copy_from_slice(&digest);
        let checksum = libdeflater::adler32(&self.bytes[12..]);
        self.bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
        Ok(self.bytes)
    }
}
