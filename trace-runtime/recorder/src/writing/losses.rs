//! Ends of calls and waits that could not be recorded, so that each thread tells its reader at its next event.
//!
//! Where the stack has overflowed, instrumented code can make no call. It notes in a field of `MethodBeat` which end is lost,
//! and the next event of *any* thread brings the note here. Which thread has lost it is unknown, so all are asked: each writes
//! [`LostEnd`] in front of its next event, and a reader ignores it where no such call is open.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use trace_format::event::LostEnd;

use crate::gate::LOST_END;
use crate::recorder::Recorder;

/// How many of the latest losses are recorded one by one. An app that overflows its stack loses the exits of few methods.
const MAX_NAMED: usize = 16;

static LATEST: [AtomicU32; MAX_NAMED] = [const { AtomicU32::new(0) }; MAX_NAMED];
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Returns how many losses there were.
pub(crate) fn count() -> u64 {
    COUNT.load(Ordering::Acquire)
}

/// Notes that the exit of the method with this id was lost, or, if it is negative, the end of a wait.
pub fn note(id: i32) {
    let Some(recorder) = Recorder::active() else { return };
    let end = u32::try_from(id).map_or(LostEnd::Wait, LostEnd::Exit);
    // Threads may overtake each other here: then a slot has a later loss, and an earlier one is recorded twice or not at all.
    let place = COUNT.load(Ordering::Acquire);
    if let Some(slot) = LATEST.get(place as usize % MAX_NAMED) {
        slot.store(end.number(), Ordering::Relaxed);
    }
    COUNT.fetch_add(1, Ordering::AcqRel);
    recorder.ask_all(LOST_END);
}

/// Returns the losses after the first `seen` ones, each once.
pub(crate) fn since(seen: u64) -> impl Iterator<Item = LostEnd> {
    let count = count();
    let first = seen.max(count.saturating_sub(MAX_NAMED as u64));
    let unknown = (first > seen).then_some(LostEnd::Any);
    let number =
        |place: u64| LATEST.get(place as usize % MAX_NAMED).map_or(0, |slot| slot.load(Ordering::Relaxed));
    let is_new = move |&place: &u64| (first..place).all(|before| number(before) != number(place));
    unknown.into_iter().chain((first..count).filter(is_new).map(move |place| LostEnd::of(number(place))))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_loss_is_recorded_once_and_too_many_become_any() {
        let store = |numbers: &[u32]| {
            for number in numbers {
                LATEST[COUNT.load(Ordering::Relaxed) as usize % MAX_NAMED].store(*number, Ordering::Relaxed);
                COUNT.fetch_add(1, Ordering::Relaxed);
            }
        };
        let begun = count();
        store(&[7, 8, 7, 0]);
        let recorded: Vec<_> = since(begun).collect();
        assert_eq!(recorded, [LostEnd::Exit(7), LostEnd::Exit(8), LostEnd::Wait]);
        assert_eq!(since(count()).count(), 0);
        store(&[9; MAX_NAMED]);
        assert_eq!(since(begun).collect::<Vec<_>>(), [LostEnd::Any, LostEnd::Exit(9)]);
        assert_eq!(since(begun + 4).collect::<Vec<_>>(), [LostEnd::Exit(9)]);
    }
}
