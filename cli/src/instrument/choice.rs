//! The options that choose what is traced, for class files and for apps.

use std::path::PathBuf;

use instrumenter::{Exits, MapPaths};

/// What is traced, and what is printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// The method map to write [default: methodMapping.txt beside OUT, or in it if OUT is a directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) method_map: Option<PathBuf>,
    /// The list of untraced methods to write [default: ignoreMethodMapping.txt beside the method map]
    #[arg(long, value_name = "FILE")]
    pub(crate) ignored_map: Option<PathBuf>,
    /// A method map whose ids are kept; its methods are always traced
    #[arg(long, value_name = "FILE")]
    pub(crate) base_map: Option<PathBuf>,
    /// A file of classes and packages to leave out, one a line; Matrix's format is accepted
    #[arg(long, value_name = "FILE")]
    pub(crate) block_list: Option<PathBuf>,
    /// A file of rules that choose what is traced
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Skip methods that run at most this many instructions, callees included, without a loop, a wait or an unknown call; 0 skips
    /// none
    #[arg(long, value_name = "N", default_value_t = instrumenter::DEFAULT_SHORT,
        value_parser = clap::value_parser!(u16).range(0..=4096))]
    pub(crate) short: u16,
    /// Also record waits: monitors, synchronized methods, Object.wait, park, sleep, join, blocking calls
    #[arg(long)]
    pub(crate) waits: bool,
    /// A file of additional blocking calls, one a line: KIND CLASS METHOD, optionally with a DESCRIPTOR and on=receiver, on=first or
    /// on=none; implies --waits
    #[arg(long, value_name = "FILE")]
    pub(crate) waits_catalogue: Option<PathBuf>,
    /// The mapping.txt of ProGuard or R8, if the input is already obfuscated
    #[arg(long, value_name = "FILE")]
    pub(crate) mapping: Option<PathBuf>,
    /// Exit with 1 if a class or method was left unchanged
    #[arg(long)]
    pub(crate) fail_on_skip: bool,
    /// Number of threads; 0 is one per CPU
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// Compression level of rewritten classes: 0 stores, 9 is the smallest
    #[arg(long, value_name = "0-9", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=9))]
    pub(crate) level: u8,
    /// Record all exits of methods, or only returns (normal), or as Matrix does, without handlers (bare, for Android)
    /// [default: all]
    #[arg(long, value_enum)]
    pub(crate) exits: Option<ExitsOption>,
    /// Print what was done to the methods of this class, and why
    #[arg(long, value_name = "CLASS")]
    pub(crate) explain: Option<String>,
    /// Print only errors and warnings
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print a summary as JSON to stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum ExitsOption {
    All,
    Normal,
    Bare,
}

impl Choice {
    /// The instrumenter's options, on top of `preset`.
    pub(crate) fn settings(&self, preset: instrumenter::Options) -> anyhow::Result<instrumenter::Options> {
        Ok(instrumenter::Options {
            waits: super::waits(self.waits, self.waits_catalogue.as_deref())?,
            base_map: self.base_map.clone(),
            block_list: self.block_list.clone(),
            rules: self.rules.clone(),
            mapping: self.mapping.clone(),
            short: self.short,
            level: self.level,
            threads: self.threads,
            exits: match self.exits {
                Some(ExitsOption::All) => Exits::All,
                Some(ExitsOption::Normal) => Exits::Normal,
                Some(ExitsOption::Bare) => Exits::Bare,
                None => preset.exits,
            },
            explain: self.explain.clone(),
            ..preset
        })
    }

    /// The maps to write; `default` is the path of the method map without an option.
    pub(crate) fn maps(&self, default: PathBuf) -> MapPaths {
        let mut maps = MapPaths::beside(self.method_map.clone().unwrap_or(default));
        if let Some(path) = &self.ignored_map {
            maps.ignored = Some(path.clone());
        }
        maps
    }
}
