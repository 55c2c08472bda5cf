//! The door between a thread's writer in Java and those who stop it, in every order that memory allows.
//!
//! The file under test is the real one, with loom's atomics in place of the machine's. Each model has a twin with one
//! step left out, which must fail.
//! Run: `RUSTFLAGS="--cfg loom" cargo test --release -p trace-runtime --lib loom_`

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
}
#[path = "../writing/door.rs"]
mod door;

use door::{CLOSED, Door};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;

const EVENTS: usize = 3;
const ROOM: u64 = 1 << 42;

/// A thread's block in memory and in the file, and its door.
struct Block {
    door: Door,
    memory: [AtomicU64; EVENTS],
    file: [AtomicU64; EVENTS],
    /// Whoever stops the writers has done so.
    stopped: AtomicBool,
}

impl Block {
    fn new() -> Self {
        let words = || [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
        Self { door: Door::new(), memory: words(), file: words(), stopped: AtomicBool::new(false) }
    }

    fn copy(&self) {
        for (from, to) in self.memory.iter().zip(&self.file) {
            match from.load(Ordering::Acquire) {
                0 => return,
                word => to.store(word, Ordering::Relaxed),
            }
        }
    }

    /// The owner: its first event goes through the native writer, which lends the pen.
    fn write(&self, looks: bool) {
        let mut in_file = false;
        for number in 0..EVENTS {
            let stopped = self.stopped.load(Ordering::SeqCst);
            let open = self.door.since.load(Ordering::Relaxed) < CLOSED;
            if open && !in_file {
                assert!(!stopped, "a word begun behind the stop, into memory");
            } else if !in_file && self.door.is_asked() {
                self.copy();
                in_file = true;
                self.door.answer();
            }
            let words = if in_file { &self.file } else { &self.memory };
            words[number].store(number as u64 + 1, Ordering::Release);
            if !open && !in_file {
                if looks {
                    self.door.open(100, 0);
                } else {
                    self.door.t0.store(100, Ordering::SeqCst);
                    self.door.since.store(0, Ordering::SeqCst);
                }
            }
        }
    }

    /// The worker, which knows the file.
    fn stop(&self) {
        self.door.ask();
        self.stopped.store(true, Ordering::SeqCst);
    }
}

/// After the stop at most one word goes to memory, and with one more look of the worker everything is in the file.
fn stop_beside_java(looks: bool) {
    loom::model(move || {
        let block = Arc::new(Block::new());
        let worker = {
            let block = block.clone();
            thread::spawn(move || block.stop())
        };
        block.write(looks);
        worker.join().unwrap();
        if block.door.asked.load(Ordering::SeqCst) {
            // It has not followed: the look that comes later.
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
fn loom_an_owner_that_does_not_look_whether_it_is_asked_writes_on_in_memory() {
    stop_beside_java(false);
}

/// The owner goes from a block that was opened at 100 to one that was opened at 1,000 while the ticker comes by.
fn tick_beside_new_block(looks: bool) {
    loom::model(move || {
        let door = Arc::new(Door::new());
        assert!(door.open(100, 0));
        let ticker = {
            let door = door.clone();
            thread::spawn(move || door.tick(1_003, ROOM))
        };
        door.close();
        let open = if looks {
            door.open(1_000, 0)
        } else {
            door.t0.store(1_000, Ordering::SeqCst);
            door.since.store(0, Ordering::SeqCst);
            true
        };
        let since = door.since.load(Ordering::Relaxed);
        assert!(if open { since == 0 || since == 3 } else { since == CLOSED }, "{since}");
        ticker.join().unwrap();
        let since = door.since.load(Ordering::Relaxed);
        assert!(if open { since == 0 || since == 3 } else { since == CLOSED }, "{since}");
    });
}

#[test]
fn loom_mains_time_is_never_told_from_another_block() {
    tick_beside_new_block(true);
}

#[test]
#[should_panic]
fn loom_an_owner_that_does_not_look_for_the_ticker_gets_another_blocks_time() {
    tick_beside_new_block(false);
}

/// Pause: the word is closed, then the door; the owner opens the door, then looks at the word.
fn pause_beside_opening(looks: bool) {
    loom::model(move || {
        let door = Arc::new(Door::new());
        let word = Arc::new(AtomicU64::new(7));
        let other = {
            let (door, word) = (door.clone(), word.clone());
            thread::spawn(move || {
                word.swap(0, Ordering::SeqCst);
                door.close();
            })
        };
        if door.open(100, 0) && looks && word.load(Ordering::SeqCst) == 0 {
            door.close();
        }
        other.join().unwrap();
        assert_eq!(door.since.load(Ordering::Relaxed), CLOSED, "paused, and main writes on");
    });
}

#[test]
fn loom_nothing_is_written_while_it_is_paused() {
    pause_beside_opening(true);
}

#[test]
#[should_panic]
fn loom_an_owner_that_does_not_look_at_the_word_writes_on() {
    pause_beside_opening(false);
}
