//! The layout of the file. Little-endian throughout, as every Android ABI.
//!
//! ```text
//! 0 ............. header, 4096 bytes, mapped
//! 4096 .......... regions, mapped, in any order; the header's table says where
//!                   main ring     blocks written by the recorded main thread
//!                   pool ring     blocks handed to all other threads
//!                   service ring  blocks written by the recorder's threads: ANRs, clocks, notices
//!                   threads       one entry a thread
//!                   strings       interned texts, so that names survive a kill at any instant
//!                   native stacks slots for captures, [`crate::native_slot`]; only with the option
//! sections offset  sections, appended by write(2), see [`crate::section`]
//! ```
//!
//! The version is 1.0, open to change until the first release. From then on a change of any byte drawn here raises it: a reader
//! refuses a greater *major* version, reads every earlier one, and skips what a greater *minor* version adds (region kinds,
//! event types, section types, longer payloads).
//!
//! # Header
//! ```text
//!   0  8  magic "ANRSCOPE"            56  8  start, CLOCK_BOOTTIME ns
//!   8  2  major version               64  8  start, CLOCK_MONOTONIC ns
//!  10  2  minor version               72  8  start, CLOCK_REALTIME ns
//!  12  4  header length (4096)        80  8  last alive, CLOCK_BOOTTIME ns    (live)
//!  16  4  block length (8192)         88  4  state: 0 open, 1 ended, 2 disarmed (live)
//!  20  4  number of regions (<= 16)   92  4  reserved
//!  24  8  sections offset             96  8  events that found no block       (live)
//!  32  4  pid                        104  8  times clamped to the one before  (live)
//!  36  4  tid of the recorded main   128 16 x 32  region table
//!  40  4  reserved                        { kind 4, reserved 4, offset 8, length 8, reserved 8 }
//!  44  4  uid                        768  256  process name, UTF-8, zero padded
//!  48  8  map id (live)             1024  ...  reserved, zero
//! ```
//!
//! # Block: 8192 bytes, one writer
//! ```text
//!   0  4  head: words published,      16  8  sequence number in its thread, from 0
//!         or EMPTYING                 24  8  t0: CLOCK_BOOTTIME ns when it was opened
//!   4  4  thread uid                  32  8  base: words its thread wrote in earlier blocks
//!   8  4  tid                         40  4  floor: words that no short call removes any more
//!  12  1  clock mode                  44 20  reserved, zero
//!  13  3  reserved                  64  ...  1016 words
//! ```
//! To publish, a writer stores the words of one event, a store fence, then the head. To reuse a block
//! it stores head = EMPTYING, a fence, the new header fields, a fence, head = 0, and goes on as above. So:
//! * after a SIGKILL every store that was executed is in the file and no later one is: all words below
//!   the head are whole. On 32-bit machines a 64-bit store is two; a kill between them leaves the head
//!   where it was, so a torn word is never below it. A block that is being emptied counts as empty in spite of its
//!   header;
//! * a reader beside a running writer copies the block, then reads sequence number and head
//!   again: an equal sequence and a head no smaller (nor EMPTYING) mean that its copy below the first head is whole.
//!
//! In a block of *coarse* mode methods' words continue behind the head: the app's writer first stores a 0 behind each
//! word, then the word, and does not change the head. The words of such a block go from the first one over the
//! head to the first that is no method's, 1015 at most.
//!
//! `base + words` of a thread's last block is the number of words it ever wrote; `base` of its first
//! block is how many were overwritten.
//!
//! # Threads: 64 bytes an entry
//! ```text
//!   0  4  uid, stored last; 0 = free  24  4  flags: 1 = the recorded main thread
//!   4  4  tid                         28  4  length of the name
//!   8  8  first event, BOOTTIME ns    32 32  name, UTF-8, cut at a character
//!  16  8  end of the thread, or 0
//! ```
//!
//! # Strings
//! ```text
//!   0  4  bytes of entries published (live)      8  4  texts that found no room (live)
//!   4  4  number of entries (live)              12  4  reserved
//!  16 ...  entries { id 4, length 4, UTF-8, padded to 4 }
//! ```

use crate::UnknownNumber;
use crate::native_slot;

