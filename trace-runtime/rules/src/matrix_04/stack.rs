//! Trims a stack and computes its key as 0.4 does. The pairing is ours: a call without its exit is closed with its caller's.

use crate::stack::Line;

/// The number of lines that it keeps.
pub const MATRIX_04_LINES: usize = 20;

/// The key of every full buffer's report.
pub const MATRIX_04_FULL_KEY: &str = "TypeFull";

/// Trims in three rounds, with shares of 0.1, 0.2 and 0.3: lines of at most 5 % of `total_ms` go, and the calls of a line go when it took
/// at most that share of its caller; until 20 are left. What is more than 20 after that stays.
pub fn matrix_04_trim(lines: &mut Vec<Line>, total_ms: i64) {
    for tenths in 1..=3i64 {
        if lines.len() <= MATRIX_04_LINES {
            return;
        }
        // Everything below this depth goes; where the caller at each depth is, with its time.
        let mut below = i32::MAX;
        let mut callers: Vec<i64> = Vec::new();
        lines.retain(|line| {
            if line.depth > below {
                return false;
            }
            below = i32::MAX;
            let ms = i64::from(line.ms);
            callers.truncate(usize::try_from(line.depth).unwrap_or(0));
            if ms * 20 <= total_ms {
                // With it, what it called: that is shorter still.
                below = line.depth;
                return false;
            }
            if callers.last().is_some_and(|caller| ms * 10 <= caller * tenths) {
                below = line.depth;
            }
            callers.push(ms);
            true
        });
    }
}

/// The key: the ids from the first line at depth 0 that took 30 % of `total_ms` or more, down through the first call that took 60 % of its
/// caller; a line feed between them. Without such a line all ids at depth 0. Empty: no report.
#[must_use]
pub fn matrix_04_key(lines: &[Line], total_ms: i64) -> String {
    let heavy = |line: &&Line| line.depth == 0 && i64::from(line.ms) * 10 >= total_ms * 3;
    let mut ids: Vec<u32> = Vec::new();
    if let Some(mut at) = lines.iter().position(|line| heavy(&line)) {
        ids.push(lines[at].id);
        // The first of its calls that is heavy, then of that one's.
        while let Some(next) =
            lines[at + 1..].iter().take_while(|line| line.depth > lines[at].depth).position(|line| {
                line.depth == lines[at].depth + 1 && i64::from(line.ms) * 10 >= i64::from(lines[at].ms) * 6
            })
        {
            at += 1 + next;
            ids.push(lines[at].id);
        }
    } else {
        ids.extend(lines.iter().filter(|line| line.depth == 0).map(|line| line.id));
    }
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    ids.join("\n")
}
