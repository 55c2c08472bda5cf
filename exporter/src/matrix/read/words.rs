//! Reads a raw `long[]`: bit 63 enter, 20 bits id, 43 bits milliseconds since the class was loaded.

use trace_format::event::{Clocks, Event};
use trace_format::ids;
use trace_format::synth::RecordingBuilder;

use super::axis::{BASE, at};

/// Percentage of neighbouring words that must be in order and less than a day apart for the data to be Matrix's
/// words.
const IN_ORDER: usize = 95;
const DAY_MS: u64 = 86_400_000;

#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    fn id(self) -> u32 {
        (self.0 >> 43) as u32 & 0xF_FFFF
    }

    fn ms(self) -> u64 {
        self.0 & ((1 << 43) - 1)
    }
}

/// The recording; `None` if the bytes are not such words in either byte order.
pub(super) fn recording(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(8) {
        return None;
    }
    let read = |of: fn([u8; 8]) -> u64| -> Vec<Word> {
        let words = bytes.chunks_exact(8).map(|chunk| Word(of(chunk.try_into().expect("8 bytes"))));
        // Skip slots that were never written.
        words.filter(|word| word.0 != 0).collect()
    };
    let (big, little) = (read(u64::from_be_bytes), read(u64::from_le_bytes));
    let (order, mut words) = match (in_order(&big), in_order(&little)) {
        (b, l) if b.max(l) < IN_ORDER => return None,
        (b, l) if b >= l => ("big-endian", big),
        _ => ("little-endian", little),
    };
    unwrap_ring(&mut words);
    Some(build(&words, order))
}

/// The percentage of neighbours in order.
fn in_order(words: &[Word]) -> usize {
    let entered = words.iter().any(|word| word.0 >> 63 == 1);
    let valid = |id| ids::is_method(id) || id == ids::DISPATCH;
    let good = words.iter().filter(|word| valid(word.id())).count();
    if !entered || good * 100 < words.len() * IN_ORDER {
        return 0;
    }
    if words.len() == 1 {
        return 100;
    }
    let ordered =
        words.windows(2).filter(|w| w[0].ms() <= w[1].ms() && w[1].ms() - w[0].ms() < DAY_MS).count();
    // A ring has one place at which it wraps.
    (ordered + 1) * 100 / words.len()
}

/// Rotates the oldest word to the front: in a ring that has wrapped it follows the newest.
fn unwrap_ring(words: &mut [Word]) {
    let drop = |i: usize| words[i - 1].ms().saturating_sub(words[i].ms());
    let Some(seam) = (1..words.len()).max_by_key(|i| drop(*i)).filter(|i| drop(*i) > 0) else { return };
    if words[words.len() - 1].ms() <= words[0].ms() {
        words.rotate_left(seam);
    }
}

fn build(words: &[Word], order: &str) -> Vec<u8> {
    let first = words.iter().map(|word| word.ms()).min().unwrap_or(0);
    let start = Clocks { boottime: BASE, monotonic: BASE, realtime: 0 };
    let mut b = RecordingBuilder::new(0, "(from Matrix)").start(start).state(1);
    let (mut ran_back, mut reserved, mut last) = (0_u64, 0_u64, BASE);
    for word in words {
        let time = at(word.ms() - first);
        ran_back += u64::from(time < last);
        reserved += u64::from(!(ids::is_method(word.id()) || word.id() == ids::DISPATCH));
        last = last.max(time);
    }
    let notice = b.text(&format!(
        "made of {} words of Matrix's ring, {order}; its millisecond {first} is the first here{}{}",
        words.len(),
        counted(ran_back, "times ran back and stand still here"),
        counted(reserved, "words have ids that are no methods here and were left out"),
    ));
    let b = b.main("main", |t| {
        let mut last = BASE;
        for word in words.iter().filter(|w| ids::is_method(w.id()) || w.id() == ids::DISPATCH) {
            last = last.max(at(word.ms() - first));
            let event = if word.0 >> 63 == 1 { Event::Enter(word.id()) } else { Event::Exit(word.id()) };
            t.event(last, event);
        }
    });
    b.service(|t| {
        t.event(BASE, Event::Notice(notice));
    })
    .build()
}

fn counted(n: u64, what: &str) -> String {
    if n > 0 { format!("; {n} {what}") } else { String::new() }
}
