//! The handshake of the time word, in every order that memory allows.
//!
//! Run: `RUSTFLAGS="--cfg loom" cargo test --release -p anrscope-recorder --lib loom_`

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use loom::thread;

use crate::time::time_word::{CLOSED, Pace, READ_CLOCK, TimeWord};

fn time_word(pace: Pace) -> Arc<TimeWord> {
    Arc::new(TimeWord {
        word: AtomicU64::new(CLOSED),
        high: AtomicU64::new(0),
        fold_main: AtomicU64::new(0),
        fold_others: AtomicU64::new(0),
        pace: AtomicU32::new(pace as u32),
        sleeping: AtomicBool::new(false),
    })
}

/// Only `open` unparks the ticker: a lost wake-up is a deadlock, which loom reports.
#[test]
fn loom_no_wake_up_is_lost() {
    loom::model(|| {
        let word = time_word(Pace::Coarse);
        let ticker = {
            let word = word.clone();
            thread::spawn(move || {
                // As the ticker rests: it may only go on once a thread records.
                while word.try_sleep() {
                    thread::park();
                    word.wake_up();
                }
                assert!(word.is_open());
            })
        };
        let sleeper = ticker.thread().clone();
        let (pace, time) = word.open(7, || sleeper.unpark());
        assert_eq!((pace, time), (Pace::Coarse, 7));
        ticker.join().unwrap();
    });
}

/// Two writers, one of which finds the word open already: neither leaves the ticker sleeping.
#[test]
fn loom_no_wake_up_is_lost_between_two_writers() {
    loom::model(|| {
        let word = time_word(Pace::Precise);
        let ticker = {
            let word = word.clone();
            thread::spawn(move || {
                while word.try_sleep() {
                    thread::park();
                    word.wake_up();
                }
            })
        };
        let sleeper = ticker.thread().clone();
        let other = {
            let (word, sleeper) = (word.clone(), sleeper.clone());
            thread::spawn(move || {
                word.open(1, || sleeper.unpark());
            })
        };
        word.open(2, || sleeper.unpark());
        other.join().unwrap();
        ticker.join().unwrap();
        assert_eq!(word.word.load(loom::sync::atomic::Ordering::SeqCst), READ_CLOCK);
    });
}

/// A word that is closed stays closed for the ticker's own stores, and times never run back.
#[test]
fn loom_a_tick_neither_opens_nor_turns_back() {
    loom::model(|| {
        let word = time_word(Pace::Coarse);
        let ticker = {
            let word = word.clone();
            thread::spawn(move || {
                word.tick(5);
                word.close();
                word.tick(6);
            })
        };
        let (_, first) = word.open(3, || ());
        let (_, second) = word.open(first, || ());
        assert!(second >= first);
        let seen = word.word.load(loom::sync::atomic::Ordering::SeqCst);
        assert!(seen == CLOSED || seen >= second, "{seen} after {second}");
        ticker.join().unwrap();
        let (_, third) = word.open(4, || ());
        assert!(third >= second);
    });
}

/// The word is closed after the end of recording, even if a writer was in the middle of an event.
#[test]
fn loom_what_was_ended_stays_closed() {
    loom::model(|| {
        let word = time_word(Pace::Precise);
        let writer = {
            let word = word.clone();
            thread::spawn(move || {
                word.open(3, || ());
            })
        };
        word.set_pace(Pace::Off);
        writer.join().unwrap();
        assert!(!word.is_open());
    });
}

/// After a change of the clock no thread goes on in the old one: an open word is of the new pace.
#[test]
fn loom_a_changed_pace_is_the_only_one() {
    loom::model(|| {
        let word = time_word(Pace::Precise);
        let writer = {
            let word = word.clone();
            thread::spawn(move || {
                word.open(3, || ());
            })
        };
        word.set_pace(Pace::Coarse);
        writer.join().unwrap();
        assert_ne!(word.word.load(loom::sync::atomic::Ordering::SeqCst), READ_CLOCK);
    });
}
