//! The blocks that all threads but main share, handed out fairly.
//!
//! As long as blocks are free, each thread that asks gets one. Then another thread gives one up, in this order:
//! 1. the thread with the most blocks, if it has more than [`BUSY_BLOCKS`]: a busy thread recycles its own;
//! 2. threads that have ended, in the order in which they ended;
//! 3. threads that have been silent for a second and have more than one block: the oldest block of the longest
//!    silent one;
//! 4. if there are more threads than blocks, and the asking thread has fewer than [`BUSY_BLOCKS`]: the only
//!    block of a silent thread, as long as a quarter of the pool remains with silent threads;
//! 5. the thread with the most blocks, if it has more than [`MIN_BLOCKS`], or more than one and the asking
//!    thread has none;
//! 6. the asking thread itself, if it has more than one;
//! 7. the only block of a silent thread that holds no lock; of one that holds a lock if half of the pool
//!    belongs to such threads;
//! 8. the asking thread itself, its only block.
//!
//! So with as many blocks as threads, each thread has one; with more threads than blocks, the threads that
//! wrote last have them. Only if all of these wrote within the last moments does a new thread have to wait for
//! its first block, and what it writes until then is counted as dropped.
//!
//! # Which threads are silent
//! The events of a thread are not counted. Where there are many threads, the ticker closes all gates every now
//! and then ([`Pool::poll_silent`]), and a thread that writes reports so at its next event ([`Pool::keep`]),
//! which costs it one lock. The others have been silent since. [`crate::gate`] argues why the block of such a
//! thread can be taken although the thread may wake at this instant, and [`crate::memory::stale`] how its Java
//! writer is handled.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::gate::{CLAIM, Gate, LOST_END, MIGRATE};
use crate::memory::stale::Stale;
use crate::sync::{Mutex, MutexGuard};

/// Blocks that a living thread keeps at least, as long as there are enough.
const MIN_BLOCKS: u32 = 2;
/// Blocks that a thread may gather while other threads are silent.
const BUSY_BLOCKS: u32 = 8;
/// Grace period from the request to a thread to the check of whether it writes, ns: thousands of times what a
/// store takes to become visible.
const GRACE_NS: u64 = 5_000_000;
/// A thread that has been silent for as long, ns, is not merely waiting for a CPU.
const IDLE_NS: u64 = 1_000_000_000;
/// Silent threads that are tried before the search for a block is given up.
const MAX_CANDIDATES: usize = 8;

/// Ends a list of blocks.
const NO_BLOCK: u32 = u32::MAX;

/// Which thread each block belongs to. All memory is allocated in advance: asking for a block allocates
/// nothing.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Blocks handed out so far; [`Pool::ahead`] has seen this many.
    taken: AtomicU32,
    seen: AtomicU32,
    /// A thread was refused a block since the last [`Pool::poll_silent`].
    starved: AtomicBool,
}

#[derive(Debug)]
struct State {
    free: Vec<u32>,
    /// For each block the next newer one of its thread.
    newer: Vec<u32>,
    owners: Vec<Owner>,
    /// The greatest number of threads, for which there is room.
    threads: usize,
    /// How many threads have ended.
    endings: u64,
    /// Places of ended threads that have no block left, in the order in which they lost the last one.
    vacant: VecDeque<u32>,
    /// Threads that have not ended.
    living: usize,
}

/// An entry of the thread table that was ever taken.
#[derive(Clone, Copy, Debug)]
struct Owner {
    /// The thread's uid.
    uid: u32,
    /// When it ended, as a running number from 1; 0 while it lives.
    ended: u64,
    oldest: u32,
    newest: u32,
    count: u32,
    /// The thread's gate.
    gate: &'static Gate,
    /// Since when it has not written, CLOCK_BOOTTIME ns; 0 if unknown.
    silent_since: u64,
    /// It held a lock when it was last polled.
    holds_lock: bool,
    /// Its only block was given to another thread.
    lost: Option<Lost>,
}

