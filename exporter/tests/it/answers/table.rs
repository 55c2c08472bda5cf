//! The answers by cause.

use std::fmt::Write as _;

use answers::answer::CauseId;

use crate::answers::truth::{Compared, Outcome};
use crate::answers::{Judged, Of};

/// Right, vague and wrong.
fn counts<'a>(judged: impl Iterator<Item = &'a Judged>) -> [usize; 3] {
    let mut counts = [0; 3];
    for case in judged {
        counts[case.outcome as usize] += 1;
    }
    counts
}

/// The number of right answers, with the vague and wrong ones where there are any.
fn number(counts: [usize; 3]) -> String {
    match counts {
        [right, 0, 0] => right.to_string(),
        [right, vague, wrong] => format!("{right} ({vague} vague, {wrong} wrong)"),
    }
}

/// A line for each kind of case in Markdown, followed by each case that is not right, with the actual result.
pub(crate) fn markdown(judged: &[Judged]) -> String {
    let mut out = String::new();
    for of in [Of::Dump, Of::Recording, Of::Corpus] {
        let cases: Vec<&Judged> = judged.iter().filter(|case| case.of == of).collect();
        let by_cause: Vec<String> = CauseId::ALL
            .map(CauseId::word)
            .into_iter()
            .map(|cause| (cause, counts(cases.iter().copied().filter(|case| case.truth.row() == cause))))
            .filter(|(_, counts)| *counts != [0; 3])
            .map(|(cause, counts)| format!("{cause} {}", number(counts)))
            .collect();
        if !cases.is_empty() {
            let all = number(counts(cases.iter().copied()));
            let _ = writeln!(out, "* {}, {all}: {}", of.word(), by_cause.join(", "));
        }
    }
    for case in judged.iter().filter(|case| case.outcome != Outcome::Right) {
        let outcome = if case.outcome == Outcome::Vague { "vague" } else { "wrong" };
        let _ = writeln!(
            out,
            "* {} `{}`, {outcome}: labelled `{}`, answered `{} {}`",
            case.of.word(),
            case.name,
            case.truth,
            Compared::of(&case.answer),
            case.answer["verdict"].as_str().unwrap_or("-")
        );
    }
    out
}

/// The totals in one line.
pub(crate) fn sum(judged: &[Judged]) -> String {
    let [right, vague, wrong] = counts(judged.iter());
    format!("{right} of {} cases answered right, {vague} vague, {wrong} wrong", judged.len())
}
