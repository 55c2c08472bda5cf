//! The table by cause.

use std::fmt::Write as _;

use exporter::report::CauseId;

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
fn cell(counts: [usize; 3]) -> String {
    match counts {
        [0, 0, 0] => String::new(),
        [right, 0, 0] => right.to_string(),
        [right, vague, wrong] => format!("{right}, {vague} vague, {wrong} wrong"),
    }
}

/// The table in Markdown, without causes that no case has, followed by each case that is not right, with the actual result.
pub(crate) fn markdown(judged: &[Judged]) -> String {
    let of: Vec<Of> = [Of::Dump, Of::Recording, Of::Corpus]
        .into_iter()
        .filter(|of| judged.iter().any(|case| case.of == *of))
        .collect();
    let mut out = String::from("| cause |");
    for of in &of {
        let _ = write!(out, " {} |", of.word());
    }
    let _ = write!(out, "\n| --- |{}\n", " ---: |".repeat(of.len()));
    for cause in CauseId::ALL.map(CauseId::word) {
        let row =
            |of: Of| counts(judged.iter().filter(move |case| case.of == of && case.truth.row() == cause));
        let cells: Vec<String> = of.iter().map(|of| cell(row(*of))).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let _ = writeln!(out, "| {cause} | {} |", cells.join(" | "));
        }
    }
    let sums: Vec<String> =
        of.iter().map(|of| cell(counts(judged.iter().filter(|case| case.of == *of)))).collect();
    let _ = writeln!(out, "| all | {} |", sums.join(" | "));
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
