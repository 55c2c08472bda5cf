//! The arguments.

pub(crate) const USAGE: &str = "chains [--full] [--facts] [--jobs N] [--claim PERCENT] [--keep] [NAME...]
    --full       all programs; else some
    --facts      only the first step: programs run without a recorder, and are where their labels say
    --jobs       JVMs at once, 12 by default, as they sleep
    --claim      percent that must be named: 95 of all, none of some; none may be wrong
    --keep       sources, classes and recordings stay, and it is said where
    NAME         only programs whose name contains one of these
Program FAMILY-N: the families are in tests/chains/families; ANRSCOPE_WRITE_DOCS=1 writes labels.jsonl anew.";

pub(crate) struct Options {
    pub full: bool,
    pub facts: bool,
    pub jobs: usize,
    pub claim: f64,
    pub keep: bool,
    pub names: Vec<String>,
}

impl Options {
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options =
            Self { full: false, facts: false, jobs: 12, claim: 0.0, keep: false, names: Vec::new() };
        let mut words = words;
        while let Some(word) = words.next() {
            let mut number = || {
                let text = words.next().ok_or_else(|| format!("{word} takes a value"))?;
                text.parse::<u32>().map_err(|_| format!("{text} is no number"))
            };
            match word.as_str() {
                "--full" => (options.full, options.claim) = (true, 95.0),
                "--facts" => options.facts = true,
                "--jobs" => options.jobs = number()?.max(1) as usize,
                "--claim" => options.claim = number()?.into(),
                "--keep" => options.keep = true,
                _ if word.starts_with('-') => return Err(format!("unknown option {word}")),
                _ => options.names.push(word),
            }
        }
        Ok(options)
    }
}
