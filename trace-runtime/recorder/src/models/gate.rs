//! The gate between a thread's writer in Java and those who stop it, in every order that memory allows.
//!
//! Each model has a twin with one step left out, which must fail.
//! Run: `RUSTFLAGS="--cfg loom" cargo test --release -p anrscope-recorder --lib loom_`

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;

use crate::gate::{CLAIM, CLOSED, Gate, MIGRATE};

const EVENTS: usize = 3;
const ROOM: u64 = 1 << 42;

/// A thread's block in memory and in the file, and its gate.
struct Block {
    gate: Gate,
    memory: [AtomicU64; EVENTS],
    file: [AtomicU64; EVENTS],
    /// The writers were stopped.
    stopped: AtomicBool,
}

impl Block {
    fn new() -> Self {
        let words = || [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
        Self { gate: Gate::new(), memory: words(), file: words(), stopped: AtomicBool::new(false) }
    }

    fn copy(&self) {
        for (from, to) in self.memory.iter().zip(&self.file) {
            match from.load(Ordering::Acquire) {
                0 => return,
                word => to.store(word, Ordering::Relaxed),
            }
        }
    }

    /// The owner: its first event goes through the native writer, which grants the position.
    fn write(&self, checks: bool) {
        let mut in_file = false;
        for number in 0..EVENTS {
            let stopped = self.stopped.load(Ordering::SeqCst);
            let open = self.gate.since.load(Ordering::Relaxed) < CLOSED;
            if open && !in_file {
                assert!(!stopped, "a word begun behind the stop, into memory");
            } else if !in_file && self.gate.is_asked() {
                self.copy();
                in_file = true;
                self.gate.answer(MIGRATE);
            }
            let words = if in_file { &self.file } else { &self.memory };
            words[number].store(number as u64 + 1, Ordering::Release);
            if !open && !in_file {
                if checks {
                    self.gate.open(100, 0);
                } else {
                    self.gate.t0.store(100, Ordering::SeqCst);
                    self.gate.since.store(0, Ordering::SeqCst);
                }
            }
        }
    }

    /// The worker, which knows the file.
    fn stop(&self) {
        self.gate.ask(MIGRATE);
        self.stopped.store(true, Ordering::SeqCst);
    }
}

/// After the stop at most one word goes to memory, and with one more retry of the worker everything is in the file.
fn stop_beside_java(checks: bool) {
    loom::model(move || {
        let block = Arc::new(Block::new());
        let worker = {
            let block = block.clone();
            thread::spawn(move || block.stop())
        };
        block.write(checks);
        worker.join().unwrap();
        if block.gate.asked.load(Ordering::SeqCst) != 0 {
            // It has not migrated: the later retry.
            block.copy();
        }
        for (number, word) in block.file.iter().enumerate() {
            assert_eq!(word.load(Ordering::Relaxed), number as u64 + 1);
        }
    });
}

#[test]
fn loom_a_stopped_writer_in_java_begins_no_word_in_memory() {
    stop_beside_java(true);
}

#[test]
#[should_panic]
fn loom_an_owner_that_does_not_check_for_requests_writes_on_in_memory() {
    stop_beside_java(false);
}

/// The owner goes from a block that was opened at 100 to one that was opened at 1,000 while the ticker comes by.
fn tick_beside_new_block(checks: bool) {
    loom::model(move || {
        let gate = Arc::new(Gate::new());
        assert!(gate.open(100, 0));
        let ticker = {
            let gate = gate.clone();
            thread::spawn(move || gate.tick(1_003, ROOM))
        };
        gate.close();
        let open = if checks {
            gate.open(1_000, 0)
        } else {
            gate.t0.store(1_000, Ordering::SeqCst);
            gate.since.store(0, Ordering::SeqCst);
            true
        };
        let since = gate.since.load(Ordering::Relaxed);
        assert!(if open { since == 0 || since == 3 } else { since == CLOSED }, "{since}");
        ticker.join().unwrap();
        let since = gate.since.load(Ordering::Relaxed);
        assert!(if open { since == 0 || since == 3 } else { since == CLOSED }, "{since}");
    });
}

#[test]
fn loom_mains_time_is_never_computed_from_another_block() {
    tick_beside_new_block(true);
}

#[test]
#[should_panic]
fn loom_an_owner_that_does_not_check_for_the_ticker_gets_another_blocks_time() {
    tick_beside_new_block(false);
}

/// The owner records an event beside Java while the ticker comes by and another thread closes the gate.
fn advance_beside_ticker(checks: bool) {
    loom::model(move || {
        let gate = Arc::new(Gate::new());
        assert!(gate.open(100, 0));
        let others = {
            let gate = gate.clone();
            thread::spawn(move || {
                gate.tick(103, ROOM);
                gate.close();
            })
        };
        let open = if checks {
            gate.advance(5)
        } else {
            let before = gate.since.load(Ordering::SeqCst);
            gate.since.store(5, Ordering::SeqCst);
            before < CLOSED
        };
        let since = gate.since.load(Ordering::Relaxed);
        assert!(since == CLOSED || open && since == 5, "Java's next word would be before the event: {since}");
        others.join().unwrap();
        assert_eq!(gate.since.load(Ordering::Relaxed), CLOSED, "closed, and Java writes on");
    });
}

#[test]
fn loom_java_continues_no_earlier_than_an_event_beside_it_and_stays_closed_out() {
    advance_beside_ticker(true);
}

#[test]
#[should_panic]
fn loom_an_owner_that_stores_its_time_opens_a_closed_gate() {
    advance_beside_ticker(false);
}

/// Pause: the word is closed, then the gate; the owner opens the gate, then loads the word.
fn pause_beside_opening(checks: bool) {
    loom::model(move || {
        let gate = Arc::new(Gate::new());
        let word = Arc::new(AtomicU64::new(7));
        let other = {
            let (gate, word) = (gate.clone(), word.clone());
            thread::spawn(move || {
                word.swap(0, Ordering::SeqCst);
                gate.close();
            })
        };
        if gate.open(100, 0) && checks && word.load(Ordering::SeqCst) == 0 {
            gate.close();
        }
        other.join().unwrap();
        assert_eq!(gate.since.load(Ordering::Relaxed), CLOSED, "paused, and main writes on");
    });
}

#[test]
fn loom_nothing_is_written_while_it_is_paused() {
    pause_beside_opening(true);
}

#[test]
#[should_panic]
fn loom_an_owner_that_does_not_check_the_word_writes_on() {
    pause_beside_opening(false);
}

/// Which step is left out when a block is taken from a silent thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Rightly,
    /// The pool does not check whether the writer is inside.
    FromInside,
    /// The writer does not say that it is inside.
    Unseen,
    /// The next life begins at the word that the former owner's writer in Java may still store.
    WithTheWord,
}

