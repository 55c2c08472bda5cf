//! Blocks that all threads but main share, handed out fairly.
//!
//! As long as blocks are free, whoever asks gets one. Then the thread with the most gives up its oldest,
//! but never one of its last [`KEEP`]: a chatty thread recycles itself and cannot push a quiet one out.
//! Threads that have ended keep theirs until there is nothing else to take; then who ended first loses
//! first.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sync::{Mutex, MutexGuard};
use crate::writing::door::Door;

/// Blocks that a living thread is left with at least.
const KEEP: u32 = 2;

const NONE: u32 = u32::MAX;

/// Which thread a block belongs to. All memory is taken when it is made: asking for a block allocates
/// nothing.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Blocks handed out so far; [`Pool::ahead`] has seen this many.
    taken: AtomicU32,
    seen: AtomicU32,
}

#[derive(Debug)]
struct State {
    free: Vec<u32>,
    /// For each block the next newer one of its thread.
    newer: Vec<u32>,
    owners: Vec<Owner>,
    /// So many at most, for which there is room.
    threads: usize,
    /// How many threads have ended.
    endings: u64,
}

/// A place in the thread table that was ever taken.
#[derive(Clone, Copy, Debug)]
struct Owner {
    /// When it ended, as a running number from 1; 0 while it lives.
    ended: u64,
    oldest: u32,
    newest: u32,
    count: u32,
    /// The place's, for whoever has it.
    door: Option<&'static Door>,
}

const NOBODY: Owner = Owner { ended: 0, oldest: NONE, newest: NONE, count: 0, door: None };

impl Pool {
    /// A pool of `blocks` for at most `threads` at a time.
    pub(crate) fn new(blocks: u32, threads: u32) -> Self {
        let state = State {
            free: (0..blocks).rev().collect(),
            newer: vec![NONE; blocks as usize],
            // Pages of places that nobody takes are never touched.
            owners: Vec::with_capacity(threads as usize),
            threads: threads as usize,
            endings: 0,
        };
        Self { state: Mutex::new(state), taken: AtomicU32::new(1), seen: AtomicU32::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way: a poisoned lock still guards whole lists.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new thread. Places of ended threads are taken again once their blocks are gone.
    pub(crate) fn join(&self) -> Option<(u32, &'static Door)> {
        let mut state = self.lock();
        let place = match state.owners.len() {
            taken if taken < state.threads => {
                state.owners.push(NOBODY);
                taken
            }
            _ => state.owners.iter().position(|o| o.ended > 0 && o.count == 0)?,
        };
        let door = *state.owners[place].door.get_or_insert_with(|| Box::leak(Box::new(Door::new())));
        state.owners[place] = Owner { door: Some(door), ..NOBODY };
        Some((place as u32, door))
    }

    /// Calls `f` with the door of every thread that ever had a place.
    pub(crate) fn doors(&self, f: impl Fn(&Door)) {
        self.lock().owners.iter().filter_map(|owner| owner.door).for_each(f);
    }

    /// The thread at `place` has ended.
    pub(crate) fn leave(&self, place: u32) {
        let mut state = self.lock();
        state.endings += 1;
        if let Some(door) = state.owners[place as usize].door {
            door.close();
        }
        state.owners[place as usize].ended = state.endings;
    }

    /// A block for the thread at `place`: what `begin` makes of its number. One that is taken from a thread, which
    /// `begin` is told, must be emptied there, before anybody can take the next: so a thread's blocks go in the order
    /// of their age, and a kill in the middle leaves no hole between those that are left.
    pub(crate) fn take<R>(&self, place: u32, begin: impl FnOnce(u32, bool) -> R) -> Option<R> {
        let mut state = self.lock();
        let (block, recycled) = match state.free.pop() {
            Some(block) => (block, false),
            None => {
                let victim = state.victim(place)?;
                (state.remove_oldest(victim), true)
            }
        };
        let begun = begin(block, recycled);
        state.add_newest(place as usize, block);
        self.taken.fetch_add(1, Ordering::Relaxed);
        Some(begun)
    }

    /// Calls `f` while no block changes hands.
    pub(crate) fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        let _state = self.lock();
        f()
    }

    /// Calls `f` with each block that was ever handed out and whether its writer has left it, one after the other;
    /// the block does not change hands meanwhile.
    ///
    /// `prepare` is called before with each, and does not keep others from taking blocks.
    pub(crate) fn visit(&self, mut prepare: impl FnMut(u32), mut f: impl FnMut(u32, bool)) {
        let blocks = self.lock().newer.len() as u32;
        for number in 0..blocks {
            prepare(number);
            let state = self.lock();
            let open = |owner: &Owner| owner.ended == 0 && owner.newest == number && owner.count > 0;
            // Free ones are taken in the order of their numbers.
            if state.free.last().is_some_and(|free| number >= *free) {
                return;
            }
            f(number, !state.owners.iter().any(open));
        }
    }

    /// Calls `f` with the blocks that are likely to be handed out next, `count` at most, if any was since the last
    /// call. Never waits for a thread that is taking one.
    pub(crate) fn ahead(&self, count: usize, f: impl FnMut(u32)) {
        let taken = self.taken.load(Ordering::Relaxed);
        if self.seen.swap(taken, Ordering::Relaxed) == taken {
            return;
        }
        let Ok(state) = self.state.try_lock() else { return };
        let free = state.free.iter().rev().copied();
        let richest = state.owners.iter().max_by_key(|o| o.count).map_or(NONE, |o| o.oldest);
        let oldest = std::iter::successors(Some(richest), |block| state.newer.get(*block as usize).copied())
            .take_while(|block| *block != NONE);
        free.chain(oldest).take(count).for_each(f);
    }
}

impl State {
    /// Who has to give a block up: who has the most beyond what everybody keeps, else who ended first, else
    /// the asking thread itself.
    fn victim(&self, asking: u32) -> Option<usize> {
        let richest = || {
            (0..self.owners.len())
                .filter(|i| self.owners[*i].count > KEEP)
                .max_by_key(|i| self.owners[*i].count)
        };
        let ended_first = || {
            let ended = |i: &usize| self.owners[*i].ended > 0 && self.owners[*i].count > 0;
            (0..self.owners.len()).filter(ended).min_by_key(|i| self.owners[*i].ended)
        };
        // The block it writes to is its newest.
        let own = || Some(asking as usize).filter(|i| self.owners[*i].count > 1);
        richest().or_else(ended_first).or_else(own)
    }

