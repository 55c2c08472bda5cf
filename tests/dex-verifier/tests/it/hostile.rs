//! Files that are cut off, damaged or random: an answer in bounded time, never a panic.

use dex_verifier::verify;
use proptest::prelude::*;

const FIXTURES: [&[u8]; 7] = [
    include_bytes!("../data/constructors.dex"),
    include_bytes!("../data/handlers.dex"),
    include_bytes!("../data/handles.dex"),
    include_bytes!("../data/locks.dex"),
    include_bytes!("../data/references.dex"),
    include_bytes!("../data/registers.dex"),
    include_bytes!("../data/valid.dex"),
];

#[test]
fn truncated_files_are_refused_or_checked() {
    for fixture in FIXTURES {
        for length in 0..fixture.len() {
            drop(verify(&fixture[..length]));
        }
    }
}

#[test]
fn every_byte_may_be_damaged() {
    for fixture in FIXTURES {
        let mut bytes = fixture.to_vec();
        for position in 0..bytes.len() {
            let old = bytes[position];
            // One damage each, to keep the test short.
            bytes[position] = if position.is_multiple_of(2) { 0xff } else { old ^ 1 };
            drop(verify(&bytes));
            bytes[position] = old;
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_behind_a_magic_are_survived(mut bytes in proptest::collection::vec(any::<u8>(), 8..400)) {
        bytes[..8].copy_from_slice(b"dex\n039\0");
        drop(verify(&bytes));
    }

    #[test]
    fn several_damages_are_survived(
        fixture in 0usize..7,
        damages in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut bytes = FIXTURES[fixture].to_vec();
        for (position, value) in damages {
            let position = position.index(bytes.len());
            bytes[position] = value;
        }
        drop(verify(&bytes));
    }

    #[test]
    fn the_same_file_gives_the_same_report(fixture in 0usize..7, at in any::<prop::sample::Index>(), value: u8) {
        let mut bytes = FIXTURES[fixture].to_vec();
        let at = at.index(bytes.len());
        bytes[at] = value;
        prop_assert_eq!(verify(&bytes), verify(&bytes));
    }
}
