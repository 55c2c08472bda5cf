//! Matrix's own selection, ids and files, quirks included, for apps that migrate step by step.
//!
//! This reproduces Matrix 2.1 with a single worker; with its sixteen workers, its ids change from build to build. In
//! order:
//! 1. Directories come before archives, each in the given order, with their classes in the order of the file names,
//!    or of the archive's directory.
//! 2. A class is skipped if its file name contains `R.class`, `R$`, `Manifest` or `BuildConfig`, or if it is abstract
//!    or an interface. Its methods are in no file.
//! 3. At a class without a super class (`module-info`), or with features newer than Java 10 (nest mates, records,
//!    sealed classes), Matrix stops reading the archive: the classes after it get no ids, and in the second case the
//!    whole archive is copied unchanged. Matrix reports nothing; here there is a warning.
//! 4. Whether a class is blocked: see `block_list`.
//! 5. A method gets an id if its class is not blocked and the default rule selects it. A method of the base map keeps
//!    its id and is always traced; it is then in both files.
//!
//! Not reproduced: ids above 0xFE7FF are an error, and methods with a negative id in the base map keep their line in
//! the map, as in Matrix, but are not called.

mod block_list;
mod java_map;
mod lines;
mod names;
mod passes;
mod traced;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use trace_format::{MapId, ids};

use self::block_list::block_set;
use self::lines::{DISPATCH_KEY, ignored_lines, method_lines, source_lines};
use self::names::Names;
use self::passes::Passes;
use self::traced::Collected;
use crate::class_facts::{ClassFacts, Verdict};
use crate::error::Error;
use crate::method_map::{MethodMap, Texts};
use crate::options::Options;
use crate::summary::{Stale, StaleReason, Warning};

fn text_of(path: Option<&Path>) -> Result<String, Error> {
    let Some(path) = path else { return Ok(String::new()) };
    std::fs::read_to_string(path).map_err(Error::reading(path))
}

/// The result of assigning ids by Matrix's rules.
pub(crate) struct Numbered {
    pub(crate) map: MethodMap,
    pub(crate) stale: Vec<Stale>,
    pub(crate) warnings: Vec<(PathBuf, Warning)>,
}

/// Assigns ids to `classes`, whose inputs are `inputs`, and stores the verdicts in them.
pub(crate) fn assign_ids(
    classes: &mut [ClassFacts],
    inputs: &[PathBuf],
    options: &Options,
) -> Result<Numbered, Error> {
    let names = options.mapping.as_deref().map(Names::read).transpose()?;
    let names = names.as_ref();
    let blocked = block_set(&text_of(options.block_list.as_deref())?, names);
    let mut collected = Collected::base(&text_of(options.base_map.as_deref())?, names);

    let passes = Passes::new(inputs, &blocked, names);
    let first = passes.first(classes, &mut collected);
    let needed = usize::try_from(collected.last).unwrap_or(0);
    if needed > ids::METHOD_LAST as usize {
        return Err(Error::TooManyMethods { needed, available: ids::METHOD_LAST as usize });
    }
    let (numbered, changes) = passes.second(classes, &collected, &first);
    let (verdicts, ignored, warnings) = (first.verdicts, first.ignored, first.warnings);
    for (class, (verdicts, numbered)) in classes.iter_mut().zip(verdicts.into_iter().zip(&numbered)) {
        for (method, (verdict, &id)) in class.methods.iter_mut().zip(verdicts.into_iter().zip(numbered)) {
            method.verdict = match verdict {
                // It has an id, but its archive is copied unchanged.
                Verdict::Trace if id == 0 => Verdict::Exclude,
                _ if id != 0 => Verdict::Trace,
                verdict => verdict,
            };
        }
    }
    let stale = stale(&collected, &numbered, names);
    let methods = method_lines(&collected, names);
    let texts = Texts {
        id: MapId::from_lines(methods.lines()),
        lines: Some(source_lines(classes, &numbered)),
        methods: Some(methods),
        ignored: Some(ignored_lines(&ignored, names)),
        states: Vec::new(),
    };
    let mut map = MethodMap::with(numbered, texts);
    map.focus = changes;
    Ok(Numbered { map, stale, warnings })
}

/// Returns the lines of the base map whose methods no longer exist.
fn stale(collected: &Collected, numbered: &[Vec<u32>], names: Option<&Names>) -> Vec<Stale> {
    let used: HashSet<i64> = numbered.iter().flatten().map(|&id| i64::from(id)).collect();
    let idle = collected.methods.iter().take(collected.base).filter(|method| !used.contains(&method.id));
    let stale = idle.filter(|method| method.key() != DISPATCH_KEY).map(|method| Stale {
        id: method.id,
        method: method.line(names),
        reason: StaleReason::Gone,
    });
    let mut stale: Vec<Stale> = stale.collect();
    stale.sort_by_key(|stale| stale.id);
    stale
}

#[cfg(test)]
mod tests;
