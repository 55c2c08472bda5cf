//! The arguments.

use crate::chains::through::Through;
use crate::harness::{Names, Words};

pub(crate) const USAGE: &str = "chains [--full] [--facts] [--jobs N] [--through WAY] [--claim PERCENT] [--keep] [NAME...]
    --full       all programs; else some
    --facts      only the first step: programs run without a recorder, and are where their labels say
    --through    how programs are recorded: instrument (the default), jvm, or attach
    --jobs       JVMs at once, 12 by default, as they sleep
    --claim      percent that must be named, with none wrong: through instrument 95 of all, 0 of some; the other ways claim nothing
    --keep       sources, classes and recordings stay, and it is said where
    NAME         only programs whose name contains one of these
Program FAMILY-N: the families are in tests/suites/src/chains/families; ANRSCOPE_WRITE_DOCS=1 writes labels.jsonl anew.";

pub(crate) struct Options {
    pub full: bool,
    pub facts: bool,
    pub through: Through,
    pub jobs: usize,
    /// `None`: any answer will do.
    pub claim: Option<f64>,
    pub keep: bool,
    pub names: Names,
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> Result<Self, String> {
        let mut options = Self {
            full: false,
            facts: false,
            through: Through::Instrument,
            jobs: 12,
            claim: None,
            keep: false,
            names: Names::default(),
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--full" => options.full = true,
                "--facts" => options.facts = true,
                "--through" => {
                    let way = words.value()?;
                    options.through =
                        Through::of(&way).ok_or_else(|| format!("--through {way}: no such way"))?;
                }
                "--jobs" => options.jobs = words.number::<usize>()?.max(1),
                "--claim" => options.claim = Some(words.number::<u32>()?.into()),
                "--keep" => options.keep = true,
                _ => options.names.add(word)?,
            }
        }
        let usual = options.through.claim().map(|of_all| if options.full { of_all } else { 0.0 });
        options.claim = options.claim.or(usual);
        Ok(options)
    }
}
