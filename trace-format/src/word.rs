//! The event word: 64 bits, as in Matrix.
//!
//! ```text
//!  63  62                43 42                                             0
//! +---+--------------------+------------------------------------------------+
//! | b |      id (20)       |  time (43): ns since the block's t0, low bits   |
//! +---+--------------------+------------------------------------------------+
//!   b = 1 enter or begin, 0 exit, end or instant
//! ```
//!
//! 43 bits of nanoseconds last 2 h 26 min. A reader adds up: the time of a word is the previous
//! time plus `(field - previous field) mod 2^43`, so a block may stay open for longer than that, as
//! long as no gap between two words passes [`MAX_GAP`]; a writer puts a TIME event before a word
//! that would come later. A word of 0 never occurs: ids start at 1.

/// Bits of the time field.
pub const TIME_BITS: u32 = 43;
/// The time field of a word.
pub const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
/// The largest gap between two words, in ns, that the time field may express (half its range).
pub const MAX_GAP: u64 = 1 << (TIME_BITS - 1);
/// The largest value of the 20-bit id field.
pub const ID_MASK: u32 = 0xF_FFFF;

/// Packs a word. `id` must fit in 20 bits; `since_t0` is taken modulo 2^43.
#[inline]
#[must_use]
pub const fn pack(begin: bool, id: u32, since_t0: u64) -> u64 {
    ((begin as u64) << 63) | (((id & ID_MASK) as u64) << TIME_BITS) | (since_t0 & TIME_MASK)
}

/// Whether the word is an enter or a begin.
#[inline]
#[must_use]
pub const fn is_begin(word: u64) -> bool {
    word >> 63 == 1
}

/// The id field.
#[inline]
#[must_use]
pub const fn id(word: u64) -> u32 {
    (word >> TIME_BITS) as u32 & ID_MASK
}

/// The absolute time of `word` in a block opened at `t0`, given the time of the word before it
/// (`t0` for the first). Saturates at `u64::MAX`.
#[inline]
#[must_use]
pub const fn time(word: u64, t0: u64, previous: u64) -> u64 {
    previous.saturating_add(step(word, t0, previous))
}

/// How many ns `word` is after the one before it, whose time is `previous`, as the cyclic time field has it.
#[inline]
#[must_use]
pub(crate) const fn step(word: u64, t0: u64, previous: u64) -> u64 {
    word.wrapping_sub(previous.wrapping_sub(t0)) & TIME_MASK
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_round_trip(begin: bool, id in 0..=ID_MASK, t0 in 0..u64::MAX / 4, gaps in prop::collection::vec(0..MAX_GAP, 0..20)) {
            let mut now = t0;
            let mut previous = t0;
            for gap in gaps {
                now += gap;
                let w = pack(begin, id, now - t0);
                prop_assert_eq!(is_begin(w), begin);
                prop_assert_eq!(super::id(w), id);
                prop_assert_eq!(time(w, t0, previous), now);
                previous = now;
            }
        }
    }

    #[test]
    fn time_saturates_on_hostile_input() {
        assert_eq!(time(pack(true, 1, 5), u64::MAX, u64::MAX), u64::MAX);
    }
}
