//! Calls from the words of Matrix's ring.

use trace_format::ids::DISPATCH;
use trace_rules::stack::Call;

/// The calls in a slice of Matrix's ring: bit 63 enter, 20 bits id, 43 bits milliseconds. A word of 0 is an empty slot.
pub(crate) fn from_matrix_words(words: &[i64]) -> impl Iterator<Item = Call> + '_ {
    words.iter().filter(|word| **word != 0).map(|&word| {
        let at_ns = (word & 0x7FF_FFFF_FFFF) as u64 * 1_000_000;
        Call { id: (word >> 43) as u32 & 0xF_FFFF, entered: word < 0, at_ns }
    })
}

/// The calls from the first message on. Calls before it belong to a message whose begin is not in the slice. A
/// slice without any message is kept whole: Matrix drops all of it (its issue #840).
pub(crate) fn since_first_message(calls: &[Call]) -> &[Call] {
    let first = calls.iter().position(|call| call.entered && call.id == DISPATCH);
    &calls[first.unwrap_or(0)..]
}

#[test]
fn a_matrix_word_is_a_call_and_an_empty_slot_is_skipped() {
    let word = |entered: bool, id: i64, ms: i64| (i64::from(entered) << 63) | (id << 43) | ms;
    let words = [word(true, 7, 12), 0, word(false, 0xFFFFE, (1 << 43) - 1)];
    let calls: Vec<_> = from_matrix_words(&words).collect();
    assert_eq!(calls, [Call::enter(7, 12_000_000), Call::exit(DISPATCH, ((1 << 43) - 1) * 1_000_000)]);
}

#[test]
fn a_slice_begins_at_its_first_message_or_where_it_begins() {
    let calls = [Call::exit(1, 1), Call::enter(DISPATCH, 2), Call::enter(2, 3)];
    assert_eq!(since_first_message(&calls), &calls[1..]);
    assert_eq!(since_first_message(&calls[2..]), &calls[2..]);
    assert_eq!(since_first_message(&[]), &[]);
}
