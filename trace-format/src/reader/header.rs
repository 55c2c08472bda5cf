//! The header and the region table.

use super::bytes::read_array;
use super::faults::Faults;
use crate::error::{Fault, ReadError};
use crate::event::Clocks;
use crate::layout::{self, Region, RegionKind, State, header as at, u16_at, u32_at, u64_at};
use crate::map_id::MapId;
use crate::source::Source;

/// The header of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Format version, major and minor.
    pub version: (u16, u16),
    /// The process.
    pub pid: u32,
    /// The kernel's tid of the recorded main thread; 0 if no main thread was recorded.
    pub main_tid: u32,
    /// The process's uid.
    pub uid: u32,
    /// The process's name, cut to 256 bytes.
    pub process_name: String,
    /// The method map that the recorded ids belong to.
    pub map_id: MapId,
    /// The clocks when recording began.
    pub start: Clocks,
    /// The last moment, in BOOTTIME ns, at which the process was seen alive during a stall of main; 0 if
    /// it never was.
    pub last_alive: u64,
    /// How the recording ended; `None` for a number that this version does not know.
    pub state: Option<State>,
    /// Events that found no block.
    pub dropped: u64,
    /// Times that were clamped, since they would have run back.
    pub clamped: u64,
    /// Where sections begin.
    pub sections_at: u64,
}

impl Header {
    /// Reads the header alone, which takes no longer for a large recording.
    ///
    /// # Errors
    /// If it is not that of a recording which this version reads, or the device fails.
    pub fn of(source: &impl Source) -> Result<Self, ReadError> {
        Self::read(source, &mut Faults::default()).map(|(header, _)| header)
    }

    pub(super) fn read(source: &impl Source, faults: &mut Faults) -> Result<(Self, Vec<Region>), ReadError> {
        let length = source.len();
        let Some(bytes) = read_array::<{ layout::HEADER_LEN }>(source, 0)? else {
            let mut magic = [0; 8];
            return Err(match source.read_at(0, &mut magic) {
                Ok(n) if n > 0 && magic[..n] == layout::MAGIC[..n] => ReadError::TooShort { length },
                Ok(0) => ReadError::TooShort { length },
                Ok(_) => ReadError::NotARecording,
                Err(source) => ReadError::Io { offset: 0, source },
            });
        };
        if bytes[at::MAGIC..at::MAGIC + 8] != layout::MAGIC {
            return Err(ReadError::NotARecording);
        }
        let (major, minor) = (u16_at(&bytes, at::MAJOR), u16_at(&bytes, at::MINOR));
        if major > layout::MAJOR {
            return Err(ReadError::NewerVersion { major });
        }
        let bad = |offset: usize, what| Err(ReadError::BadHeader { offset: offset as u64, what });
        if u32_at(&bytes, at::HEADER_LEN) as usize != layout::HEADER_LEN {
            return bad(at::HEADER_LEN, "unknown header length");
        }
        if u32_at(&bytes, at::BLOCK_LEN) as usize != layout::BLOCK_LEN {
            return bad(at::BLOCK_LEN, "unknown block length");
        }
        let region_count = u32_at(&bytes, at::REGIONS) as usize;
        if region_count > layout::MAX_REGIONS {
            return bad(at::REGIONS, "too many regions");
        }
        let sections_at = u64_at(&bytes, at::SECTIONS_AT);
        if sections_at < layout::HEADER_LEN as u64 || sections_at > u64::MAX / 2 {
            return bad(at::SECTIONS_AT, "impossible length of the fixed part");
        }
        if length < sections_at {
            faults.add(Fault::Truncated { expected: sections_at, actual: length });
        }
        let name = &bytes[at::PROCESS_NAME..at::PROCESS_NAME + layout::PROCESS_NAME_LEN];
        let name = name.split(|b| *b == 0).next().unwrap_or_default();
        let header = Self {
            version: (major, minor),
            pid: u32_at(&bytes, at::PID),
            main_tid: u32_at(&bytes, at::MAIN_TID),
            uid: u32_at(&bytes, at::UID),
            process_name: String::from_utf8_lossy(name).into_owned(),
            map_id: MapId(u64_at(&bytes, at::MAP_ID)),
            start: Clocks {
                boottime: u64_at(&bytes, at::START_BOOTTIME),
                monotonic: u64_at(&bytes, at::START_MONOTONIC),
                realtime: u64_at(&bytes, at::START_REALTIME),
            },
            last_alive: u64_at(&bytes, at::LAST_ALIVE),
            state: [State::Open, State::Ended, State::Disarmed]
                .into_iter()
                .find(|s| *s as u32 == u32_at(&bytes, at::STATE)),
            dropped: u64_at(&bytes, at::DROPPED),
            clamped: u64_at(&bytes, at::CLAMPED),
            sections_at,
        };
        Ok((header, regions(&bytes, region_count, sections_at, faults)))
    }
}

/// The regions of known kinds that lie inside of the fixed part.
fn regions(bytes: &[u8], count: usize, sections_at: u64, faults: &mut Faults) -> Vec<Region> {
    let mut found = Vec::with_capacity(count);
    for entry in (0..count).map(|i| at::REGION_TABLE + i * at::REGION_ENTRY) {
        let Ok(kind) = RegionKind::try_from(u32_at(bytes, entry)) else { continue };
        let (offset, length) = (u64_at(bytes, entry + 8), u64_at(bytes, entry + 16));
        let inside = offset >= layout::HEADER_LEN as u64
            && offset.checked_add(length).is_some_and(|end| end <= sections_at);
        // One of each kind: a second entry could only make a hostile file cost more.
        if inside && !found.iter().any(|r: &Region| r.kind == kind) {
            found.push(Region { kind, offset, length });
        } else {
            faults.add(Fault::BadRegion { offset: entry as u64 });
        }
    }
    found
}
