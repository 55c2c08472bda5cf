//! The two text forms of a stack.

use super::line::Line;
use crate::text::{push_decimal, push_signed};

/// The form of a report: `depth,id,count,ms` and a line feed, for each line.
#[must_use]
pub fn text(lines: &[Line]) -> String {
    let mut out = String::with_capacity(lines.len() * 16);
    for line in lines {
        push_signed(&mut out, i64::from(line.depth));
        out.push(',');
        push_numbers(&mut out, line, ',');
        out.push('\n');
    }
    out
}

/// The form of the log: a dot for each caller.
#[must_use]
pub fn log_text(lines: &[Line]) -> String {
    let mut out = String::from("|*\t\tTraceStack:\n|*\t\t[id count cost]\n");
    for line in lines {
        out.push_str("|*\t\t");
        for _ in 0..line.depth {
            out.push('.');
        }
        push_numbers(&mut out, line, ' ');
        out.push('\n');
    }
    out
}

fn push_numbers(out: &mut String, line: &Line, between: char) {
    push_decimal(out, u64::from(line.id));
    out.push(between);
    push_decimal(out, u64::from(line.count));
    out.push(between);
    push_signed(out, i64::from(line.ms));
}

/// The cost in a report: the message's, or the longest line's if that is greater.
#[must_use]
pub fn cost_ms(lines: &[Line], message_ms: i64) -> i64 {
    lines.iter().map(|line| i64::from(line.ms)).fold(message_ms, i64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::ids::DISPATCH;

    #[test]
    fn both_text_forms_are_exact() {
        let lines = [
            Line { depth: 0, id: DISPATCH, count: 1, ms: 1_006 },
            Line { depth: 1, id: 243, count: 3, ms: 1_000 },
            Line { depth: 2, id: 7, count: 1, ms: -1 },
        ];
        assert_eq!(text(&lines), "0,1048574,1,1006\n1,243,3,1000\n2,7,1,-1\n");
        assert_eq!(
            log_text(&lines),
            "|*\t\tTraceStack:\n|*\t\t[id count cost]\n|*\t\t1048574 1 1006\n|*\t\t.243 3 1000\n|*\t\t..7 1 -1\n"
        );
        assert_eq!((text(&[]), cost_ms(&[], 700)), (String::new(), 700));
        assert_eq!((cost_ms(&lines, 700), cost_ms(&lines, 2_000)), (1_006, 2_000));
    }
}