/// A block that was taken from a living thread while the thread was to write to it.
#[derive(Clone, Copy, Debug)]
struct Lost {
    block: u32,
    /// Words that it had.
    words: u32,
    /// How many of them are native.
    published: u32,
    /// The Java writer may store one more word behind them, or retract the last one.
    stale: bool,
}

/// How a block is handed out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handed {
    pub(crate) number: u32,
    /// It belonged to another thread, or is an older one of the same, and must be emptied before the next one
    /// is taken.
    pub(crate) recycled: bool,
    /// Words that former owners may still store into it.
    pub(crate) stale: Stale,
}

impl Pool {
    /// A pool of `blocks` for at most `threads` at a time.
    pub(crate) fn new(blocks: u32, threads: u32) -> Self {
        let state = State {
            free: (0..blocks).rev().collect(),
            newer: vec![NO_BLOCK; blocks as usize],
            // Pages of places that are never taken are never touched.
            owners: Vec::with_capacity(threads as usize),
            threads: threads as usize,
            endings: 0,
            vacant: VecDeque::with_capacity(threads as usize),
            living: 0,
        };
        Self {
            state: Mutex::new(state),
            taken: AtomicU32::new(1),
            seen: AtomicU32::new(0),
            starved: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way: a poisoned lock still guards whole lists.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for the new thread `uid`. Places of ended threads are reused once their blocks are gone, the
    /// ones that have been without a block longest first.
    pub(crate) fn join(&self, uid: u32, gate: &'static Gate) -> Option<u32> {
        let mut state = self.lock();
        let owner = Owner {
            uid,
            ended: 0,
            oldest: NO_BLOCK,
            newest: NO_BLOCK,
            count: 0,
            gate,
            silent_since: 0,
            holds_lock: false,
            lost: None,
        };
        let place = if state.owners.len() < state.threads {
            state.owners.push(owner);
            state.owners.len() as u32 - 1
        } else {
            let place = state.vacant.pop_front()?;
            state.owners[place as usize] = owner;
            place
        };
        state.living += 1;
        Some(place)
    }

    /// Calls `f` with the gate of every thread that has a place.
    pub(crate) fn gates(&self, f: impl Fn(&Gate)) {
        let state = self.lock();
        state.owners.iter().filter(|owner| owner.ended == 0).for_each(|owner| f(owner.gate));
    }

    /// The thread at `place` has ended.
    pub(crate) fn leave(&self, place: u32) {
        let mut state = self.lock();
        state.endings += 1;
        state.living -= 1;
        let ended = state.endings;
        let owner = &mut state.owners[place as usize];
        owner.gate.close();
        owner.gate.answer(MIGRATE | CLAIM | LOST_END);
        owner.lost = None;
        owner.silent_since = 0;
        owner.ended = ended;
        if owner.count == 0 {
            state.vacant.push_back(place);
        }
    }

    /// A block for the thread at `place`: what `begin` makes of it. A block that is taken from a thread must be
    /// emptied there, before the next one is taken: so a thread's blocks go in the order of their age, and a
    /// kill in between leaves no hole. `now` is CLOCK_BOOTTIME in ns, and `words` returns how many words a
    /// block has, published and in all.
    pub(crate) fn take<R>(
        &self,
        place: u32,
        now: u64,
        words: impl Fn(u32) -> (usize, usize),
        begin: impl FnOnce(Handed) -> R,
    ) -> Option<R> {
        let mut state = self.lock();
        let handed = match state.free.pop() {
            Some(number) => Handed { number, recycled: false, stale: Stale::NONE },
            None => {
                let Some(handed) = state.recycle(place as usize, now, words) else {
                    self.starved.store(true, Ordering::Relaxed);
                    return None;
                };
                handed
            }
        };
        let begun = begin(handed);
        state.add_newest(place as usize, handed.number);
        self.taken.fetch_add(1, Ordering::Relaxed);
        Some(begun)
    }

    /// Answers the poll for the thread at `place`: it writes. Returns how many words its block had, if it was taken
    /// from the thread since.
    pub(crate) fn keep(&self, place: u32) -> Option<u32> {
        let mut state = self.lock();
        let owner = &mut state.owners[place as usize];
        owner.silent_since = 0;
        owner.gate.answer(CLAIM);
        owner.lost.take().map(|lost| lost.words)
    }

    /// How many blocks were handed out so far.
    pub(crate) fn taken_so_far(&self) -> u64 {
        self.taken.load(Ordering::Relaxed).into()
    }

    /// Whether a thread was refused a block since the last poll.
    pub(crate) fn is_starved(&self) -> bool {
        self.starved.load(Ordering::Relaxed)
    }

    /// Whether there are so many threads that silent ones matter.
    pub(crate) fn is_crowded(&self) -> bool {
        let state = self.lock();
        state.living * 4 >= state.newer.len()
    }

    /// Polls all threads for whether they still write. `now` is CLOCK_BOOTTIME in ns, and `holders` the uids of
    /// the threads that hold locks, sorted.
    pub(crate) fn poll_silent(&self, now: u64, holders: &[u32]) {
        let mut state = self.lock();
        self.starved.store(false, Ordering::Relaxed);
        for owner in state.owners.iter_mut().filter(|owner| owner.ended == 0 && owner.count > 0) {
            owner.holds_lock = holders.binary_search(&owner.uid).is_ok();
            if owner.silent_since == 0 {
                owner.silent_since = now.max(1);
                owner.gate.ask(CLAIM);
            }
        }
    }

    /// Calls `f` while no block changes hands.
    pub(crate) fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        let _state = self.lock();
        f()
    }

    /// Calls `f` with each block that was ever handed out and whether its writer has left it, one after the
    /// other; the block does not change hands meanwhile.
    ///
    /// `prepare` is called with each before, without the lock.
    pub(crate) fn visit(&self, mut prepare: impl FnMut(u32), mut f: impl FnMut(u32, bool)) {
        let blocks = self.lock().newer.len() as u32;
        for number in 0..blocks {
            prepare(number);
            let state = self.lock();
            let open = |owner: &Owner| owner.ended == 0 && owner.newest == number && owner.count > 0;
            // Free blocks are taken in the order of their numbers.
            if state.free.last().is_some_and(|free| number >= *free) {
                return;
            }
            f(number, !state.owners.iter().any(open));
        }
    }

    /// Calls `f` with the blocks that are likely to be handed out next, at most `count`, if any was handed out
    /// since the last call. Never waits for a thread that is taking one.
    pub(crate) fn ahead(&self, count: usize, f: impl FnMut(u32)) {
        let taken = self.taken.load(Ordering::Relaxed);
        if self.seen.swap(taken, Ordering::Relaxed) == taken {
            return;
        }
        let Ok(state) = self.state.try_lock() else { return };
        let free = state.free.iter().rev().copied();
        let richest = state.owners.iter().max_by_key(|o| o.count).map_or(NO_BLOCK, |o| o.oldest);
        let oldest = std::iter::successors(Some(richest), |block| state.newer.get(*block as usize).copied())
            .take_while(|block| *block != NO_BLOCK);
        free.chain(oldest).take(count).for_each(f);
    }
}

impl State {
    /// Takes a block from a thread, for the thread at `asking`, in the module's order.
    fn recycle(&mut self, asking: usize, now: u64, words: impl Fn(u32) -> (usize, usize)) -> Option<Handed> {
        let own = self.owners[asking].count;
        let (mut richest, mut most) = (asking, own);
        let (mut ended, mut ended_at) = (None, u64::MAX);
        let (mut silent, mut silent_since) = (None, u64::MAX);
        let mut single = 0;
        for (place, owner) in self.owners.iter().enumerate().filter(|(_, owner)| owner.count > 0) {
            if owner.count > most {
                (richest, most) = (place, owner.count);
            }
            if owner.ended > 0 {
                if owner.ended < ended_at {
                    (ended, ended_at) = (Some(place), owner.ended);
                }
            } else if owner.silent_since > 0 {
                single += usize::from(owner.count == 1);
                let idle = now.saturating_sub(owner.silent_since) >= IDLE_NS;
                if owner.count > 1 && idle && owner.silent_since < silent_since {
                    (silent, silent_since) = (Some(place), owner.silent_since);
                }
            }
        }
        let older = if most > BUSY_BLOCKS { Some(richest) } else { ended.or(silent) };
        if let Some(place) = older {
            return Some(self.oldest_of(place));
        }
        if own < BUSY_BLOCKS
            && self.living > self.newer.len()
            && single > self.newer.len() / 4
            && let Some(handed) = self.take_from_silent(now, &words, false)
        {
            return Some(handed);
        }
        if most > MIN_BLOCKS || (own == 0 && most > 1) {
            return Some(self.oldest_of(richest));
        }
        if own > 1 {
            return Some(self.oldest_of(asking));
        }
        if let Some(handed) = self.take_from_silent(now, &words, true) {
            return Some(handed);
        }
        (own > 0).then(|| self.oldest_of(asking))
    }