    fn remove_oldest(&mut self, place: usize) -> u32 {
        let owner = &mut self.owners[place];
        let block = owner.oldest;
        owner.oldest = self.newer[block as usize];
        owner.count -= 1;
        if owner.count == 0 {
            owner.newest = NONE;
        }
        block
    }

    fn add_newest(&mut self, place: usize, block: u32) {
        self.newer[block as usize] = NONE;
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
mod tests {
    use super::*;

    fn join(pool: &Pool) -> Option<u32> {
        pool.join().map(|(place, _)| place)
    }

    #[test]
    fn a_chatty_thread_takes_all_that_is_free_and_then_its_own_oldest() {
        let pool = Pool::new(4, 2);
        let chatty = join(&pool).unwrap();
        let first: Vec<_> = (0..4).map(|_| pool.take(chatty, |n, _| n).unwrap()).collect();
        assert_eq!(pool.take(chatty, |n, _| n), Some(first[0]));
        assert_eq!(pool.take(chatty, |n, _| n), Some(first[1]));
    }

    #[test]
    fn a_quiet_thread_keeps_its_last_blocks() {
        let pool = Pool::new(8, 3);
        let (quiet, chatty) = (join(&pool).unwrap(), join(&pool).unwrap());
        let kept = [pool.take(quiet, |n, _| n).unwrap(), pool.take(quiet, |n, _| n).unwrap()];
        for _ in 0..1_000 {
            assert!(!kept.contains(&pool.take(chatty, |n, _| n).unwrap()));
        }
        // A third one gets its share from the chatty one at once.
        let late = join(&pool).unwrap();
        assert!(!kept.contains(&pool.take(late, |n, _| n).unwrap()));
    }

    #[test]
    fn ended_threads_give_up_their_blocks_last_and_their_places_then() {
        let pool = Pool::new(3, 3);
        let (ended, a) = (join(&pool).unwrap(), join(&pool).unwrap());
        let old = pool.take(ended, |n, _| n).unwrap();
        pool.leave(ended);
        let mine = [pool.take(a, |n, _| n).unwrap(), pool.take(a, |n, _| n).unwrap()];
        let b = join(&pool).unwrap();
        assert_eq!(join(&pool), None, "three places, one of them an ended thread with a block");
        assert_eq!(pool.take(b, |n, _| n), Some(old));
        assert!(join(&pool).is_some());
        assert!(!mine.contains(&old));
    }

    #[test]
    fn with_nothing_to_take_it_says_so() {
        let pool = Pool::new(1, 2);
        let (a, b) = (join(&pool).unwrap(), join(&pool).unwrap());
        assert!(pool.take(a, |n, _| n).is_some());
        assert_eq!(pool.take(b, |n, _| n), None);
        assert_eq!(pool.take(a, |n, _| n), None);
    }
}
