//! Converts the lines of a stack (`depth,methodId,count,costMs`, in the order in which the calls started) to
//! calls with times.
//!
//! The lines have durations but no times. So a call starts where the previous one of the same caller ended, the
//! first one with its caller: the order is true, the gaps are not. If a line's calls are longer than the line,
//! as rounding and trimmed callers make them, the line is extended.

use trace_format::ids;

use super::axis::MAX_MS;

/// Maximum number of lines read per report.
const MAX_LINES: usize = 100_000;
/// A leaf line with up to this many calls becomes that many calls; one with more becomes one.
const MAX_CALLS: u64 = 100;

/// A line of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) depth: i64,
    pub(super) id: u32,
    pub(super) count: u64,
    pub(super) ms: u64,
}

/// Parses the lines of a report's `stack`; the error is the number of the invalid line, from 1.
pub(super) fn parse(stack: &str) -> Result<Vec<Line>, usize> {
    let mut lines = Vec::new();
    for (n, text) in stack.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let mut parts = text.split(',').map(|part| part.trim().parse::<i64>());
        let mut next = || parts.next()?.ok();
        let line = (|| {
            let (depth, id, count, ms) = (next()?, next()?, next()?, next()?);
            let id = u32::try_from(id).ok().filter(|id| ids::is_method(*id) || *id == ids::DISPATCH)?;
            Some(Line { depth, id, count: u64::try_from(count).ok()?, ms: u64::try_from(ms).unwrap_or(0) })
        })();
        match line {
            Some(line) if parts.next().is_none() && lines.len() < MAX_LINES => lines.push(line),
            _ => return Err(n + 1),
        }
    }
    Ok(lines)
}

/// One or several calls, in milliseconds since the slice started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    pub(super) id: u32,
    /// Number of calls of equal length that it represents.
    pub(super) calls: u64,
    pub(super) begin: u64,
    pub(super) end: u64,
    /// Index of the caller's line.
    pub(super) caller: Option<usize>,
}

/// Assigns times to the lines; a caller comes before its calls. `room` is how many calls lines with several
/// calls may be split into; once it is used up, a line becomes one call.
pub(super) fn place(lines: &[Line], room: &mut u64) -> Vec<Placed> {
    let mut callers: Vec<Option<usize>> = Vec::with_capacity(lines.len());
    let mut open: Vec<(i64, usize)> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        while open.last().is_some_and(|(depth, _)| *depth >= line.depth) {
            open.pop();
        }
        callers.push(open.last().map(|(_, caller)| *caller));
        open.push((line.depth, i));
    }
    let mut lengths: Vec<u64> = lines.iter().map(|line| line.ms.min(MAX_MS)).collect();
    let mut inside = vec![0_u64; lines.len()];
    for i in (0..lines.len()).rev() {
        lengths[i] = lengths[i].max(inside[i]);
        if let Some(caller) = callers[i] {
            inside[caller] = inside[caller].saturating_add(lengths[i]);
        }
    }
    let mut next = vec![0_u64; lines.len()];
    let mut top = 0_u64;
    let mut placed = Vec::with_capacity(lines.len());
    for (i, line) in lines.iter().enumerate() {
        let cursor = callers[i].map_or(&mut top, |caller| &mut next[caller]);
        let begin = *cursor;
        let end = begin.saturating_add(lengths[i]);
        *cursor = end;
        next[i] = begin;
        let called = callers.get(i + 1).is_some_and(|next| *next == Some(i));
        let several = !called && (1..=MAX_CALLS.min(*room)).contains(&line.count);
        let calls = if several { line.count } else { 1 };
        *room = room.saturating_sub(calls);
        placed.push(Placed { id: line.id, calls, begin, end, caller: callers[i] });
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_order_is_that_of_the_lines_and_callers_hold_their_calls() {
        let lines = parse("0,1048574,1,1006\n1,243,1,1000\n2,7,3,30\n2,8,1,20\n1,9,1,50\n").unwrap();
        let placed: Vec<_> =
            place(&lines, &mut 100).iter().map(|p| (p.id, p.begin, p.end, p.calls)).collect();
        // The calls of the message are longer than it: it is extended.
        assert_eq!(
            placed,
            [(1048574, 0, 1050, 1), (243, 0, 1000, 1), (7, 0, 30, 3), (8, 30, 50, 1), (9, 1000, 1050, 1)]
        );
        // A trimmed caller leaves a gap in the depths.
        let gap = place(&parse("0,1048574,1,10\n3,5,1,4\n1,6,1,2").unwrap(), &mut 100);
        assert_eq!(gap.iter().map(|p| p.caller).collect::<Vec<_>>(), [None, Some(0), Some(0)]);
    }

    #[test]
    fn a_short_file_is_not_a_great_many_calls() {
        let lines = parse(&"0,5,100,1\n".repeat(50)).unwrap();
        let mut room = 1_000;
        let calls: Vec<u64> = place(&lines, &mut room).iter().map(|p| p.calls).collect();
        assert_eq!((calls[..10].iter().sum::<u64>(), calls[10..].iter().sum::<u64>()), (1_000, 40));
        // The room is shared by all reports of a file.
        assert_eq!(place(&lines[..1], &mut room)[0].calls, 1);
    }

    #[test]
    fn an_invalid_line_is_named() {
        for (stack, line) in [
            ("0,1,1\n", 1),
            ("0,5,1,1\n0,0,1,1", 2),
            ("0,5,1,1,1", 1),
            ("0,5,-1,1", 1),
            ("x", 1),
            ("0,1044480,1,1", 1),
        ] {
            assert_eq!(parse(stack), Err(line), "{stack}");
        }
        assert_eq!(parse("\n"), Ok(Vec::new()));
        // Matrix writes times that ran back.
        assert_eq!(parse("0,5,1,-3").unwrap()[0].ms, 0);
    }

    proptest! {
        #[test]
        fn calls_never_leave_their_callers(
            lines in proptest::collection::vec((-3..6_i64, 1..9_u32, 0..5_u64, any::<u64>()), 0..40),
        ) {
            let lines: Vec<Line> =
                lines.into_iter().map(|(depth, id, count, ms)| Line { depth, id, count, ms }).collect();
            let placed = place(&lines, &mut 100);
            for (i, p) in placed.iter().enumerate() {
                prop_assert!(p.begin <= p.end);
                if let Some(caller) = p.caller {
                    prop_assert!(caller < i && placed[caller].begin <= p.begin && p.end <= placed[caller].end);
                }
            }
        }
    }
}
