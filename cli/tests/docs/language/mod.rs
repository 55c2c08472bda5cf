//! How the sources are written: the five rules of CONTRIBUTING.md, as far as a script can check them.
//!
//! The rules are newer than most of the text, so we do not ask that no source breaks one. `offenders.txt` has the number of
//! offenders for each crate and rule, and a number may only fall. For example, a new doc comment that begins with "Whether"
//! makes `exporter first-word` one more than recorded: the test fails and prints it. A change that cures ten makes ten
//! fewer, and the test asks for the lower number, which `ANRSCOPE_WRITE_DOCS=1` writes.
//!
//! We count and do not list the offenders by hash, because a list has thousands of lines that tell a reviewer nothing. The
//! price is that a change may cure one offender and add another.

mod comment;
mod ratchet;
mod reader;
mod rules;
mod source;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::docs::files::{changed, walk};
use crate::docs::language::ratchet::{Counts, Key};
use crate::docs::language::rules::{Offender, RULES};
use crate::docs::language::source::Source;
use crate::docs::repository;

const RECORD: &str = "cli/tests/docs/language/offenders.txt";
const REWRITE: &str = "ANRSCOPE_WRITE_DOCS=1 cargo test -p anrscope language";

/// Offenders to print for each crate and rule.
const MAX_PRINTED: usize = 40;

type Offenders = BTreeMap<Key, Vec<(String, Offender)>>;

#[test]
fn sources_break_no_rule_more_often_than_recorded() {
    let offenders = offenders();
    let found = Counts::new(offenders.iter().map(|(key, places)| (key.clone(), places.len())));
    let text = std::fs::read_to_string(repository().join(RECORD)).unwrap();
    let recorded = Counts::parse(&text);
    let is_current = found.render() == text;
    if !is_current && std::env::var_os("ANRSCOPE_WRITE_DOCS").is_some() && !found.exceeds_in_total(&recorded)
    {
        std::fs::write(repository().join(RECORD), found.render()).unwrap();
        return;
    }
    let risen = found.above(&recorded);
    assert!(risen.is_empty(), "{}", report(&risen, &offenders));
    assert!(is_current, "fewer offenders than {RECORD} says. To lower the numbers: {REWRITE}");
}

/// Finds the offenders in all sources.
fn offenders() -> Offenders {
    let files = walk("");
    let crates = files.iter().filter_map(|path| path.strip_suffix("/Cargo.toml")).collect();
    let sources: Vec<&String> =
        files.iter().filter(|path| path.ends_with(".rs") || path.ends_with(".java")).collect();
    assert!(sources.len() > 1_500, "{} sources", sources.len());
    let mut offenders = Offenders::new();
    for path in sources {
        let text = std::fs::read_to_string(repository().join(path)).unwrap();
        let source = Source::new(path, &text);
        for rule in RULES {
            let key = Key { owner: owner(path, &crates), rule: rule.name.to_owned() };
            for offender in (rule.find)(&source) {
                offenders.entry(key.clone()).or_default().push((path.clone(), offender));
            }
        }
    }
    offenders
}

/// Returns the directory of the crate that a source belongs to, or else its directory at the top.
fn owner(path: &str, crates: &BTreeSet<&str>) -> String {
    let ancestors = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
    let top = path.split('/').next().unwrap_or_default();
    ancestors.clone().find(|directory| crates.contains(directory)).unwrap_or(top).to_owned()
}

/// Tells where to look: the offenders of the numbers that have risen, those in changed files first.
fn report(risen: &[(Key, usize)], offenders: &Offenders) -> String {
    let changed = changed();
    let mut report = "CONTRIBUTING.md says how we write.\n".to_owned();
    for (key, recorded) in risen {
        let mut places: Vec<_> = offenders[key].iter().collect();
        places.sort_by_key(|(path, _)| !changed.contains(path));
        let advice = RULES.iter().find(|rule| rule.name == key.rule).map_or("", |rule| rule.advice);
        report += &format!("\n{key}: {}, of which {recorded} are recorded: {advice}\n", places.len());
        for (path, Offender { line, text }) in places.iter().take(MAX_PRINTED) {
            let mark = if changed.contains(path) { "changed: " } else { "" };
            report += &format!("    {mark}{path}:{line}: {text}\n");
        }
        if places.len() > MAX_PRINTED {
            report += &format!("    and {} more\n", places.len() - MAX_PRINTED);
        }
    }
    report + &format!("\nIf sources moved to another crate, {REWRITE} moves the numbers.\n")
}

#[test]
fn sources_belong_to_the_nearest_crate() {
    let crates = ["exporter", "exporter/android"].into();
    assert_eq!(owner("exporter/src/lib.rs", &crates), "exporter");
    assert_eq!(owner("exporter/android/java/dev/Stall.java", &crates), "exporter/android");
    assert_eq!(owner("android/aar/java/dev/A.java", &crates), "android");
}
