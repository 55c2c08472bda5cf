//! The arguments.

use crate::harness::{Names, Words};

pub(crate) const USAGE: &str = "chains [--full] [--facts] [--jobs N] [--claim PERCENT] [--keep] [NAME...]
    --full       all programs; else some
    --facts      only the first step: programs run without a recorder, and are where their labels say
    --jobs       JVMs at once, 12 by default, as they sleep
    --claim      percent that must be named: 95 of all, none of some; none may be wrong
    --keep       sources, classes and recordings stay, and it is said where
    NAME         only programs whose name contains one of these
Program FAMILY-N: the families are in tests/suites/src/chains/families; ANRSCOPE_WRITE_DOCS=1 writes labels.jsonl anew.";

pub(crate) struct Options {
    pub full: bool,
    pub facts: bool,
    pub jobs: usize,
    pub claim: f64,
    pub keep: bool,
    pub names: Names,
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> Result<Self, String> {
        let mut options =
            Self { full: false, facts: false, jobs: 12, claim: 0.0, keep: false, names: Names::default() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--full" => (options.full, options.claim) = (true, 95.0),
                "--facts" => options.facts = true,
                "--jobs" => options.jobs = words.number::<usize>()?.max(1),
                "--claim" => options.claim = words.number::<u32>()?.into(),
                "--keep" => options.keep = true,
                _ => options.names.add(word)?,
            }
        }
        Ok(options)
    }
}
