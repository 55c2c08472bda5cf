//! Blocks that all threads but main share, handed out fairly.
//!
//! As long as blocks are free, whoever asks gets one. Then the thread with the most gives up its oldest,
//! but never one of its last [`KEEP`]: a chatty thread recycles itself and cannot push a quiet one out.
//! Threads that have ended keep theirs until there is nothing else to take; then who ended first loses
//! first.

use std::sync::{Mutex, PoisonError};

/// Blocks that a living thread is left with at least.
const KEEP: u32 = 2;

const NONE: u32 = u32::MAX;

/// Which thread a block belongs to. All memory is taken when it is made: asking for a block allocates
/// nothing.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: Vec<u32>,
    /// For each block the next newer one of its thread.
    newer: Vec<u32>,
    owners: Vec<Owner>,
    /// How many threads have ended.
    endings: u64,
}

/// A place in the thread table.
#[derive(Clone, Copy, Debug)]
struct Owner {
    used: bool,
    /// When it ended, as a running number from 1; 0 while it lives.
    ended: u64,
    oldest: u32,
    newest: u32,
    count: u32,
}

const NOBODY: Owner = Owner { used: false, ended: 0, oldest: NONE, newest: NONE, count: 0 };

impl Pool {
    /// A pool of `blocks` for at most `threads` at a time.
    pub(crate) fn new(blocks: u32, threads: u32) -> Self {
        let state = State {
            free: (0..blocks).rev().collect(),
            newer: vec![NONE; blocks as usize],
            owners: vec![NOBODY; threads as usize],
            endings: 0,
        };
        Self { state: Mutex::new(state) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing in here panics half-way: a poisoned lock still guards whole lists.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new thread. Places of ended threads are taken again once their blocks are gone.
    pub(crate) fn join(&self) -> Option<u32> {
        let mut state = self.lock();
        let place = state
            .owners
            .iter()
            .position(|o| !o.used)
            .or_else(|| state.owners.iter().position(|o| o.ended > 0 && o.count == 0))?;
        state.owners[place] = Owner { used: true, ..NOBODY };
        Some(place as u32)
    }

    /// The thread at `place` has ended.
    pub(crate) fn leave(&self, place: u32) {
        let mut state = self.lock();
        state.endings += 1;
        state.owners[place as usize].ended = state.endings;
    }

    /// The number of a block for the thread at `place`. One that is taken from a thread is `empty`ed before
    /// anybody can take the next: so a thread's blocks go in the order of their age, and a kill in the
    /// middle leaves no hole between those that are left.
    pub(crate) fn take(&self, place: u32, empty: impl FnOnce(u32)) -> Option<u32> {
        let mut state = self.lock();
        let block = match state.free.pop() {
            Some(block) => block,
            None => {
                let victim = state.victim(place)?;
                let block = state.remove_oldest(victim);
                empty(block);
                block
            }
        };
        state.add_newest(place as usize, block);
        Some(block)
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

    #[test]
    fn a_chatty_thread_takes_all_that_is_free_and_then_its_own_oldest() {
        let pool = Pool::new(4, 2);
        let chatty = pool.join().unwrap();
        let first: Vec<_> = (0..4).map(|_| pool.take(chatty, |_| ()).unwrap()).collect();
        assert_eq!(pool.take(chatty, |_| ()), Some(first[0]));
        assert_eq!(pool.take(chatty, |_| ()), Some(first[1]));
    }

    #[test]
    fn a_quiet_thread_keeps_its_last_blocks() {
        let pool = Pool::new(8, 3);
        let (quiet, chatty) = (pool.join().unwrap(), pool.join().unwrap());
        let kept = [pool.take(quiet, |_| ()).unwrap(), pool.take(quiet, |_| ()).unwrap()];
        for _ in 0..1_000 {
            assert!(!kept.contains(&pool.take(chatty, |_| ()).unwrap()));
        }
        // A third one gets its share from the chatty one at once.
        let late = pool.join().unwrap();
        assert!(!kept.contains(&pool.take(late, |_| ()).unwrap()));
    }

    #[test]
    fn ended_threads_give_up_their_blocks_last_and_their_places_then() {
        let pool = Pool::new(3, 3);
        let (ended, a) = (pool.join().unwrap(), pool.join().unwrap());
        let old = pool.take(ended, |_| ()).unwrap();
        pool.leave(ended);
        let mine = [pool.take(a, |_| ()).unwrap(), pool.take(a, |_| ()).unwrap()];
        let b = pool.join().unwrap();
        assert_eq!(pool.join(), None, "three places, one of them an ended thread with a block");
        assert_eq!(pool.take(b, |_| ()), Some(old));
        assert!(pool.join().is_some());
        assert!(!mine.contains(&old));
    }

    #[test]
    fn with_nothing_to_take_it_says_so() {
        let pool = Pool::new(1, 2);
        let (a, b) = (pool.join().unwrap(), pool.join().unwrap());
        assert!(pool.take(a, |_| ()).is_some());
        assert_eq!(pool.take(b, |_| ()), None);
        assert_eq!(pool.take(a, |_| ()), None);
    }
}
