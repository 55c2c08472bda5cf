//! Who holds which lock: a small table, so that a blocked slice can name the holder.
//!
//! One place a lock by its identity, no chains: two locks that fall on one place push each other out,
//! and the loser's holder reads as unknown, never as somebody else. How often that happened is told in the recording.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const PLACES: usize = 4096;

/// Identity of a lock → thread uid of its holder.
#[derive(Debug)]
pub(crate) struct Owners {
    places: &'static [Place; PLACES],
    /// Held locks whose holder was forgotten because another lock fell on their place.
    pushed_out: AtomicU64,
}

#[derive(Debug)]
struct Place {
    lock: AtomicU64,
    owner: AtomicU32,
    /// How often the owner has entered it.
    depth: AtomicU32,
}

/// The recorder's. Zero pages until a lock falls on them: what is made at the start of an app is written to there.
static OF_THE_RECORDER: [Place; PLACES] = [const { Place::nobodys() }; PLACES];

impl Place {
    const fn nobodys() -> Self {
        Self { lock: AtomicU64::new(0), owner: AtomicU32::new(0), depth: AtomicU32::new(0) }
    }
}

impl Owners {
    /// The process's one.
    pub(crate) fn of_the_recorder() -> Self {
        Self { places: &OF_THE_RECORDER, pushed_out: AtomicU64::new(0) }
    }

    fn place(&self, lock: u64) -> &Place {
        // Fibonacci hashing: identity hashes and addresses differ in their low bits only.
        let hash = lock.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
        &self.places[hash as usize % PLACES]
    }

    /// The uid of the thread that holds `lock`, 0 if that is not known.
    pub(crate) fn holder(&self, lock: u64) -> u32 {
        let place = self.place(lock);
        let owner = place.owner.load(Ordering::Acquire);
        if place.lock.load(Ordering::Relaxed) == lock { owner } else { 0 }
    }

    /// The calling thread `uid` has entered `lock`.
    pub(crate) fn acquired(&self, lock: u64, uid: u32) {
        let place = self.place(lock);
        if place.lock.load(Ordering::Relaxed) == lock && place.owner.load(Ordering::Relaxed) == uid {
            place.depth.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if place.owner.swap(0, Ordering::AcqRel) != 0 && place.lock.load(Ordering::Relaxed) != lock {
            self.pushed_out.fetch_add(1, Ordering::Relaxed);
        }
        place.lock.store(lock, Ordering::Relaxed);
        place.depth.store(1, Ordering::Relaxed);
        place.owner.store(uid, Ordering::Release);
    }

    /// The threads that hold a lock, by uid, in order. Looks through the whole table: not on a thread of the app.
    pub(crate) fn holders(&self) -> Vec<u32> {
        let mut holders: Vec<u32> = self
            .places
            .iter()
            .map(|place| place.owner.load(Ordering::Relaxed))
            .filter(|uid| *uid > 0)
            .collect();
        holders.sort_unstable();
        holders
    }

    /// How many held locks were forgotten under pressure.
    pub(crate) fn pushed_out(&self) -> u64 {
        self.pushed_out.load(Ordering::Relaxed)
    }

    /// The calling thread `uid` has left `lock`.
    pub(crate) fn released(&self, lock: u64, uid: u32) {
        let place = self.place(lock);
        let mine = place.lock.load(Ordering::Relaxed) == lock && place.owner.load(Ordering::Relaxed) == uid;
        if mine && place.depth.fetch_sub(1, Ordering::Relaxed) <= 1 {
            place.owner.store(0, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners() -> Owners {
        let places = Box::leak(Box::new([const { Place::nobodys() }; PLACES]));
        Owners { places, pushed_out: AtomicU64::new(0) }
    }

    #[test]
    fn holds_through_nested_entries() {
        let owners = owners();
        assert_eq!(owners.holder(5), 0);
        owners.acquired(5, 1);
        owners.acquired(5, 1);
        owners.released(5, 1);
        assert_eq!(owners.holder(5), 1);
        owners.released(5, 2);
        assert_eq!(owners.holder(5), 1, "only the holder gives it up");
        owners.released(5, 1);
        assert_eq!(owners.holder(5), 0);
    }

    #[test]
    fn two_locks_on_one_place_are_unknown_rather_than_wrong() {
        let owners = owners();
        let place = |lock| std::ptr::from_ref(owners.place(lock));
        let other = (2..).find(|lock| place(*lock) == place(1)).unwrap();
        owners.acquired(1, 10);
        owners.acquired(other, 20);
        assert_eq!((owners.holder(1), owners.holder(other)), (0, 20));
        assert_eq!(owners.pushed_out(), 1);
        owners.released(1, 10);
        assert_eq!(owners.holder(other), 20);
    }
}
