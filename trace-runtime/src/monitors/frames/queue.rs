//! Frames that main has ended, on their way to the thread that counts them: in fixed memory, without a
//! lock. Main writes, one thread at a time reads.

use std::sync::atomic::{AtomicU64, Ordering};

use trace_rules::frame::{FrameCosts, InputEvents, Stage};

/// A frame that main has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Finished {
    pub(crate) costs: FrameCosts,
    /// The scene's text at that moment.
    pub(crate) scene: u32,
    /// The input that it handled.
    pub(crate) input: Option<InputEvents>,
}

/// The most frames that wait: a second at 120 Hz.
const CAPACITY: usize = 128;
const STAGES: usize = Stage::COUNT;
const WORDS: usize = STAGES + 7;

/// The frames that wait.
#[derive(Debug)]
pub(crate) struct Queue {
    slots: [[AtomicU64; WORDS]; CAPACITY],
    pushed: AtomicU64,
    taken: AtomicU64,
    lost: AtomicU64,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Queue {
            slots: [const { [const { AtomicU64::new(0) }; WORDS] }; CAPACITY],
            pushed: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Adds a frame; if the queue is full the frame is lost and counted. Only main may call this.
    pub(crate) fn push(&self, frame: &Finished) {
        let pushed = self.pushed.load(Ordering::Relaxed);
        // Acquire: the reader is done with the slot.
        if pushed - self.taken.load(Ordering::Acquire) >= CAPACITY as u64 {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let costs = &frame.costs;
        let input = frame.input.unwrap_or_default();
        let rest = [
            costs.intended_ns,
            costs.begun_ns,
            costs.ended_ns,
            u64::from(costs.estimated),
            u64::from(frame.scene),
            input.oldest,
            input.newest,
        ];
        let words = costs.stages.iter().chain(&rest);
        for (slot, word) in self.slots[pushed as usize % CAPACITY].iter().zip(words) {
            slot.store(*word, Ordering::Relaxed);
        }
        // Release: the words before the count that shows them.
        self.pushed.store(pushed + 1, Ordering::Release);
    }

    /// Takes the oldest frame. Callers hold a lock that excludes other readers.
    pub(crate) fn pop(&self) -> Option<Finished> {
        let taken = self.taken.load(Ordering::Relaxed);
        if taken == self.pushed.load(Ordering::Acquire) {
            return None;
        }
        let words: [u64; WORDS] =
            std::array::from_fn(|n| self.slots[taken as usize % CAPACITY][n].load(Ordering::Relaxed));
        self.taken.store(taken + 1, Ordering::Release);
        let (stages, rest) = words.split_at(STAGES);
        let input = InputEvents { intended: 0, oldest: rest[5], newest: rest[6] };
        Some(Finished {
            costs: FrameCosts {
                intended_ns: rest[0],
                begun_ns: rest[1],
                ended_ns: rest[2],
                stages: std::array::from_fn(|n| stages[n]),
                estimated: rest[3] as u8,
            },
            scene: rest[4] as u32,
            input: (input.oldest > 0).then_some(input),
        })
    }

    /// How many frames were lost because they were not read in time.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(n: u64) -> Finished {
        Finished {
            costs: FrameCosts {
                intended_ns: n,
                begun_ns: n + 1,
                ended_ns: n + 2,
                stages: [n, n * 2, n * 3, n * 4, n * 5],
                estimated: n as u8,
            },
            scene: n as u32,
            input: (n % 2 == 1).then_some(InputEvents { intended: 0, oldest: n, newest: n + 7 }),
        }
    }

    #[test]
    fn frames_come_out_whole_in_order_and_too_many_are_counted() {
        let queue = Queue::new();
        let extra = 5;
        for n in 1..=(CAPACITY + extra) as u64 {
            queue.push(&frame(n));
        }
        assert_eq!(queue.lost(), extra as u64);
        for n in 1..=CAPACITY as u64 {
            assert_eq!(queue.pop(), Some(frame(n)));
        }
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn a_reader_beside_the_writer_sees_each_frame_once_and_whole() {
        const ALL: u64 = 100_000;
        let queue = Queue::new();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let mut n = 1;
                while n <= ALL {
                    let lost = queue.lost();
                    queue.push(&frame(n));
                    // A frame that did not fit is pushed again.
                    if queue.lost() == lost {
                        n += 1;
                    } else {
                        std::thread::yield_now();
                    }
                }
            });
            let mut next = 1;
            while next <= ALL {
                match queue.pop() {
                    Some(got) => {
                        assert_eq!(got, frame(next));
                        next += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
    }
}
