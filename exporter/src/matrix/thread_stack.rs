//! Main's Java stack for a report: as the app took it, else the recorded open methods.

use trace_rules::Rules;
use trace_rules::report::{StackFrame, StackStyle, thread_stack};

use crate::facts::Sections;
use crate::model::Names;

/// Maximum age of a sample of main to represent the moment, ns.
const MAX_SAMPLE_AGE: u64 = 500_000_000;

/// The stack at `at`, in a message that started at `since`. `open`: the open methods, outermost first.
pub(super) fn stack_at(
    sections: &Sections,
    names: &Names<'_>,
    (since, at): (u64, u64),
    open: &[u32],
    (style, rules): (StackStyle, Rules),
) -> String {
    let until = at.saturating_add(MAX_SAMPLE_AGE);
    let taken = sections.snapshot(since, until).filter(|s| s.has_stack());
    let sample = || sections.samples.within(since, until).min_by_key(|s| s.at.abs_diff(at));
    let taken = taken.map(|snapshot| snapshot.frames().map(frame).collect());
    if let Some(frames) = taken.or_else(|| Some(sample()?.frames().map(frame).collect::<Vec<_>>())) {
        return thread_stack(&frames, style, rules);
    }
    let named: Vec<String> = open.iter().rev().map(|id| names.method(*id).into_owned()).collect();
    let frames: Vec<StackFrame<'_>> = named.iter().map(|name| frame(name)).collect();
    thread_stack(&frames, style, rules)
}

/// Parses `a.B.c(B.java:12)`, as `StackTraceElement.toString` writes it, or `a.B.c`.
pub(super) fn frame(line: &str) -> StackFrame<'_> {
    let line = line.trim();
    let line = line.strip_prefix("at ").unwrap_or(line);
    let (name, place) = match line.split_once('(') {
        Some((name, place)) => (name, place.strip_suffix(')').unwrap_or(place)),
        None => (line, "Unknown Source"),
    };
    let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
    let (file, number) = match place {
        "Native Method" => ("", -2),
        "Unknown Source" => ("", -1),
        _ => match place.rsplit_once(':') {
            Some((file, line)) => (file, line.parse().unwrap_or(-1)),
            None => (place, -1),
        },
    };
    StackFrame { class, method, file, line: number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_taken_apart() {
        let of = |line| {
            let StackFrame { class, method, file, line } = frame(line);
            (class, method, file, line)
        };
        assert_eq!(of("a.b.C.d(C.java:12)"), ("a.b.C", "d", "C.java", 12));
        assert_eq!(of("  at a.C.d(Native Method)"), ("a.C", "d", "", -2));
        assert_eq!(of("a.C.<init>(Unknown Source)"), ("a.C", "<init>", "", -1));
        assert_eq!(of("a.C.d(R8)"), ("a.C", "d", "R8", -1));
        assert_eq!(of("method 7"), ("", "method 7", "", -1));
        assert_eq!(of(""), ("", "", "", -1));
    }
}
