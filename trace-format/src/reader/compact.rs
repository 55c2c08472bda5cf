//! Copies a recording without the space that was never used.
//!
//! A recorder allocates the whole file before the first event, so that a full disk shows at the start. What is kept of it afterwards
//! needs the blocks that hold words, the used part of both tables, and the sections.

use std::fmt;
use std::io::{self, Write};

use super::bytes::{read_array, read_some};
use super::faults::Faults;
use super::header::Header;
use crate::error::ReadError;
use crate::layout::{
    self, BLOCK_LEN, ClockMode, Region, RegionKind, block, header as at, strings, thread, u32_at,
};
use crate::native_slot;
use crate::source::Source;

/// Why [`compact`] failed.
#[derive(Debug)]
pub enum CompactError {
    /// The recording cannot be read.
    Read(ReadError),
    /// The copy cannot be written.
    Write(io::Error),
}

impl fmt::Display for CompactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => write!(f, "the copy cannot be written: {error}"),
        }
    }
}

impl std::error::Error for CompactError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Write(error) => Some(error),
        }
    }
}

impl From<ReadError> for CompactError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// The copied part of a region: the front of a table, or blocks of a ring.
struct Part {
    kind: RegionKind,
    alignment: u64,
    /// By offset and length.
    pieces: Vec<(u64, u64)>,
}

/// Copies a recording to `out` without its unused space: a reader finds the same in the copy. Returns the copy's length in bytes.
///
/// The recording must not be written to meanwhile. One that was cut inside its fixed part is copied as it is, so that a reader still sees
/// that something is missing.
///
/// # Errors
/// If the header is not that of a recording which this version reads, the device fails, or `out` cannot be written to.
pub fn compact(source: &impl Source, out: &mut impl Write) -> Result<u64, CompactError> {
    let mut faults = Faults::default();
    let (header, regions) = Header::read(source, &mut faults)?;
    let Some(mut bytes) = read_array::<{ layout::HEADER_LEN }>(source, 0)? else {
        return Err(ReadError::TooShort { length: source.len() }.into());
    };
    let mut writer = Writer { source, out, written: 0 };
    if !faults.kept.is_empty() {
        writer.copy(0, source.len())?;
        return Ok(writer.written);
    }
    let mut parts = regions.iter().map(|region| part(source, region)).collect::<Result<Vec<_>, _>>()?;
    // The tables first: with few threads they lie in what a block's multiple leaves free behind the header.
    parts.sort_by_key(|part| part.alignment);

    let mut end = layout::HEADER_LEN as u64;
    let mut places = Vec::with_capacity(parts.len());
    for (i, part) in parts.iter().enumerate() {
        let length: u64 = part.pieces.iter().map(|(_, length)| length).sum();
        let offset = end.next_multiple_of(part.alignment);
        let entry = at::REGION_TABLE + i * at::REGION_ENTRY;
        bytes[entry..entry + at::REGION_ENTRY].fill(0);
        bytes[entry..entry + 4].copy_from_slice(&(part.kind as u32).to_le_bytes());
        bytes[entry + 8..entry + 16].copy_from_slice(&offset.to_le_bytes());
        bytes[entry + 16..entry + 24].copy_from_slice(&length.to_le_bytes());
        places.push(offset);
        end = offset + length;
    }
    let fixed = end.next_multiple_of(8);
    bytes[at::REGIONS..at::REGIONS + 4].copy_from_slice(&(parts.len() as u32).to_le_bytes());
    bytes[at::SECTIONS_AT..at::SECTIONS_AT + 8].copy_from_slice(&fixed.to_le_bytes());

    writer.put(&bytes)?;
    for (part, offset) in parts.iter().zip(places) {
        writer.pad_to(offset)?;
        part.pieces.iter().try_for_each(|(offset, length)| writer.copy(*offset, *length))?;
    }
    writer.pad_to(fixed)?;
    writer.copy(header.sections_at, source.len().saturating_sub(header.sections_at))?;
    Ok(writer.written)
}

fn part(source: &impl Source, region: &Region) -> Result<Part, ReadError> {
    let Region { kind, offset, length } = *region;
    let front = match kind {
        RegionKind::MainRing | RegionKind::PoolRing | RegionKind::ServiceRing => {
            let all = (0..length / BLOCK_LEN as u64).map(|i| offset + i * BLOCK_LEN as u64);
            let mut pieces = Vec::new();
            for offset in all.take(super::index::MAX_BLOCKS as usize) {
                let header = read_array::<{ layout::BLOCK_HEADER_LEN }>(source, offset)?;
                if header.is_some_and(|header| may_hold_words(&header)) {
                    pieces.push((offset, BLOCK_LEN as u64));
                }
            }
            return Ok(Part { kind, alignment: BLOCK_LEN as u64, pieces });
        }
        RegionKind::Threads => used(source, region, layout::THREAD_LEN, thread::UID, |uid| uid != 0)?,
        RegionKind::Strings => {
            let header = read_array::<{ layout::STRINGS_HEADER_LEN }>(source, offset)?;
            let used = header.map_or(0, |header| u64::from(u32_at(&header, strings::USED)));
            (layout::STRINGS_HEADER_LEN as u64 + used).min(length)
        }
        RegionKind::NativeStacks => {
            let is_full = |state| state == native_slot::state::FULL;
            used(source, region, native_slot::LEN, native_slot::at::STATE, is_full)?
        }
    };
    Ok(Part { kind, alignment: 8, pieces: vec![(offset, front)] })
}

/// The length of a table up to its last entry in use, which the word at `at` of an entry says.
fn used(
    source: &impl Source,
    region: &Region,
    entry: usize,
    at: usize,
    is_used: impl Fn(u32) -> bool,
) -> Result<u64, ReadError> {
    let mut used = 0;
    for i in 0..region.length / entry as u64 {
        let Some(word) = read_array::<4>(source, region.offset + i * entry as u64 + at as u64)? else {
            break;
        };
        if is_used(u32::from_le_bytes(word)) {
            used = (i + 1) * entry as u64;
        }
    }
    Ok(used)
}

/// Whether a reader takes words out of a block with this header, or says that it is damaged.
fn may_hold_words(header: &[u8; layout::BLOCK_HEADER_LEN]) -> bool {
    let head = u32_at(header, block::HEAD);
    head != layout::EMPTYING && (head > 0 || header[block::CLOCK_MODE] == ClockMode::Coarse as u8)
}

struct Writer<'a, S, W> {
    source: &'a S,
    out: &'a mut W,
    written: u64,
}

impl<S: Source, W: Write> Writer<'_, S, W> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), CompactError> {
        self.out.write_all(bytes).map_err(CompactError::Write)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn pad_to(&mut self, offset: u64) -> Result<(), CompactError> {
        // Less than a block: that is what regions are aligned to.
        let zeros = [0; BLOCK_LEN];
        self.put(&zeros[..(offset - self.written) as usize])
    }

    fn copy(&mut self, offset: u64, length: u64) -> Result<(), CompactError> {
        let mut buffer = [0; BLOCK_LEN];
        let mut done = 0;
        while done < length {
            let want = buffer.len().min(usize::try_from(length - done).unwrap_or(usize::MAX));
            let read = read_some(self.source, offset + done, &mut buffer[..want])?;
            if read == 0 {
                break;
            }
            self.put(&buffer[..read])?;
            done += read as u64;
        }
        Ok(())
    }
}
