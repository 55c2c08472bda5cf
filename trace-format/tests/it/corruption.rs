//! A large recording, damaged thousands of times. `scripts/prove damage` runs it a hundred thousand times.

use test_support::damage::{Sample, Tally};

#[test]
fn a_file_cut_after_any_byte_gives_every_event_before_the_cut() {
    // Main's second block is half full, so are the workers' first.
    let sample = Sample::build(2, 450);
    let mut tally = Tally::default();
    // Each byte of the header. Behind it are words of eight bytes: every seventh byte meets each part of one.
    for length in (0..4096).chain((4096..sample.len()).step_by(7)) {
        sample.cut_and_read(length, &mut tally);
    }
    assert_eq!((tally.refused, tally.claimed), (4096, 0), "{tally:?}");
}

#[test]
fn events_before_any_damage_are_read() {
    let sample = Sample::build(1, 20_000);
    let (mut scratch, mut tally) = (Vec::new(), Tally::default());
    for case in 0..300 {
        sample.damage_and_read(case, &mut scratch, &mut tally);
    }
    assert!(sample.len() > 300_000, "{}", sample.len());
    assert!(tally.events > 1_500_000 && tally.claimed < tally.threads / 50, "{tally:?}");
}
