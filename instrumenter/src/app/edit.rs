//! Editing a dex file: the calls of `i` and `o` in its traced methods.
//!
//! The calls add items to the sorted tables, which moves the indices in all code of the file. A class with code that is not understood,
//! as obfuscators leave it in methods that never run, cannot follow: it is kept as it was, in a file of its own with the old tables.

use std::collections::BTreeMap;

use dex::code::Body;
use dex::code::trace::{Calls, Exits};
use dex::{Class, ClassMethod, Dex, MethodCode, WriteError};
use rayon::prelude::*;

use super::names;
use crate::error::SkipReason;
use crate::options;

/// A method that stays as it was: class and method by their positions, and the reason.
pub(crate) type Skipped = (usize, usize, SkipReason);

/// A method that was edited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed {
    /// The position of its class in the file, and its own in the class.
    pub(crate) class: usize,
    pub(crate) method: usize,
    /// Code units before and afterwards.
    pub(crate) units: (u32, u32),
}

/// Classes that are kept as they were, because code of theirs is not understood.
pub(crate) struct Kept<'a> {
    /// A file with these classes, and the tables before the edit.
    pub(crate) dex: Dex<'a>,
    /// The first of these classes, its method and what is wrong with it, for messages.
    pub(crate) example: String,
}

/// What was done to a file.
#[derive(Default)]
pub(crate) struct Edits<'a> {
    pub(crate) changed: Vec<Changed>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) kept: Option<Kept<'a>>,
}

impl Edits<'_> {
    /// What is left if the file cannot be written: the classes, each with the ids of its methods, are skipped.
    pub(crate) fn none<'i>(classes: impl Iterator<Item = (usize, &'i [u32])>, reason: &str) -> Self {
        let skipped = classes.flat_map(|(class, ids)| skipped(class, ids, reason));
        Self { skipped: skipped.collect(), ..Self::default() }
    }
}

/// The methods of a class that have an id.
fn skipped<'i>(class: usize, ids: &'i [u32], reason: &'i str) -> impl Iterator<Item = Skipped> + 'i {
    let traced = ids.iter().enumerate().filter(|(_, id)| **id != 0);
    traced.map(move |(method, _)| (class, method, SkipReason::BrokenDex(reason.to_owned())))
}

/// Inserts the calls. `ids` returns the ids of the methods of a class by its position, direct methods first.
pub(crate) fn edit<'a, 'i>(
    dex: &mut Dex<'a>,
    call_class: &str,
    exits: options::Exits,
    ids: &(dyn Fn(usize) -> &'i [u32] + Sync),
) -> Edits<'a> {
    let broken = undecodable(dex);
    // The tables before anything is added to them.
    let mut classes = core::mem::take(&mut dex.classes);
    let mut kept = broken.values().next().map(|reason| Kept { dex: dex.clone(), example: reason.clone() });
    let calls = dex.find_or_add_calls(&format!("L{call_class};"));
    let exits = match exits {
        options::Exits::All => Exits::All,
        options::Exits::Normal => Exits::Normal,
    };
    let this = dex.strings.iter().position(|string| string.as_ref() == b"this");
    let this = this.and_then(|this| u32::try_from(this).ok());
    // The tables are read while the classes change.
    let shared = &*dex;
    let of_class = |(number, class): (usize, &mut Class<'_>)| -> Vec<Result<Changed, Skipped>> {
        if let Some(reason) = broken.get(&number) {
            return skipped(number, ids(number), reason).map(Err).collect();
        }
        let methods = class.direct_methods.iter_mut().chain(&mut class.virtual_methods);
        let traced = methods.enumerate().zip(ids(number)).filter(|(_, id)| **id != 0);
        let done = traced.map(|((index, method), &id)| match trace(shared, method, this, id, calls, exits) {
            Ok(units) => Ok(Changed { class: number, method: index, units }),
            Err(reason) => Err((number, index, reason)),
        });
        done.collect()
    };
    let done: Vec<_> = classes.par_iter_mut().enumerate().with_min_len(16).flat_map_iter(of_class).collect();
    for (number, class) in classes.into_iter().enumerate() {
        match kept.as_mut().filter(|_| broken.contains_key(&number)) {
            Some(kept) => kept.dex.classes.push(class),
            None => dex.classes.push(class),
        }
    }
    let mut edits = Edits { kept, ..Edits::default() };
    for one in done {
        match one {
            Ok(one) => edits.changed.push(one),
            Err(one) => edits.skipped.push(one),
        }
    }
    edits
}

/// Returns the classes with code that is not understood, by their positions, and the first method of each that has such code.
fn undecodable(dex: &Dex<'_>) -> BTreeMap<usize, String> {
    let classes = dex.classes.par_iter().enumerate().with_min_len(16);
    let broken = classes.filter_map(|(number, class)| {
        let (method, broken) = dex.undecodable(class)?;
        let name = dex.methods.get(method as usize).map(|method| names::string(dex, method.name));
        let class = names::class(dex, class.class).replace('/', ".");
        Some((number, format!("{class}.{}: {broken}", name.unwrap_or_default())))
    });
    broken.collect()
}

fn trace(
    dex: &Dex<'_>,
    method: &mut ClassMethod<'_>,
    this: Option<u32>,
    id: u32,
    calls: Calls,
    exits: Exits,
) -> Result<(u32, u32), SkipReason> {
    let Some(MethodCode::Read(code)) = &method.code else { return Ok((0, 0)) };
    let broken = |what: String| SkipReason::BrokenDex(what);
    let mut body = Body::read(code).map_err(|error| broken(error.to_string()))?;
    let shape = dex.shape(method, this).ok_or_else(|| broken("its prototype is missing".to_owned()))?;
    let traced = body.trace(&shape, id, calls, exits)?;
    method.code = Some(MethodCode::Edited(Box::new(body)));
    Ok(traced.units)
}

/// A dex file that is written; several files if its tables would overflow.
pub(crate) struct Written {
    pub(crate) parts: Vec<Vec<u8>>,
    /// Entries in the tables of methods.
    pub(crate) method_ids: u64,
}

/// Writes an edited file, and what was kept of it behind it. The error is the end of a sentence.
pub(crate) fn write(dex: Dex<'_>, kept: Option<&Kept<'_>>) -> Result<Written, String> {
    let mut written = write_edited(dex)?;
    if let Some(Kept { dex: kept, .. }) = kept {
        written.parts.push(kept.write().map_err(|error| error.to_string())?);
        written.method_ids += kept.methods.len() as u64;
    }
    Ok(written)
}

fn write_edited(dex: Dex<'_>) -> Result<Written, String> {
    let method_ids = dex.methods.len() as u64;
    match dex.write() {
        Ok(bytes) => return Ok(Written { parts: vec![bytes], method_ids }),
        Err(WriteError::Limit(_)) => {}
        Err(error) => return Err(error.to_string()),
    }
    // The lowest level that loads more than one file is the runtime's: no class has to be in the first one.
    let parts = dex.split(&|_| false).map_err(|error| error.to_string())?;
    let method_ids = parts.iter().map(|part| part.methods.len() as u64).sum();
    let written: Result<_, _> = parts.par_iter().map(Dex::write).collect();
    Ok(Written { parts: written.map_err(|error: WriteError| error.to_string())?, method_ids })
}

/// Returns whether a class of the file calls `call_class`, so that it is instrumented already.
pub(crate) fn calls(dex: &Dex<'_>, call_class: &str) -> bool {
    dex.methods.iter().any(|method| {
        names::class(dex, method.class) == call_class
            && matches!(&*names::string(dex, method.name), "i" | "o")
    })
}
