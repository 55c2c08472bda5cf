//! `docs/causes.md`: the causes and the rules; `docs/evidence/answers.md`: how often their answers are right.

use std::fmt::Write as _;
use std::path::Path;

use answers::answer::{CauseId, RULES};

use crate::answers::{Judged, table};

const CORPUS: &str = "## Dumps of devices";

fn causes() -> String {
    let mut out = String::from("| id | cause | what to do |\n| --- | --- | --- |\n");
    for cause in CauseId::ALL {
        let _ = writeln!(out, "| `{}` | {} | {} |", cause.word(), cause.name(), cause.next());
    }
    out
}

fn on_a_jvm() -> String {
    let mut out = String::from("| id | what to do |\n| --- | --- |\n");
    for cause in CauseId::ALL.into_iter().filter(|cause| cause.next_on_jvm() != cause.next()) {
        let _ = writeln!(out, "| `{}` | {} |", cause.word(), cause.next_on_jvm());
    }
    out
}

/// The rules in their order. Those with one confidence and condition that follow each other share a row.
fn rules() -> String {
    let mut out = String::from("| | cause | confidence | when |\n| --- | --- | --- | --- |\n");
    let mut first = 1;
    for alike in RULES.chunk_by(|a, b| (a.confidence.word(), a.when) == (b.confidence.word(), b.when)) {
        let causes: Vec<_> = alike.iter().flat_map(|rule| rule.causes).map(|cause| cause.word()).collect();
        let last = first + causes.len() - 1;
        let numbers = if first == last { first.to_string() } else { format!("{first} to {last}") };
        let (confidence, when) = (alike[0].confidence.word(), alike[0].when);
        let _ = writeln!(out, "| {numbers} | {} | {confidence} | {when} |", causes.join(", "));
        first = last + 1;
    }
    out
}

fn page() -> String {
    format!(
        "# Why main did not come back\n\nThis page lists the causes that `anrscope report`, `dump`, groups, fleet rows and traces name, what to do \
         about each, and the rules that decide. `ANRSCOPE_WRITE_DOCS=1 cargo test -p anrscope-exporter answers::` writes it.\n\n## The causes\n\n{}\n\
         In a program on a JVM, which has no main thread that must respond to a user, the advice for these is:\n\n{}\n\
         ## The rules\n\nThe rules are rows of a table (`exporter/answers/src/answer/rules.rs`), asked in this order. The first that holds is the cause; \
         those that hold after it are listed as *also possible*. Thread state and CPU time come before samples. No row concludes from \
         what is missing: if no rule holds, the cause is `unknown`, and the report says what to record. \
         [How often the answers are right](evidence/answers.md).\n\n{}",
        causes(),
        on_a_jvm(),
        rules()
    )
}

fn evidence(made: &[Judged], corpus: &[Judged]) -> String {
    let mut page = format!(
        "# How often the answers are right\n\nThis page compares the [causes](../causes.md) that the rules give with labelled cases. \
         `ANRSCOPE_WRITE_DOCS=1 cargo test -p anrscope-exporter answers::` writes it.\n\n\
         ## Cases of the repository\n\n`scripts/prove answers` compares cause, root, lock owners and deadlock with the labels of \
         `exporter/tests/data/answers`, which were written before the rules. Vague answers (`unknown`, or another cause of the same \
         kind) and wrong ones are in brackets after the right ones.\n\n\
         {}\n{}.\n",
        table::markdown(made),
        table::sum(made)
    );
    if !corpus.is_empty() {
        let _ = write!(
            page,
            "\n{CORPUS}\n\nDumps of third parties, labelled by hand, are not part of the repository: the test reads them where \
             `ANRSCOPE_CORPUS` names their directory.\n\n{}\n{}.\n",
            table::markdown(corpus),
            table::sum(corpus)
        );
    }
    page
}

#[test]
fn the_pages_of_the_causes_are_what_the_rules_do() {
    let mut made = crate::answers::dumps();
    made.extend(crate::answers::recordings());
    let corpus = crate::answers::corpus();
    for (name, page) in [("causes.md", page()), ("evidence/answers.md", evidence(&made, &corpus))] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
        let there = std::fs::read_to_string(&file).unwrap();
        let at = there.find(&format!("\n{CORPUS}")).filter(|_| corpus.is_empty()).unwrap_or(there.len());
        // That part can only be made where the dumps are.
        let (there, kept) = there.split_at(at);
        if std::env::var_os("ANRSCOPE_WRITE_DOCS").is_some() {
            std::fs::write(&file, format!("{page}{kept}")).unwrap();
            continue;
        }
        assert_eq!(there, page, "docs/{name} is not what the rules do");
    }
}
