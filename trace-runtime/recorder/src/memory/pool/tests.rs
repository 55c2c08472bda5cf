//! Which thread gives a block up, and when.

use super::*;
use trace_format::time::SECOND;

/// A pool, and a clock that goes on by a second with each block.
struct FakePool {
    pool: Pool,
    now: std::cell::Cell<u64>,
}

impl FakePool {
    fn new(blocks: u32, threads: u32) -> Self {
        Self { pool: Pool::new(blocks, threads), now: std::cell::Cell::new(SECOND) }
    }

    fn join(&self) -> Option<u32> {
        self.pool.join(7, Box::leak(Box::new(Gate::new())))
    }

    /// As many threads, each with a block.
    fn threads(&self, count: usize) -> Vec<(u32, u32)> {
        (0..count).map(|_| self.join().unwrap()).map(|place| (place, self.take(place).unwrap())).collect()
    }

    fn take(&self, place: u32) -> Option<u32> {
        self.hand(place).map(|handed| handed.number)
    }

    fn hand(&self, place: u32) -> Option<Handed> {
        self.now.set(self.now.get() + SECOND);
        // Before it takes one, a writer says that it is there.
        self.pool.keep(place);
        self.pool.take(place, self.now.get(), |_| (4, 5), |handed| handed)
    }

    fn poll(&self, holders: &[u32]) {
        self.now.set(self.now.get() + SECOND);
        self.pool.poll_silent(self.now.get(), holders);
    }

    fn gate(&self, place: u32) -> &'static Gate {
        self.pool.lock().owners[place as usize].gate
    }
}

#[test]
fn a_busy_thread_takes_all_free_blocks_and_then_its_own_oldest() {
    let pool = FakePool::new(12, 2);
    let chatty = pool.join().unwrap();
    let first: Vec<_> = (0..12).map(|_| pool.take(chatty).unwrap()).collect();
    assert_eq!(pool.take(chatty), Some(first[0]));
    assert_eq!(pool.take(chatty), Some(first[1]));
}

#[test]
fn a_quiet_thread_keeps_its_last_blocks() {
    let pool = FakePool::new(8, 3);
    let (quiet, chatty) = (pool.join().unwrap(), pool.join().unwrap());
    let kept = [pool.take(quiet).unwrap(), pool.take(quiet).unwrap()];
    for _ in 0..1_000 {
        assert!(!kept.contains(&pool.take(chatty).unwrap()));
    }
    // A third one gets its share from the chatty one at once.
    let late = pool.join().unwrap();
    assert!(!kept.contains(&pool.take(late).unwrap()));
}

#[test]
fn ended_threads_keep_their_places_until_their_blocks_are_gone() {
    let pool = FakePool::new(3, 3);
    let (ended, a) = (pool.join().unwrap(), pool.join().unwrap());
    let old = pool.take(ended).unwrap();
    pool.pool.leave(ended);
    let mine = [pool.take(a).unwrap(), pool.take(a).unwrap()];
    let b = pool.join().unwrap();
    assert_eq!(pool.join(), None, "three places, one of them an ended thread with a block");
    assert_eq!(pool.take(b), Some(old));
    assert!(pool.join().is_some());
    assert!(!mine.contains(&old));
}

#[test]
fn places_are_taken_again_in_the_order_in_which_their_threads_ended() {
    let pool = FakePool::new(2, 3);
    let places: Vec<_> = (0..3).map(|_| pool.join().unwrap()).collect();
    assert_eq!(pool.join(), None);
    for ended in [places[1], places[0]] {
        pool.pool.leave(ended);
    }
    assert_eq!([pool.join(), pool.join(), pool.join()], [Some(places[1]), Some(places[0]), None]);
}

#[test]
fn a_thread_that_finds_no_block_goes_on_in_its_own_and_only_a_new_one_waits() {
    let pool = FakePool::new(1, 2);
    let (a, b) = (pool.join().unwrap(), pool.join().unwrap());
    let only = pool.take(a).unwrap();
    assert_eq!(pool.take(b), None);
    assert!(pool.pool.is_starved());
    assert_eq!(pool.take(a), Some(only));
}

