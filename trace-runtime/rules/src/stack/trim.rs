//! Trims a stack to a number of lines.

use super::line::Line;
use crate::Rules;

/// The number of lines that a report keeps (Matrix `TARGET_EVIL_METHOD_STACK`).
pub const TARGET_LINES: usize = 30;
/// The step of the threshold, ms (Matrix `TIME_UPDATE_CYCLE_MS`, the exactness of its clock).
pub const STEP_MS: i32 = 5;
/// The number of steps: the last threshold is 300 ms (Matrix `FILTER_STACK_MAX_COUNT`).
pub const STEPS: i32 = 60;

/// Removes lines until `target` are left: those under 5 ms, then under 10, up to 300, each time from the last to the
/// first and no more than needed. If there are still more, the first `target` stay. True if that was necessary.
///
/// By Matrix's rules a line may go while those below it stay, which leaves gaps in the depths (its issue #235). By ours
/// a caller stays as long as one of its calls does.
pub fn trim(lines: &mut Vec<Line>, target: usize, rules: Rules) -> bool {
    for step in 1..=STEPS {
        if lines.len() <= target {
            return false;
        }
        take_out(lines, target, step * STEP_MS, rules);
    }
    let cut = lines.len() > target;
    lines.truncate(target);
    cut
}

/// One step. The remaining lines are moved towards the end, where the scan starts.
fn take_out(lines: &mut Vec<Line>, target: usize, under_ms: i32, rules: Rules) {
    let mut too_many = lines.len() - target;
    let mut kept_from = lines.len();
    for at in (0..lines.len()).rev() {
        let line = lines[at];
        // In this order the line behind a caller, if it is deeper, is its first remaining call.
        let calls = lines.get(kept_from).is_some_and(|next| next.depth > line.depth);
        let goes = too_many > 0 && line.ms < under_ms && (rules == Rules::Matrix || !calls);
        if goes {
            too_many -= 1;
        } else {
            kept_from -= 1;
            lines[kept_from] = line;
        }
    }
    lines.drain(..kept_from);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(depth: i32, id: u32, ms: i32) -> Line {
        Line { depth, id, count: 1, ms }
    }

    fn ids(lines: &[Line]) -> Vec<u32> {
        lines.iter().map(|line| line.id).collect()
    }

    #[test]
    fn no_target_leaves_no_line() {
        let mut lines = vec![line(0, 1, 1000)];
        trim(&mut lines, 0, Rules::Anrscope);
        assert_eq!(lines, []);
    }

    #[test]
    fn a_caller_stays_as_long_as_one_of_its_calls_does() {
        let list = [line(0, 1, 1000), line(1, 2, 3), line(2, 3, 400), line(1, 4, 2)];
        let trimmed = |rules, target| {
            let mut lines = list.to_vec();
            trim(&mut lines, target, rules);
            ids(&lines)
        };
        assert_eq!(trimmed(Rules::Matrix, 2), [1, 3]);
        // Nothing more can go without a gap: the first two stay.
        assert_eq!(trimmed(Rules::Anrscope, 2), [1, 2]);
        assert_eq!(trimmed(Rules::Anrscope, 3), [1, 2, 3]);
    }
}