/// First bytes of a recording.
pub const MAGIC: [u8; 8] = *b"ANRSCOPE";
/// Major version this crate writes.
pub const MAJOR: u16 = 1;
/// Minor version this crate writes.
pub const MINOR: u16 = 0;
/// The head of a block that is being reused.
pub const EMPTYING: u32 = 1 << 31;
/// Length of the header.
pub const HEADER_LEN: usize = 4096;
/// Length of a block.
pub const BLOCK_LEN: usize = 8192;
/// Length of a block's header.
pub const BLOCK_HEADER_LEN: usize = 64;
/// Words in a block.
pub const BLOCK_WORDS: usize = (BLOCK_LEN - BLOCK_HEADER_LEN) / 8;
/// Length of an entry of the thread table.
pub const THREAD_LEN: usize = 64;
/// Bytes of a thread's name that fit in its entry.
pub const THREAD_NAME_LEN: usize = 32;
/// Length of the string region's own header.
pub const STRINGS_HEADER_LEN: usize = 16;
/// The most regions that the header holds.
pub const MAX_REGIONS: usize = 16;
/// Bytes of the process name that fit in the header.
pub const PROCESS_NAME_LEN: usize = 256;
/// The fixed part is a multiple of this, so that sections never share a page with the mapping
/// (16 KiB pages are the largest that Android uses).
pub const FIXED_ALIGN: usize = 16 * 1024;

/// The number at this offset.
#[must_use]
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("2 bytes"))
}

/// The number at this offset.
#[must_use]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

/// The number at this offset.
#[inline]
#[must_use]
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

/// Offsets in the header.
pub mod header {
    #![allow(missing_docs, reason = "drawn in the module above")]
    pub const MAGIC: usize = 0;
    pub const MAJOR: usize = 8;
    pub const MINOR: usize = 10;
    pub const HEADER_LEN: usize = 12;
    pub const BLOCK_LEN: usize = 16;
    pub const REGIONS: usize = 20;
    pub const SECTIONS_AT: usize = 24;
    pub const PID: usize = 32;
    pub const MAIN_TID: usize = 36;
    pub const UID: usize = 44;
    pub const MAP_ID: usize = 48;
    pub const START_BOOTTIME: usize = 56;
    pub const START_MONOTONIC: usize = 64;
    pub const START_REALTIME: usize = 72;
    pub const LAST_ALIVE: usize = 80;
    pub const STATE: usize = 88;
    pub const DROPPED: usize = 96;
    pub const CLAMPED: usize = 104;
    pub const REGION_TABLE: usize = 128;
    pub const REGION_ENTRY: usize = 32;
    pub const PROCESS_NAME: usize = 768;
}

/// Offsets in a block.
pub mod block {
    #![allow(missing_docs, reason = "drawn in the module above")]
    pub const HEAD: usize = 0;
    pub const UID: usize = 4;
    pub const TID: usize = 8;
    pub const CLOCK_MODE: usize = 12;
    pub const SEQUENCE: usize = 16;
    pub const T0: usize = 24;
    pub const BASE: usize = 32;
    pub const FLOOR: usize = 40;
    pub const RESERVED: usize = 48;
    pub const WORDS: usize = super::BLOCK_HEADER_LEN;
}

/// Offsets in an entry of the thread table.
pub mod thread {
    #![allow(missing_docs, reason = "drawn in the module above")]
    pub const UID: usize = 0;
    pub const TID: usize = 4;
    pub const STARTED: usize = 8;
    pub const ENDED: usize = 16;
    pub const FLAGS: usize = 24;
    pub const NAME_LEN: usize = 28;
    pub const NAME: usize = 32;
    pub const FLAG_MAIN: u32 = 1;
}

/// Offsets in the string region.
pub mod strings {
    #![allow(missing_docs, reason = "drawn in the module above")]
    pub const USED: usize = 0;
    pub const COUNT: usize = 4;
    pub const OVERFLOW: usize = 8;
}

/// The state of the recording, as last written to the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum State {
    /// Recording: if the process is gone, it was killed or crashed.
    Open = 0,
    /// Ended normally.
    Ended = 1,
    /// The recorder disabled itself after an internal fault.
    Disarmed = 2,
}

/// How the times of a block were taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ClockMode {
    /// Read at each event.
    Precise = 0,
    /// Copied from a word that a ticker refreshes.
    Coarse = 1,
}