    fn oldest_of(&mut self, place: usize) -> Handed {
        let number = self.remove_oldest(place);
        Handed { number, recycled: true, stale: self.stale(number).unwrap_or(Stale::NONE) }
    }

    /// Words that former owners of a block may still store into it; `None` if there are too many.
    fn stale(&self, block: u32) -> Option<Stale> {
        let of_block = |owner: &Owner| owner.lost.filter(|lost| lost.block == block && lost.stale);
        let mut lost = self.owners.iter().filter_map(of_block);
        lost.try_fold(Stale::NONE, |stale, lost| stale.and(lost.published as usize, lost.words as usize))
    }

    /// Takes the only block of the thread that has been silent longest, preferring those that hold no lock.
    fn take_from_silent(
        &mut self,
        now: u64,
        words: impl Fn(u32) -> (usize, usize),
        holders: bool,
    ) -> Option<Handed> {
        // What the owner of a lock does matters more to a reader than the first events of a new thread.
        let of_holders = self.owners.iter().filter(|owner| owner.count > 0 && owner.holds_lock).count();
        let holders = holders && of_holders > self.newer.len() / 2;
        for _ in 0..MAX_CANDIDATES {
            let silent = self.owners.iter().enumerate().filter(|(_, owner)| {
                owner.ended == 0
                    && owner.count == 1
                    && owner.silent_since > 0
                    && now.saturating_sub(owner.silent_since) >= GRACE_NS
                    && (holders || !owner.holds_lock)
            });
            let (place, owner) = silent.min_by_key(|(_, owner)| (owner.holds_lock, owner.silent_since))?;
            let (number, gate) = (owner.newest, owner.gate);
            if gate.is_claimed() {
                let (published, words) = words(number);
                let granted = gate.granted.load(Ordering::Relaxed);
                let before = self.stale(number);
                if let Some(stale) = before
                    .and_then(|before| if granted { before.and(published, words) } else { Some(before) })
                {
                    self.remove_oldest(place);
                    self.owners[place].lost = Some(Lost {
                        block: number,
                        words: words as u32,
                        published: published as u32,
                        stale: granted,
                    });
                    return Some(Handed { number, recycled: true, stale });
                }
            }
            // It is writing just now, or too little of the block would be left: try the next one.
            self.owners[place].silent_since = now;
        }
        None
    }

    fn remove_oldest(&mut self, place: usize) -> u32 {
        let owner = &mut self.owners[place];
        let block = owner.oldest;
        owner.oldest = self.newer[block as usize];
        owner.count -= 1;
        if owner.count == 0 {
            owner.newest = NO_BLOCK;
            if owner.ended > 0 {
                self.vacant.push_back(place as u32);
            }
        }
        block
    }

    fn add_newest(&mut self, place: usize, block: u32) {
        self.newer[block as usize] = NO_BLOCK;
        let owner = &mut self.owners[place];
        if owner.count == 0 {
            owner.oldest = block;
        } else {
            self.newer[owner.newest as usize] = block;
        }
        owner.newest = block;
        owner.count += 1;
    }
}

#[cfg(test)]
mod tests;