/// A block that is taken from its owner, who wakes at this instant, and given to another thread. The lock is the pool's.
struct Shared {
    gate: Gate,
    lock: loom::sync::Mutex<bool>,
    head: AtomicU64,
    words: [AtomicU64; 4],
}

impl Shared {
    fn new(words: u64) -> Self {
        let word = |n: u64| AtomicU64::new(if n < words { n + 1 } else { 0 });
        Self {
            gate: Gate::new(),
            lock: loom::sync::Mutex::new(false),
            head: AtomicU64::new(words),
            words: [word(0), word(1), word(2), word(3)],
        }
    }

    /// An event of the owner's native writer; returns whether it went to the block.
    fn write(&self, how: Taken) -> bool {
        if how != Taken::Unseen {
            self.gate.enter();
        }
        let lost = self.gate.is_asked_to(CLAIM) && {
            let lost = *self.lock.lock().unwrap();
            self.gate.answer(CLAIM);
            lost
        };
        if !lost {
            let head = self.head.load(Ordering::Relaxed);
            self.words[head as usize].store(10, Ordering::Relaxed);
            self.head.store(head + 1, Ordering::Relaxed);
        }
        self.gate.leave();
        !lost
    }

    /// The pool, with the lock, and the next owner: where that begins; `None` if the block was left alone.
    fn take(&self, how: Taken) -> Option<u64> {
        let mut taken = self.lock.lock().unwrap();
        if how != Taken::FromInside && !self.gate.is_claimed() {
            return None;
        }
        *taken = true;
        drop(taken);
        self.head.store(0, Ordering::Relaxed);
        self.words[0].store(20, Ordering::Relaxed);
        self.head.store(1, Ordering::Relaxed);
        Some(0)
    }
}

fn take_from_waking(how: Taken) {
    loom::model(move || {
        let block = Arc::new(Shared::new(1));
        block.gate.ask(CLAIM);
        // What the pool asked, it asked after an event of the owner's that had not seen it.
        block.gate.answer(CLAIM);
        let pool = {
            let block = block.clone();
            thread::spawn(move || {
                block.gate.ask(CLAIM);
                block.take(how)
            })
        };
        let written = block.write(how);
        let taken = pool.join().unwrap();
        let (head, first) = (block.head.load(Ordering::Relaxed), block.words[0].load(Ordering::Relaxed));
        match taken {
            // What the owner wrote before is part of what was taken.
            Some(_) => assert_eq!((head, first), (1, 20), "two writers"),
            None => assert!(written && head == 2 && first == 1, "a word is gone"),
        }
    });
}

#[test]
fn loom_a_block_is_taken_from_a_silent_writer_or_left_to_one_that_wakes() {
    take_from_waking(Taken::Rightly);
}

#[test]
#[should_panic]
fn loom_a_pool_that_does_not_check_whether_the_writer_is_inside_makes_two_writers() {
    take_from_waking(Taken::FromInside);
}

#[test]
#[should_panic]
fn loom_a_writer_that_does_not_say_that_it_is_inside_writes_into_anothers_block() {
    take_from_waking(Taken::Unseen);
}

/// The owner's Java writer wakes while its block is taken: it has checked its gate, or checks it now.
fn take_from_waking_java(how: Taken) {
    loom::model(move || {
        let block = Arc::new(Shared::new(1));
        assert!(block.gate.open(100, 0));
        let pool = {
            let block = block.clone();
            thread::spawn(move || {
                block.gate.ask(CLAIM);
                // As far as Java has come: the first word that is 0, and behind that one the 0 that Java stores first.
                let words = block.words.iter().take_while(|word| word.load(Ordering::Acquire) != 0).count();
                let begin = if how == Taken::WithTheWord { words } else { (words + 2).min(3) };
                block.words[begin].store(20, Ordering::Release);
                begin
            })
        };
        if block.gate.t0.load(Ordering::Acquire) < CLOSED {
            block.words[2].store(0, Ordering::Relaxed);
            block.words[1].store(10, Ordering::Release);
        }
        let begin = pool.join().unwrap();
        assert_eq!(block.words[begin].load(Ordering::Relaxed), 20, "a word of another thread's in this life");
    });
}

#[test]
fn loom_a_word_that_java_stores_late_is_outside_of_the_next_life() {
    take_from_waking_java(Taken::Rightly);
}

#[test]
#[should_panic]
fn loom_a_life_that_begins_where_java_was_gets_its_late_word() {
    take_from_waking_java(Taken::WithTheWord);
}
