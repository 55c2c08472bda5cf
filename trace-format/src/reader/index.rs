//! Which blocks belong to which thread, in which order.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::bytes::{read_array, read_some};
use super::faults::Faults;
use crate::error::{Fault, ReadError};
use crate::layout::{self, ClockMode, Region, RegionKind, block as at, thread as entry, u32_at, u64_at};
use crate::source::Source;
use crate::{ids, word};

/// The most blocks that are read in one ring: 8 GiB, a thousand times the default. A sparse file can
/// declare more than can be read.
pub(super) const MAX_BLOCKS: u64 = 1 << 20;

/// The most threads without a block that are listed. The table of an untrusted file may have any length.
const MAX_WITHOUT_BLOCK: usize = 1 << 16;

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
    /// Words in it.
    pub(super) head: u32,
    pub(super) clock: ClockMode,
    /// Words that its head published.
    pub(super) published: u32,
}

impl Thread {
    /// Words that were overwritten by newer ones.
    #[must_use]
    pub fn overwritten(&self) -> u64 {
        self.blocks.first().map_or(0, |b| b.base)
    }

    /// How many words this thread ever wrote.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.blocks.last().map_or(0, |b| b.base.saturating_add(u64::from(b.head)))
    }

    /// Words that are in the recording.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.blocks.iter().map(|b| u64::from(b.head)).sum()
    }

    /// Opening time of its first block; 0 if it has none.
    #[must_use]
    pub fn first_time(&self) -> u64 {
        self.blocks.first().map_or(0, |b| b.t0)
    }

    /// Words in the recording that are in blocks of this clock.
    #[must_use]
    pub fn words_by(&self, clock: ClockMode) -> u64 {
        self.blocks.iter().filter(|b| b.clock == clock).map(|b| u64::from(b.head)).sum()
    }

    /// How its times were taken at `time`, BOOTTIME ns; before its first block as in that.
    #[must_use]
    pub fn clock_at(&self, time: u64) -> ClockMode {
        let after = self.blocks.partition_point(|b| b.t0 <= time);
        self.blocks.get(after.saturating_sub(1)).map_or(ClockMode::Precise, |b| b.clock)
    }

    pub(super) fn is_service(&self) -> bool {
        self.uid == 0
    }
}

/// All threads that have a block, and those that live and have none: other threads needed it while they were silent. The
/// service ring first, then main, then by uid.
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
            RegionKind::Threads | RegionKind::Strings | RegionKind::NativeStacks => {}
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
        leave_out_of_order(&mut thread.blocks, faults);
    }
    threads.sort_by_key(|t| (!t.is_service(), !t.main, t.uid));
    Ok(threads)
}

/// A thread's clock never runs back from block to block. Where the opening times do, blocks with a damaged
/// header are among them: as many as can be in order are kept, so that a few damaged ones cannot push out
/// the whole ones around them (a longest non-decreasing subsequence, by patience sorting).
fn leave_out_of_order(blocks: &mut Vec<Block>, faults: &mut Faults) {
    if blocks.is_sorted_by_key(|b| b.t0) {
        return;
    }
    // From the end: how many blocks can follow each, itself included, and for every such number the latest
    // time at which a chain of it begins.
    let mut begins: Vec<u64> = Vec::new();
    let mut chain = vec![0; blocks.len()];
    for (length, block) in chain.iter_mut().zip(blocks.iter()).rev() {
        let shorter = begins.partition_point(|&begin| begin >= block.t0);
        if shorter == begins.len() {
            begins.push(block.t0)
        } else {
            begins[shorter] = block.t0
        }
        *length = shorter + 1;
    }
    // Of several longest chains the one that keeps the earliest blocks.
    let (mut wanted, mut last) = (begins.len(), 0);
    let mut chain = chain.into_iter();
    blocks.retain(|block| {
        let keep = chain.next() == Some(wanted) && block.t0 >= last;
        if keep {
            (wanted, last) = (wanted - 1, block.t0);
        } else {
            faults.add(Fault::BadBlock { offset: block.offset });
        }
        keep
    });
}

