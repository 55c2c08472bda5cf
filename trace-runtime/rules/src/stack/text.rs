//! The two text forms of a stack.

use super::line::Line;

/// The form of a report: `depth,id,count,ms` and a line feed, for each line.
#[must_use]
pub fn text(lines: &[Line]) -> String {
    lines.iter().map(|Line { depth, id, count, ms }| format!("{depth},{id},{count},{ms}\n")).collect()
}

/// The form of the log: a dot for each caller.
#[must_use]
pub fn log_text(lines: &[Line]) -> String {
    let mut out = String::from("|*\t\tTraceStack:\n|*\t\t[id count cost]\n");
    for Line { depth, id, count, ms } in lines {
        let callers = ".".repeat(usize::try_from(*depth).unwrap_or(0));
        out.push_str(&format!("|*\t\t{callers}{id} {count} {ms}\n"));
    }
    out
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
