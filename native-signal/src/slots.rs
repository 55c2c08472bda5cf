//! Passes notes from the handler to our thread: a fixed number of slots, filled without locks.
//!
//! Several handlers may run at a time (each thread with SIGQUIT open can take one), and one of them may be stopped at
//! any instruction, so a queue whose head waits for its slowest writer will not do. Instead a writer claims one free slot
//! by compare-and-swap, and no writer waits for another; a ticket number restores the order.

use crate::sensed::{Forwarded, Sensed};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The number of slots. A real ANR sends one or two signals; in a storm the rest is only counted.
pub(crate) const SLOTS: usize = 32;

/// What a slot is made with.
const FREE: u32 = 0;
const FILLING: u32 = 1;
const FULL: u32 = 2;

#[derive(Default)]
struct Slot {
    state: AtomicU32,
    ticket: AtomicU32,
    time_ns: AtomicU64,
    si_code: AtomicI32,
    si_pid: AtomicI32,
    si_uid: AtomicU32,
    forwarded_kind: AtomicU32,
    forwarded_detail: AtomicI32,
}

/// The slots; a few compare-and-swaps to push, no allocation, safe in a signal handler.
#[derive(Default)]
pub(crate) struct Slots {
    next_ticket: AtomicU32,
    slots: [Slot; SLOTS],
}

/// What [`Slots::drain`] found, oldest first.
pub(crate) struct Drained {
    found: [Option<(u32, Sensed)>; SLOTS],
    count: usize,
}

impl Drained {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Sensed> + '_ {
        self.found[..self.count].iter().flatten().map(|(_, sensed)| *sensed)
    }
}

impl Slots {
    /// Puts a note into a free slot; false if no slot is free.
    pub(crate) fn push(&self, sensed: Sensed) -> bool {
        let ticket = self.next_ticket.fetch_add(1, Ordering::Relaxed);
        for step in 0..SLOTS {
            let slot = &self.slots[(ticket as usize + step) % SLOTS];
            // Acquire: the reader has loaded the former note before ours is stored.
            if slot.state.compare_exchange(FREE, FILLING, Ordering::Acquire, Ordering::Relaxed).is_err() {
                continue;
            }
            let (kind, detail) = sensed.forwarded.to_words();
            slot.ticket.store(ticket, Ordering::Relaxed);
            slot.time_ns.store(sensed.time_ns, Ordering::Relaxed);
            slot.si_code.store(sensed.si_code, Ordering::Relaxed);
            slot.si_pid.store(sensed.si_pid, Ordering::Relaxed);
            slot.si_uid.store(sensed.si_uid, Ordering::Relaxed);
            slot.forwarded_kind.store(kind, Ordering::Relaxed);
            slot.forwarded_detail.store(detail, Ordering::Relaxed);
            slot.state.store(FULL, Ordering::Release);
            return true;
        }
        false
    }

    /// Takes every full slot. Only one thread drains at a time (two would each get a part).
    pub(crate) fn drain(&self) -> Drained {
        let mut drained = Drained { found: [None; SLOTS], count: 0 };
        for slot in &self.slots {
            if slot.state.load(Ordering::Acquire) != FULL {
                continue;
            }
            let sensed = Sensed {
                time_ns: slot.time_ns.load(Ordering::Relaxed),
                si_code: slot.si_code.load(Ordering::Relaxed),
                si_pid: slot.si_pid.load(Ordering::Relaxed),
                si_uid: slot.si_uid.load(Ordering::Relaxed),
                forwarded: Forwarded::from_words(
                    slot.forwarded_kind.load(Ordering::Relaxed),
                    slot.forwarded_detail.load(Ordering::Relaxed),
                ),
            };
            drained.found[drained.count] = Some((slot.ticket.load(Ordering::Relaxed), sensed));
            drained.count += 1;
            slot.state.store(FREE, Ordering::Release);
        }
        // Tickets wrap: order by distance from one of them, which at most a few thousand others are near.
        if let Some((base, _)) = drained.found[0] {
            drained.found[..drained.count].sort_unstable_by_key(|entry| {
                entry.map_or(i32::MAX, |(ticket, _)| ticket.wrapping_sub(base) as i32)
            });
        }
        drained
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn note(time_ns: u64) -> Sensed {
        Sensed { time_ns, si_code: 1, si_pid: 2, si_uid: 3, forwarded: Forwarded::ToPreviousHandler }
    }

    #[test]
    fn notes_come_oldest_first_and_an_overflow_is_reported() {
        let slots = Slots::default();
        // Just before the tickets wrap.
        slots.next_ticket.store(u32::MAX - 3, Ordering::Relaxed);
        for time in 0..SLOTS as u64 {
            assert!(slots.push(note(time)));
        }
        assert!(!slots.push(note(99)));
        let times: Vec<u64> = slots.drain().iter().map(|sensed| sensed.time_ns).collect();
        assert_eq!(times, (0..SLOTS as u64).collect::<Vec<_>>());
        assert_eq!(slots.drain().iter().count(), 0);
        assert!(slots.push(note(100)));
    }

    #[test]
    fn notes_are_neither_lost_nor_torn_between_threads() {
        let slots = Slots::default();
        let done = AtomicBool::new(false);
        let (mut got, mut pushed) = (0u64, 0u64);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3u64)
                .map(|writer| {
                    let slots = &slots;
                    scope.spawn(move || {
                        (0..20_000u64)
                            .filter(|number| {
                                let time_ns = writer << 32 | number;
                                slots.push(Sensed {
                                    si_pid: *number as i32,
                                    si_uid: writer as u32,
                                    ..note(time_ns)
                                })
                            })
                            .count() as u64
                    })
                })
                .collect();
            let reader = scope.spawn(|| {
                let mut got = 0u64;
                loop {
                    let last = done.load(Ordering::Acquire);
                    for sensed in slots.drain().iter() {
                        assert_eq!(sensed.si_pid as u64, sensed.time_ns & 0xFFFF_FFFF);
                        assert_eq!(u64::from(sensed.si_uid), sensed.time_ns >> 32);
                        got += 1;
                    }
                    if last {
                        return got;
                    }
                }
            });
            pushed = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
            done.store(true, Ordering::Release);
            got = reader.join().unwrap();
        });
        assert_eq!(got, pushed);
        assert!(got > 0);
    }
}
