//! Computes the key of a stack, by which reports are grouped.

use trace_format::ids::DISPATCH;

use super::line::Line;
use crate::Rules;

/// A line counts towards the key from this share of the cost on (Matrix `FILTER_STACK_KEY_ALL_PERCENT`). A 32-bit float,
/// and multiplied as one, as there.
const SHARE: f32 = 0.3;

/// The id of the line that stands for the stack and a `|`: of the lines that took at least 0.3 of `cost_ms`, the one with
/// the greatest (depth + 1) · ms, the earliest of equals; the message itself only if it is the only one. Without such a
/// line the first; without any line an empty key.
///
/// By Matrix's rules that product is taken in 32 bits and may wrap.
#[must_use]
pub fn key(lines: &[Line], cost_ms: i64, rules: Rules) -> String {
    let least = (cost_ms as f32 * SHARE) as i64;
    let weight = |line: &Line| match rules {
        Rules::Matrix => i64::from(line.depth.wrapping_add(1).wrapping_mul(line.ms)),
        Rules::Anrscope => (i64::from(line.depth) + 1) * i64::from(line.ms),
    };
    // The first and the second of what a stable sort would give.
    let mut best: [Option<&Line>; 2] = [None; 2];
    for line in lines.iter().filter(|line| i64::from(line.ms) >= least) {
        let heavier = |than: Option<&Line>| than.is_none_or(|than| weight(line) > weight(than));
        if heavier(best[0]) {
            best = [Some(line), best[0]];
        } else if heavier(best[1]) {
            best[1] = Some(line);
        }
    }
    let line = match best {
        [Some(first), Some(second)] if first.id == DISPATCH => Some(second),
        [first, _] => first.or(lines.first()),
    };
    line.map(|line| format!("{}|", line.id)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(depth: i32, id: u32, ms: i32) -> Line {
        Line { depth, id, count: 1, ms }
    }

    #[test]
    fn the_key_is_the_deepest_heavy_line() {
        let of = |lines: &[Line], cost| key(lines, cost, Rules::Anrscope);
        // 0.3f is a little more than 0.3, and 1000 · 0.3f still 300 in 32 bits.
        assert_eq!(of(&[line(0, DISPATCH, 1000), line(1, 5, 300)], 1000), "5|");
        assert_eq!(of(&[line(0, DISPATCH, 1000), line(1, 5, 299)], 1000), "1048574|", "the message alone");
        assert_eq!(of(&[line(0, 8, 900), line(1, 5, 450)], 1000), "8|", "the first of equals");
        assert_eq!(of(&[line(0, 8, 900), line(1, 5, 451)], 1000), "5|");
        assert_eq!(of(&[line(0, DISPATCH, 1000), line(1, 5, 400), line(2, 6, 310)], 1000), "6|");
        assert_eq!(
            of(&[line(0, DISPATCH, 100), line(1, 5, 90)], 1000),
            "1048574|",
            "none is heavy: the first"
        );
        assert_eq!(of(&[], 1000), "");
    }

    #[test]
    fn only_matrix_lets_the_weight_wrap() {
        let lines = [line(0, 1, i32::MAX), line(1, 2, i32::MAX - 1)];
        assert_eq!(key(&lines, 1, Rules::Matrix), "1|");
        assert_eq!(key(&lines, 1, Rules::Anrscope), "2|");
    }
}
