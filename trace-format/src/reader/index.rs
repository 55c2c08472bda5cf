//! Which blocks belong to which thread, in which order.

use std::collections::BTreeMap;

use super::{Faults, read_array, u32_at, u64_at};
use crate::error::{Fault, ReadError};
use crate::layout::{self, Region, RegionKind, block as at, thread as entry};
use crate::source::Source;

/// One thread of the recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// Unique in the recording; tids are reused by the kernel. 0 is the service ring.
    pub uid: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// Its name, if its entry in the thread table survived.
    pub name: Option<String>,
    /// Whether it is the recorded main thread.
    pub main: bool,
    /// Time of its first event, BOOTTIME ns; 0 if unknown.
    pub started: u64,
    /// When it ended, 0 if it did not.
    pub ended: u64,
    pub(super) blocks: Vec<Block>,
}

/// Where a block is and what its header said when it was indexed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block {
    pub(super) offset: u64,
    pub(super) sequence: u64,
    pub(super) t0: u64,
    pub(super) base: u64,
    pub(super) head: u32,
}

impl Thread {
    /// Words that were overwritten by newer ones.
    #[must_use]
    pub fn overwritten(&self) -> u64 {
        self.blocks.first().map_or(0, |b| b.base)
    }

    /// Words that this thread ever wrote.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.blocks.last().map_or(0, |b| b.base.saturating_add(u64::from(b.head)))
    }

    /// Words that are in the recording.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.blocks.iter().map(|b| u64::from(b.head)).sum()
    }

    /// Opening time of its first block.
    #[must_use]
    pub fn first_time(&self) -> u64 {
        self.blocks.first().map_or(0, |b| b.t0)
    }

    pub(super) fn is_service(&self) -> bool {
        self.uid == 0
    }
}

/// All threads that have a block; the service ring first, then main, then by uid.
pub(super) fn threads(
    source: &impl Source,
    regions: &[Region],
    faults: &mut Faults,
) -> Result<Vec<Thread>, ReadError> {
    let mut threads = BTreeMap::new();
    for region in regions {
        match region.kind {
            RegionKind::MainRing | RegionKind::PoolRing | RegionKind::ServiceRing => {
                read_ring(source, region, &mut threads, faults)?;
            }
            RegionKind::Threads | RegionKind::Strings => {}
        }
    }
    for region in regions.iter().filter(|r| r.kind == RegionKind::Threads) {
        read_table(source, region, &mut threads)?;
    }
    let mut threads: Vec<Thread> = threads.into_values().collect();
    for thread in &mut threads {
        thread.blocks.sort_by_key(|b| (b.sequence, b.offset));
        thread.blocks.dedup_by(|b, a| {
            let twice = a.sequence == b.sequence;
            if twice {
                faults.add(Fault::BadBlock { offset: b.offset });
            }
            twice
        });
    }
    threads.sort_by_key(|t| (!t.is_service(), !t.main, t.uid));
    Ok(threads)
}

fn read_ring(
    source: &impl Source,
    region: &Region,
    threads: &mut BTreeMap<u32, Thread>,
    faults: &mut Faults,
) -> Result<(), ReadError> {
    for i in 0..region.length / layout::BLOCK_LEN as u64 {
        let offset = region.offset + i * layout::BLOCK_LEN as u64;
        let Some(header) = read_array::<{ layout::BLOCK_HEADER_LEN }>(source, offset)? else { break };
        let head = u32_at(&header, at::HEAD);
        if head == 0 {
            continue;
        }
        let uid = u32_at(&header, at::UID);
        let base = u64_at(&header, at::BASE);
        let service = region.kind == RegionKind::ServiceRing;
        if head as usize > layout::BLOCK_WORDS || (uid == 0) != service || base > u64::MAX / 2 {
            faults.add(Fault::BadBlock { offset });
            continue;
        }
        let thread = threads.entry(uid).or_insert_with(|| Thread { uid, ..Thread::default() });
        thread.tid = u32_at(&header, at::TID);
        thread.main |= region.kind == RegionKind::MainRing;
        thread.blocks.push(Block {
            offset,
            sequence: u64_at(&header, at::SEQUENCE),
            t0: u64_at(&header, at::T0),
            base,
            head,
        });
    }
    Ok(())
}

fn read_table(
    source: &impl Source,
    region: &Region,
    threads: &mut BTreeMap<u32, Thread>,
) -> Result<(), ReadError> {
    for i in 0..region.length / layout::THREAD_LEN as u64 {
        let offset = region.offset + i * layout::THREAD_LEN as u64;
        let Some(bytes) = read_array::<{ layout::THREAD_LEN }>(source, offset)? else { break };
        // A thread without a block has nothing to show.
        let Some(thread) = threads.get_mut(&u32_at(&bytes, entry::UID)).filter(|t| !t.is_service()) else {
            continue;
        };
        let length = (u32_at(&bytes, entry::NAME_LEN) as usize).min(layout::THREAD_NAME_LEN);
        let name = &bytes[entry::NAME..entry::NAME + length];
        thread.name = Some(String::from_utf8_lossy(name).into_owned()).filter(|n| !n.is_empty());
        thread.tid = u32_at(&bytes, entry::TID);
        thread.started = u64_at(&bytes, entry::STARTED);
        thread.ended = u64_at(&bytes, entry::ENDED);
    }
    Ok(())
}
