//! Collects a slice of main's record for a report's stack.

use trace_rules::Rules;
use trace_rules::stack::{Call, CallTree, cost_ms, key, matrix, text, trim};

/// Number of words in Matrix's ring (`Constants.BUFFER_SIZE`). A longer slice was overwritten there, and its
/// report has no stack.
const RING_WORDS: usize = 1_000_000;

/// A slice's stack in a report.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Stack {
    /// The lines.
    pub(super) text: String,
    /// Their key.
    pub(super) key: String,
    /// The cost in ms.
    pub(super) cost_ms: i64,
}

/// Collects calls. By anrscope's rules the tree bounds the memory, by Matrix's its ring does.
pub(super) struct Slice {
    calls: Calls,
    /// Maximum number of lines.
    lines: usize,
}

enum Calls {
    Ours(Box<CallTree>),
    /// The words, and whether the slice starts at its first message.
    Matrix(Vec<i64>, bool),
    Overwritten,
}

impl Slice {
    /// `strict` is for the slice of a message, see [`matrix::lines`].
    pub(super) fn new(rules: Rules, strict: bool, lines: usize) -> Self {
        let calls = match rules {
            Rules::Anrscope => Calls::Ours(Box::default()),
            Rules::Matrix => Calls::Matrix(Vec::new(), strict),
        };
        Self { calls, lines }
    }

    pub(super) fn push(&mut self, call: Call) {
        match &mut self.calls {
            Calls::Ours(tree) => tree.push(call),
            Calls::Matrix(words, _) if words.len() < RING_WORDS => words.push(word(call)),
            Calls::Matrix(..) => self.calls = Calls::Overwritten,
            Calls::Overwritten => {}
        }
    }

    /// The stack at `end`, for something that took `message_ms`.
    pub(super) fn finish(self, end: u64, message_ms: i64) -> Stack {
        let (mut lines, rules) = match self.calls {
            Calls::Ours(tree) => (tree.finish(end).lines, Rules::Anrscope),
            Calls::Matrix(words, strict) => {
                let end_ms = i64::try_from(end / 1_000_000).unwrap_or(i64::MAX);
                (matrix::lines(&words, strict, end_ms, 0, &mut |_| {}), Rules::Matrix)
            }
            Calls::Overwritten => (Vec::new(), Rules::Matrix),
        };
        trim(&mut lines, self.lines, rules);
        let cost_ms = cost_ms(&lines, message_ms);
        Stack { text: text(&lines), key: key(&lines, cost_ms, rules), cost_ms }
    }
}

/// A word of Matrix's ring with BOOTTIME as its zero.
fn word(call: Call) -> i64 {
    let ms = (call.at_ns / 1_000_000) & ((1 << 43) - 1);
    (i64::from(call.entered) << 63) | (i64::from(call.id) << 43) | ms as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::ids::DISPATCH;
    use trace_format::time::MS;

    #[test]
    fn both_rules_give_the_stack_of_a_slow_message() {
        for rules in [Rules::Anrscope, Rules::Matrix] {
            let mut slice = Slice::new(rules, true, 30);
            for call in [
                Call::enter(DISPATCH, 10 * MS),
                Call::enter(243, 13 * MS),
                Call::exit(243, 1_013 * MS),
                Call::exit(DISPATCH, 1_016 * MS),
            ] {
                slice.push(call);
            }
            let stack = slice.finish(1_016 * MS, 1_006);
            assert_eq!(stack.text, "0,1048574,1,1006\n1,243,1,1000\n", "{rules:?}");
            assert_eq!((stack.key.as_str(), stack.cost_ms), ("243|", 1_006));
        }
    }

    #[test]
    fn what_matrix_would_have_overwritten_has_no_stack() {
        let mut slice = Slice::new(Rules::Matrix, true, 30);
        slice.push(Call::enter(DISPATCH, 0));
        for i in 0..RING_WORDS as u64 {
            slice.push(Call { id: 7, entered: i % 2 == 0, at_ns: i * MS });
        }
        assert_eq!(slice.finish(2_000_000 * MS, 900), Stack { cost_ms: 900, ..Stack::default() });
    }
}