fn read_ring(
    source: &impl Source,
    region: &Region,
    threads: &mut BTreeMap<u32, Thread>,
    faults: &mut Faults,
) -> Result<(), ReadError> {
    for i in 0..(region.length / layout::BLOCK_LEN as u64).min(MAX_BLOCKS) {
        let offset = region.offset + i * layout::BLOCK_LEN as u64;
        let Some(header) = read_array::<{ layout::BLOCK_HEADER_LEN }>(source, offset)? else { break };
        let published = u32_at(&header, at::HEAD);
        let coarse = header[at::CLOCK_MODE] == ClockMode::Coarse as u8;
        if published == layout::EMPTYING || published == 0 && !coarse {
            continue;
        }
        let uid = u32_at(&header, at::UID);
        let base = u64_at(&header, at::BASE);
        let service = region.kind == RegionKind::ServiceRing;
        if published as usize > layout::BLOCK_WORDS || (uid == 0) != service || base > u64::MAX / 2 {
            faults.add(Fault::BadBlock { offset });
            continue;
        }
        let head = if coarse { end(source, offset, published)? } else { published };
        if head == 0 {
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
            clock: if coarse { ClockMode::Coarse } else { ClockMode::Precise },
            published,
        });
    }
    Ok(())
}

/// How many words a coarse block has: as far as methods' words go on behind the head.
fn end(source: &impl Source, offset: u64, head: u32) -> Result<u32, ReadError> {
    let mut bytes = [0; layout::BLOCK_WORDS * 8];
    let behind = &mut bytes[..(layout::BLOCK_WORDS - head as usize) * 8];
    let read = read_some(source, offset + (at::WORDS + head as usize * 8) as u64, behind)?;
    let (words, _) = behind[..read].as_chunks();
    let is_plain = |bytes: &&[u8; 8]| ids::is_plain(word::id(u64::from_le_bytes(**bytes)));
    Ok(head + words.iter().take_while(is_plain).count() as u32)
}

fn read_table(
    source: &impl Source,
    region: &Region,
    threads: &mut BTreeMap<u32, Thread>,
) -> Result<(), ReadError> {
    let mut without_block = 0;
    for i in 0..region.length / layout::THREAD_LEN as u64 {
        let offset = region.offset + i * layout::THREAD_LEN as u64;
        let Some(bytes) = read_array::<{ layout::THREAD_LEN }>(source, offset)? else { break };
        let uid = u32_at(&bytes, entry::UID);
        if uid == 0 {
            continue;
        }
        let thread = match threads.entry(uid) {
            Entry::Occupied(thread) => thread.into_mut(),
            // The owner of a lock, for example, whose name is needed. A thread that has ended has nothing to show, and main has its
            // own blocks.
            Entry::Vacant(place)
                if u64_at(&bytes, entry::ENDED) == 0
                    && u32_at(&bytes, entry::FLAGS) & entry::FLAG_MAIN == 0
                    && without_block < MAX_WITHOUT_BLOCK =>
            {
                without_block += 1;
                place.insert(Thread { uid, ..Thread::default() })
            }
            Entry::Vacant(_) => continue,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_blocks_with_a_damaged_time_do_not_push_out_the_others() {
        let at = |t0: &[u64]| {
            let blocks = t0.iter().enumerate();
            let block = |(i, &t0): (usize, &u64)| Block {
                offset: i as u64,
                sequence: i as u64,
                t0,
                base: 0,
                head: 1,
                clock: ClockMode::Precise,
                published: 1,
            };
            let mut blocks: Vec<_> = blocks.map(block).collect();
            let mut faults = Faults::default();
            leave_out_of_order(&mut blocks, &mut faults);
            assert_eq!(faults.kept.len(), t0.len() - blocks.len());
            blocks.iter().map(|b| b.t0).collect::<Vec<_>>()
        };
        assert_eq!(at(&[1, 2, 2, 3]), [1, 2, 2, 3]);
        assert_eq!(at(&[1, 900, 2, 3]), [1, 2, 3]);
        assert_eq!(at(&[1, 900, 901, 2, 3, 0, 4]), [1, 2, 3, 4]);
        assert_eq!(at(&[5, 1, 6, 7]), [5, 6, 7]);
        assert_eq!(at(&[9, 8]), [9]);
        assert_eq!(at(&[]), [0_u64; 0]);
    }
}
