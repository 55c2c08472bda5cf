//! Editing a dex file: the calls of `i` and `o` in its traced methods.
//!
//! The calls add items to the sorted tables, which moves the indices in all code of the file. A class with code that is not understood,
//! as obfuscation leaves it in methods that never run, cannot follow: it is kept as it was, in a file of its own with the old tables.

use std::collections::BTreeMap;

use dex::code::trace::{Calls, Exits, Shape, Waits};
use dex::code::{Body, Code};
use dex::{Class, ClassMethod, Dex, MethodCode, WriteError};
use rayon::prelude::*;

use super::names;
use super::waits::{self, DexWaits, InClass, Lambdas, Listed};
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

/// Classes that are kept as they were, because some of their code is not understood.
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

/// A method that was edited.
struct Done {
    body: Box<Body>,
    /// The length of the file, before and afterwards.
    units: (u32, u32),
    /// Why its waits are not recorded.
    without_waits: Option<SkipReason>,
}

/// Inserts the calls. `ids` returns the ids of the methods of a class by its position, direct methods first. `waits` are recorded too.
pub(crate) fn edit<'a, 'i>(
    dex: &mut Dex<'a>,
    call_class: &str,
    exits: options::Exits,
    ids: &(dyn Fn(usize) -> &'i [u32] + Sync),
    waits: Option<(&Listed<'_>, &mut Lambdas)>,
) -> Edits<'a> {
    let broken = undecodable(dex);
    // The tables before anything is added to them.
    let kept = broken.values().next().map(|example| {
        let classes = core::mem::take(&mut dex.classes);
        let tables = dex.clone();
        dex.classes = classes;
        Kept { dex: tables, example: example.clone() }
    });
    let call_class = format!("L{call_class};");
    let calls = dex.find_or_add_calls(&call_class);
    let waits = waits.map(|(listed, lambdas)| DexWaits::new(dex, &call_class, listed, lambdas));
    let exits = match exits {
        options::Exits::All => Exits::All,
        options::Exits::Normal | options::Exits::Bare => Exits::Normal,
    };
    let this = dex.strings.iter().position(|string| string.as_ref() == b"this");
    let this = this.and_then(|this| u32::try_from(this).ok());
    // The tables are read while the classes change.
    let mut classes = core::mem::take(&mut dex.classes);
    let editor = Editor { dex: &*dex, this, calls, exits, waits };
    let of_class = |(number, class): (usize, &mut Class<'_>)| {
        if let Some(reason) = broken.get(&number) {
            return (Vec::new(), skipped(number, ids(number), reason).collect());
        }
        let done = editor.class(class, ids(number));
        let (mut changed, mut skipped) = (Vec::new(), Vec::new());
        let mut methods: Vec<&mut ClassMethod<'_>> =
            class.direct_methods.iter_mut().chain(&mut class.virtual_methods).collect();
        for (index, done) in done {
            match done {
                Ok(Done { body, units, without_waits }) => {
                    if let Some(method) = methods.get_mut(index) {
                        method.code = Some(MethodCode::Edited(body));
                    }
                    changed.push(Changed { class: number, method: index, units });
                    skipped
                        .extend(without_waits.map(|why| (number, index, SkipReason::Waits(Box::new(why)))));
                }
                Err(reason) => skipped.push((number, index, reason)),
            }
        }
        (changed, skipped)
    };
    let done: Vec<_> = classes.par_iter_mut().enumerate().with_min_len(16).map(of_class).collect();
    let (changed, skipped): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    let mut edits = Edits { changed: changed.concat(), skipped: skipped.concat(), kept };
    for (number, class) in classes.into_iter().enumerate() {
        match edits.kept.as_mut().filter(|_| broken.contains_key(&number)) {
            Some(kept) => kept.dex.classes.push(class),
            None => dex.classes.push(class),
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

struct Editor<'d> {
    dex: &'d Dex<'d>,
    /// Index of the string `this`.
    this: Option<u32>,
    calls: Calls,
    exits: Exits,
    waits: Option<DexWaits<'d>>,
}

impl Editor<'_> {
    /// Edits the methods that have ids. Returns them by their positions.
    fn class(&self, class: &Class<'_>, ids: &[u32]) -> Vec<(usize, Result<Done, SkipReason>)> {
        if ids.iter().all(|&id| id == 0) {
            return Vec::new();
        }
        let waits = self.waits.as_ref().map(|waits| (waits, InClass::new(self.dex, class, ids)));
        let traced = class.methods().enumerate().zip(ids).filter(|(_, id)| **id != 0);
        let edited = traced.filter_map(|((index, method), &id)| {
            let Some(MethodCode::Read(code)) = &method.code else { return None };
            let of_method = |body: &Body| {
                let (waits, in_class) = waits.as_ref()?;
                Some(waits::of_method(waits, in_class, index, body))
            };
            Some((index, self.method(method, code, id, &of_method)))
        });
        edited.collect()
    }

    /// Edits a method, without its waits if they cannot be recorded.
    fn method(
        &self,
        method: &ClassMethod<'_>,
        code: &Code<'_>,
        id: u32,
        waits: &dyn Fn(&Body) -> Option<Waits>,
    ) -> Result<Done, SkipReason> {
        let shape = self.dex.shape(method, self.this);
        let shape = shape.ok_or_else(|| SkipReason::BrokenDex("its prototype is missing".to_owned()))?;
        let body = Body::read(code).map_err(|error| SkipReason::BrokenDex(error.to_string()))?;
        let of_method = waits(&body).filter(|waits| !waits.sites.is_empty() || waits.task.is_some());
        match of_method.map(|waits| self.trace(body.clone(), &shape, id, Some(&waits))) {
            Some(Ok(done)) => Ok(done),
            failed => {
                let without_waits = failed.and_then(Result::err);
                Ok(Done { without_waits, ..self.trace(body, &shape, id, None)? })
            }
        }
    }

    fn trace(
        &self,
        mut body: Body,
        shape: &Shape,
        id: u32,
        waits: Option<&Waits>,
    ) -> Result<Done, SkipReason> {
        let traced = body.trace(shape, id, self.calls, self.exits, waits)?;
        Ok(Done { body: Box::new(body), units: traced.units, without_waits: None })
    }
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
    let parts = dex.split().map_err(|error| error.to_string())?;
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
