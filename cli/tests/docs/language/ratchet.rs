//! The record of how many offenders there are: numbers that may only fall.

use std::collections::BTreeMap;
use std::fmt;

/// Words at the top of the record.
const HEAD: &str = "# Offenders of the rules in CONTRIBUTING.md for each crate, which may only fall: see mod.rs. Lower them by\n\
                    # ANRSCOPE_WRITE_DOCS=1 cargo test -p anrscope language\n";

/// A row of the record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// Directory of a crate.
    pub(crate) owner: String,
    pub(crate) rule: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.owner, self.rule)
    }
}

/// Numbers of offenders; a row that is missing is 0.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counts(BTreeMap<Key, usize>);

impl Counts {
    /// Collects rows. Of two with the same key the lower one counts.
    ///
    /// A merge keeps both lines where two branches have lowered one number (`merge=union` in `.gitattributes`). For example, one
    /// cured 5 of 100 and the other 10: the record then says 95 and 90, and 85 are left.
    pub(crate) fn new(rows: impl Iterator<Item = (Key, usize)>) -> Self {
        let mut counts = BTreeMap::new();
        for (key, count) in rows {
            let lowest = counts.entry(key).or_insert(count);
            *lowest = count.min(*lowest);
        }
        Self(counts)
    }

    pub(crate) fn parse(text: &str) -> Self {
        let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [owner, rule, count] = words[..] else { panic!("{line:?} is no row: CRATE RULE NUMBER") };
            let count = count.parse().unwrap_or_else(|e| panic!("{line:?}: {e}"));
            (Key { owner: owner.to_owned(), rule: rule.to_owned() }, count)
        });
        Self::new(rows)
    }

    pub(crate) fn render(&self) -> String {
        let rows = self.0.iter().map(|(key, count)| format!("{key} {count}\n"));
        HEAD.to_owned() + &rows.collect::<String>()
    }

    /// Returns the rows that are above their recorded numbers, with these.
    pub(crate) fn above(&self, recorded: &Self) -> Vec<(Key, usize)> {
        let rows = self.0.iter().map(|(key, count)| (key, *count, recorded.0.get(key).copied().unwrap_or(0)));
        rows.filter(|(_, count, recorded)| count > recorded)
            .map(|(key, _, recorded)| (key.clone(), recorded))
            .collect()
    }

    /// Returns true if any rule has more offenders than recorded in all crates together. A source that moves to another crate
    /// changes no total.
    pub(crate) fn exceeds_in_total(&self, recorded: &Self) -> bool {
        let recorded = recorded.totals();
        self.totals().iter().any(|(rule, total)| *total > recorded.get(rule).copied().unwrap_or(0))
    }

    fn totals(&self) -> BTreeMap<&str, usize> {
        let mut totals = BTreeMap::new();
        for (key, count) in &self.0 {
            *totals.entry(key.rule.as_str()).or_insert(0) += count;
        }
        totals
    }
}

#[test]
fn records_survive_a_round_trip() {
    let text = format!("{HEAD}cli first-word 3\nexporter first-word 7\n");
    assert_eq!(Counts::parse(&text).render(), text);
}

#[test]
fn merged_records_take_the_lower_number() {
    let merged = Counts::parse("cli first-word 95\ncli first-word 90\n");
    assert_eq!(merged, Counts::parse("cli first-word 90\n"));
}

#[test]
fn numbers_only_fall() {
    let recorded = Counts::parse("cli first-word 3\nexporter first-word 7\n");
    let rises = |text: &str| {
        let found = Counts::parse(text);
        let above: Vec<_> = found.above(&recorded).iter().map(|(key, old)| format!("{key} {old}")).collect();
        (above, found.exceeds_in_total(&recorded))
    };
    assert_eq!(rises("cli first-word 2\nexporter first-word 7\n"), (vec![], false));
    assert_eq!(rises("cli first-word 4\nexporter first-word 7\n"), (vec!["cli first-word 3".into()], true));
    assert_eq!(rises("cli first-word 4\nexporter first-word 6\n"), (vec!["cli first-word 3".into()], false));
    assert_eq!(rises("cli first-word 3\nweb test-name 1\n"), (vec!["web test-name 0".into()], true));
}