/// Kinds of regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum RegionKind {
    /// Blocks of the recorded main thread.
    MainRing = 1,
    /// Blocks of all other threads.
    PoolRing = 2,
    /// Blocks of the recorder's own threads (thread uid 0).
    ServiceRing = 3,
    /// The thread table.
    Threads = 4,
    /// The string table.
    Strings = 5,
    /// Slots for native stacks: [`crate::native_slot`].
    NativeStacks = 6,
}

impl TryFrom<u32> for RegionKind {
    type Error = UnknownNumber;

    /// The kind with this number.
    fn try_from(number: u32) -> Result<Self, UnknownNumber> {
        [Self::MainRing, Self::PoolRing, Self::ServiceRing, Self::Threads, Self::Strings, Self::NativeStacks]
            .into_iter()
            .find(|kind| *kind as u32 == number)
            .ok_or(UnknownNumber(number))
    }
}

/// A range of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// What it holds.
    pub kind: RegionKind,
    /// Where it starts.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// The size of each region of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Blocks of the main ring.
    pub main_blocks: u32,
    /// Blocks that all other threads share.
    pub pool_blocks: u32,
    /// Blocks of the service ring.
    pub service_blocks: u32,
    /// Entries of the thread table.
    pub threads: u32,
    /// Bytes of the string region.
    pub string_bytes: u32,
    /// Slots for native stacks; with 0 there is no such region.
    pub native_slots: u32,
}

impl Sizes {
    /// A million words for main, as in Matrix; half as much again, 4 MiB, for all other threads. That is a block each for 512 threads;
    /// with more, silent threads have none, so a larger pool would only add the history of idle threads. The
    /// table has a name for eight times as many, 256 KiB.
    pub const DEFAULT: Self = Self {
        main_blocks: 986,
        pool_blocks: 512,
        service_blocks: 8,
        threads: 4096,
        string_bytes: 256 * 1024,
        native_slots: 0,
    };

    /// The regions of a file with these sizes, and the length of its fixed part.
    #[must_use]
    pub fn regions(&self) -> (Vec<Region>, u64) {
        let blocks = |n: u32| u64::from(n) * BLOCK_LEN as u64;
        let mut at = HEADER_LEN as u64;
        // A writer in the app recognizes the end of a block by its address.
        let mut place = |kind, length: u64| {
            let region = Region { kind, offset: at.next_multiple_of(BLOCK_LEN as u64), length };
            at = region.offset + length.next_multiple_of(4096);
            region
        };
        let mut regions = vec![
            place(RegionKind::Threads, u64::from(self.threads) * THREAD_LEN as u64),
            place(RegionKind::Strings, u64::from(self.string_bytes)),
            place(RegionKind::ServiceRing, blocks(self.service_blocks)),
            place(RegionKind::MainRing, blocks(self.main_blocks)),
            place(RegionKind::PoolRing, blocks(self.pool_blocks)),
        ];
        // Last: the other regions are where they are without it.
        if self.native_slots > 0 {
            let length = u64::from(self.native_slots) * native_slot::LEN as u64;
            regions.push(place(RegionKind::NativeStacks, length));
        }
        (regions, at.next_multiple_of(FIXED_ALIGN as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_holds_a_million_words() {
        assert!(Sizes::DEFAULT.main_blocks as usize * (BLOCK_WORDS - 1) >= 1_000_000);
    }

    #[test]
    fn regions_do_not_overlap_and_blocks_start_at_multiples_of_their_length() {
        for native_slots in [0, native_slot::SLOTS as u32] {
            let (regions, fixed) = Sizes { native_slots, ..Sizes::DEFAULT }.regions();
            let mut end = HEADER_LEN as u64;
            for region in regions {
                assert!(region.offset >= end && region.offset % BLOCK_LEN as u64 == 0, "{region:?}");
                end = region.offset + region.length;
            }
            assert!(fixed >= end && fixed % FIXED_ALIGN as u64 == 0);
        }
    }

    #[test]
    fn slots_for_native_stacks_displace_no_other_region() {
        let (without, fixed) = Sizes::DEFAULT.regions();
        let (with, longer) = Sizes { native_slots: 4, ..Sizes::DEFAULT }.regions();
        assert_eq!(with[..without.len()], without);
        assert_eq!(
            with.last().map(|region| (region.kind, region.length)),
            Some((RegionKind::NativeStacks, 4 * native_slot::LEN as u64))
        );
        assert!(longer > fixed);
    }
}