#[test]
fn a_new_thread_gets_the_block_of_the_one_that_is_silent_longest() {
    let pool = FakePool::new(4, 100);
    let threads = pool.threads(4);
    pool.poll(&[]);
    // The first two are heard again, and are silent again later.
    assert_eq!([pool.pool.keep(threads[0].0), pool.pool.keep(threads[1].0)], [None; 2]);
    pool.poll(&[]);
    let late = pool.threads(4);
    let taken: Vec<_> = late.iter().map(|(_, number)| *number).collect();
    assert_eq!(taken, [2, 3, 0, 1].map(|thread: usize| threads[thread].1));
    // All of them go on, each with a block of another one.
    assert_eq!(pool.pool.keep(threads[2].0), Some(5));
    assert_eq!(pool.pool.keep(threads[2].0), None, "reported once");
    assert_eq!(pool.take(threads[2].0), None, "those that have one wrote just now");
    pool.poll(&[]);
    assert_eq!(pool.take(threads[2].0), Some(taken[0]));
}

#[test]
fn threads_that_hold_locks_keep_their_block_unless_half_of_the_pool_is_theirs() {
    let pool = FakePool::new(4, 100);
    let holder = pool.pool.join(99, Box::leak(Box::new(Gate::new()))).unwrap();
    let held = pool.take(holder).unwrap();
    pool.threads(3);
    for _ in 0..3 {
        pool.poll(&[3, 99]);
        assert!(pool.threads(3).iter().all(|(_, number)| *number != held));
    }
    assert_eq!(pool.pool.keep(holder), None);
    pool.poll(&[7, 99]);
    assert_eq!(pool.threads(1)[0].1, held, "all of them hold locks");
}

#[test]
fn a_writer_that_is_inside_keeps_its_block() {
    let pool = FakePool::new(2, 100);
    let threads = pool.threads(2);
    pool.poll(&[]);
    pool.gate(threads[0].0).enter();
    assert_eq!(pool.threads(1)[0].1, threads[1].1);
    let late = pool.join().unwrap();
    assert_eq!(pool.take(late), None);
    pool.gate(threads[0].0).leave();
    assert_eq!(pool.take(late), Some(threads[0].1));
}

#[test]
fn no_block_is_taken_within_the_grace_period() {
    let pool = FakePool::new(1, 100);
    pool.threads(1);
    pool.poll(&[]);
    let late = pool.join().unwrap();
    let at = |now| pool.pool.take(late, now, |_| (5, 5), |handed| handed.number);
    assert_eq!(at(pool.now.get() + GRACE_NS - 1), None);
    // As if it had been heard then.
    assert_eq!(at(pool.now.get() + 2 * GRACE_NS), Some(0));
}

#[test]
fn a_block_that_java_wrote_to_is_reused_behind_what_java_may_still_store() {
    let pool = FakePool::new(1, 100);
    let first = pool.threads(1)[0].0;
    pool.gate(first).granted.store(true, Ordering::Relaxed);
    pool.poll(&[]);
    let second = pool.join().unwrap();
    assert_eq!(pool.hand(second).unwrap().stale.end(), 7);
    pool.poll(&[]);
    let third = pool.join().unwrap();
    assert_eq!(pool.hand(third).unwrap().stale.end(), 7, "the second one had not granted it");
    assert_eq!(pool.pool.keep(first), Some(5));
    pool.poll(&[]);
    assert_eq!(pool.hand(first).unwrap().stale.end(), 0, "its former owner was seen elsewhere");
}

#[test]
fn busy_threads_gather_blocks_of_silent_ones_and_leave_a_quarter_to_them() {
    let pool = FakePool::new(64, 1_000);
    let silent = pool.threads(64);
    pool.poll(&[]);
    let busy: Vec<_> = (0..4).map(|_| pool.join().unwrap()).collect();
    for _ in 0..100 {
        busy.iter().for_each(|place| assert!(pool.take(*place).is_some()));
    }
    let state = pool.pool.lock();
    let has = |place: u32| state.owners[place as usize].count;
    assert!(
        busy.iter().all(|place| has(*place) >= BUSY_BLOCKS),
        "{:?}",
        busy.iter().map(|p| has(*p)).collect::<Vec<_>>()
    );
    assert!(silent.iter().filter(|(place, _)| has(*place) == 1).count() >= 16);
}

#[test]
fn with_few_threads_no_thread_is_polled() {
    let pool = FakePool::new(64, 100);
    pool.threads(15);
    assert!(!pool.pool.is_crowded());
    pool.threads(1);
    assert!(pool.pool.is_crowded());
}
