//! Matrix's own choice of methods, numbers and files, with its traps, for apps that move step by step.
//!
//! What is done here is what Matrix 2.1 does with a single worker; with its sixteen, its numbers
//! change from build to build. In order:
//! 1. Folders come before archives, each in the order given; their classes in the order of the files
//!    by name, or of the archive's directory.
//! 2. A class is passed over if its file name has `R.class`, `R$`, `Manifest` or `BuildConfig` in it,
//!    or if it is abstract or an interface. Its methods are in no file.
//! 3. A class without a super class (`module-info`), or with what came after Java 10 (nest mates,
//!    records, sealed classes), makes Matrix give up the archive: what comes behind it in the archive
//!    is not numbered, and in the second case the whole archive stays as it is. Matrix says nothing of
//!    it; here there is a warning.
//! 4. Whether a class is blocked: see `block_list`.
//! 5. A method is numbered if its class is not blocked and it is worth it by the default rule. One of
//!    the base map keeps its number and is traced whatever the rest says; it is then in both files.
//!
//! What is *not* copied: numbers above 0xFEFFF are an error, and a negative number of a base map is
//! written to the map as Matrix does it, but no call is made with it.

mod block_list;
pub(crate) mod facts;
mod java_map;
mod lines;
mod looks;
mod names;
mod traced;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use trace_format::{MapId, ids};

use self::block_list::block_set;
use self::lines::{DISPATCH_KEY, ignored_lines, method_lines, source_lines};
use self::looks::Looks;
use self::names::Names;
use self::traced::Collected;
use crate::class_facts::{ClassFacts, Verdict};
use crate::error::Error;
use crate::method_map::{MethodMap, Texts};
use crate::options::Options;
use crate::summary::{Stale, StaleReason, Warning};

fn text_of(path: Option<&Path>) -> Result<String, Error> {
    let Some(path) = path else { return Ok(String::new()) };
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.into(), source })
}

/// What a run by Matrix's way finds.
pub(crate) struct Numbered {
    pub(crate) map: MethodMap,
    pub(crate) stale: Vec<Stale>,
    pub(crate) warnings: Vec<(PathBuf, Warning)>,
}

/// Numbers `classes` of `inputs` (one for each class) and writes the verdicts into them.
pub(crate) fn number(
    classes: &mut [ClassFacts],
    inputs: &[PathBuf],
    options: &Options,
) -> Result<Numbered, Error> {
    let names = options.mapping.as_deref().map(Names::read).transpose()?;
    let names = names.as_ref();
    let blocked = block_set(&text_of(options.block_list.as_deref())?, names);
    let mut collected = Collected::base(&text_of(options.base_map.as_deref())?, names);

    let looks = Looks::new(inputs, &blocked, names);
    let first = looks.first(classes, &mut collected);
    let needed = usize::try_from(collected.last).unwrap_or(0);
    if needed > ids::METHOD_LAST as usize {
        return Err(Error::TooManyMethods { needed, available: ids::METHOD_LAST as usize });
    }
    let second = looks.second(classes, &collected, &first);

    let (verdicts, ignored, warnings) = (first.verdicts, first.ignored, first.warnings);
    let numbered = second.numbered;
    for (class, (verdicts, numbered)) in classes.iter_mut().zip(verdicts.into_iter().zip(&numbered)) {
        for (method, (verdict, &id)) in class.methods.iter_mut().zip(verdicts.into_iter().zip(numbered)) {
            method.verdict = match verdict {
                // Numbered, but its archive is left as it is.
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
    map.focus = second.changes;
    Ok(Numbered { map, stale, warnings })
}

/// The lines of the base map that no method has any more.
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
