//! Which thread owns which lock: a small table, so that a wait can name the owner.
//!
//! One slot per lock, by its identity, no chains: two locks that share a slot evict each other, and the owner
//! of the evicted one reads as unknown, never as another thread. The recording says how often that happened.
//!
//! `MethodBeat` reads and writes the table too, by its address: a lock of `java.util.concurrent` that is free costs no
//! call of native code. So the layout is fixed.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const SLOTS: usize = 4096;

/// Identity of a lock → uid of the thread that owns it: the slots, and the count after them.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Owners {
    slots: [Slot; SLOTS],
    /// Owned locks whose owner was forgotten because another lock took their slot.
    evicted: AtomicU64,
}

/// 16 bytes, in this order.
#[derive(Debug)]
#[repr(C)]
struct Slot {
    lock: AtomicU64,
    owner: AtomicU32,
    /// How often the owner has entered it.
    depth: AtomicU32,
}

/// The recorder's table. Zero pages until a lock takes one: memory that is allocated at the start of an app
/// is written to there.
pub(crate) static OWNERS: Owners = Owners::free();

impl Slot {
    const fn free() -> Self {
        Self { lock: AtomicU64::new(0), owner: AtomicU32::new(0), depth: AtomicU32::new(0) }
    }
}

impl Owners {
    const fn free() -> Self {
        Self { slots: [const { Slot::free() }; SLOTS], evicted: AtomicU64::new(0) }
    }

    fn slot(&self, lock: u64) -> &Slot {
        // Fibonacci hashing: identity hashes and addresses differ in their low bits only.
        let hash = lock.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
        &self.slots[hash as usize % SLOTS]
    }

    /// The uid of the thread that owns `lock`, 0 if unknown.
    pub(crate) fn owner(&self, lock: u64) -> u32 {
        let slot = self.slot(lock);
        let owner = slot.owner.load(Ordering::Acquire);
        if slot.lock.load(Ordering::Relaxed) == lock { owner } else { 0 }
    }

    /// Notes that the calling thread `uid` has entered `lock`.
    pub(crate) fn acquired(&self, lock: u64, uid: u32) {
        let slot = self.slot(lock);
        if slot.lock.load(Ordering::Relaxed) == lock && slot.owner.load(Ordering::Relaxed) == uid {
            slot.depth.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if slot.owner.swap(0, Ordering::AcqRel) != 0 && slot.lock.load(Ordering::Relaxed) != lock {
            self.evicted.fetch_add(1, Ordering::Relaxed);
        }
        slot.lock.store(lock, Ordering::Relaxed);
        slot.depth.store(1, Ordering::Relaxed);
        slot.owner.store(uid, Ordering::Release);
    }

    /// The threads that own a lock, by uid, sorted. Searches the whole table: not on a thread of the app.
    pub(crate) fn owners(&self) -> Vec<u32> {
        let all = self.slots.iter().map(|slot| slot.owner.load(Ordering::Relaxed));
        let mut owners: Vec<u32> = all.filter(|uid| *uid > 0).collect();
        owners.sort_unstable();
        owners
    }

    /// How many owned locks were forgotten under pressure.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Notes that the calling thread `uid` has left `lock` altogether.
    pub(crate) fn gave_up(&self, lock: u64, uid: u32) {
        let slot = self.slot(lock);
        if slot.lock.load(Ordering::Relaxed) == lock && slot.owner.load(Ordering::Relaxed) == uid {
            slot.owner.store(0, Ordering::Release);
        }
    }

    /// Notes that the calling thread `uid` has left `lock`.
    pub(crate) fn released(&self, lock: u64, uid: u32) {
        let slot = self.slot(lock);
        let mine = slot.lock.load(Ordering::Relaxed) == lock && slot.owner.load(Ordering::Relaxed) == uid;
        if mine && slot.depth.fetch_sub(1, Ordering::Relaxed) <= 1 {
            slot.owner.store(0, Ordering::Release);
        }
    }
}

/// The address of the process's table, for `MethodBeat`: 4,096 slots of lock (8 bytes), owner's uid (4) and depth (4),
/// then the count of forgotten owners (8).
#[must_use]
pub fn address() -> usize {
    std::ptr::from_ref(&OWNERS).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners() -> Box<Owners> {
        Box::new(Owners::free())
    }

    #[test]
    fn holds_through_nested_entries() {
        let owners = owners();
        assert_eq!(owners.owner(5), 0);
        owners.acquired(5, 1);
        owners.acquired(5, 1);
        owners.released(5, 1);
        assert_eq!(owners.owner(5), 1);
        owners.released(5, 2);
        assert_eq!(owners.owner(5), 1, "only the owner leaves it");
        owners.released(5, 1);
        assert_eq!(owners.owner(5), 0);
    }

    #[test]
    fn two_locks_in_one_slot_are_unknown_rather_than_wrong() {
        let owners = owners();
        let slot = |lock| std::ptr::from_ref(owners.slot(lock));
        let other = (2..).find(|lock| slot(*lock) == slot(1)).unwrap();
        owners.acquired(1, 10);
        owners.acquired(other, 20);
        assert_eq!((owners.owner(1), owners.owner(other)), (0, 20));
        assert_eq!(owners.evicted(), 1);
        owners.released(1, 10);
        assert_eq!(owners.owner(other), 20);
    }
}
