//! What recording costs on this device, measured at the start, on the ticker's thread and not on main.

use std::ptr::NonNull;

use trace_format::Event;
use trace_format::layout::{BLOCK_LEN, ClockMode};
use trace_format::section::SectionKind;
use trace_format::sections::self_measurement;

use crate::files::worker;
use crate::gate::Gate;
use crate::memory::writer::{BlockSource, Writer};
use crate::time::{self, clock, cycles, fold};

/// Events per round; the fastest of [`ROUNDS`] counts. Together well under a millisecond.
const EVENTS: u32 = 1_000;
const ROUNDS: u32 = 5;

/// One block of ordinary memory, reused for every block.
struct Scratch(Box<[u64; BLOCK_LEN / 8]>);

impl BlockSource for Scratch {
    fn next_block(&mut self) -> Option<NonNull<u8>> {
        Some(NonNull::from(self.0.as_mut_slice()).cast())
    }

    fn count_losses(&mut self, _: u32, _: u32) {}
}

/// ns per event, times 100: the store with its bookkeeping, and that with a reading of the clock.
fn measure() -> (u64, u64) {
    let mut scratch = Scratch(Box::new([0; BLOCK_LEN / 8]));
    // Leaked: this is measured once.
    let mut writer = Writer::new(0, 0, Box::leak(Box::new(Gate::new())));
    let mut time = |read: fn() -> u64| {
        let mut round = |writer: &mut Writer| {
            let begin = clock::boottime();
            for id in 1..=EVENTS {
                let now = read();
                if !writer.put_method(id, true, now, fold::NOTHING) {
                    writer.put(
                        &mut scratch,
                        &Event::Enter(id).encode(),
                        now,
                        ClockMode::Precise,
                        fold::NOTHING,
                    );
                }
            }
            (clock::boottime() - begin) * 100 / u64::from(EVENTS)
        };
        (0..ROUNDS).map(|_| round(&mut writer)).min().unwrap_or(0)
    };
    (time(|| 1), time(time::now))
}

/// Measures, and records the figures.
pub(crate) fn measure_and_record() {
    let (store, precise) = measure();
    let clock = if cycles::now().is_some() { "cycle counter" } else { "vDSO" };
    worker::append(SectionKind::SelfMeasurement, self_measurement::encode(clock, store, precise));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_costs_something_and_less_than_a_system_call() {
        let (store, precise) = measure();
        assert!(store > 0 && store < 100_000, "{store}");
        assert!(precise >= store && precise < 100_000, "{store} {precise}");
    }
}
