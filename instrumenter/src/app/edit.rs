//! Editing a dex file: the calls of `i` and `o` in its traced methods.

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

/// Inserts the calls. `ids` returns the ids of the methods of a class by its position, direct methods first.
pub(crate) fn edit<'i>(
    dex: &mut Dex<'_>,
    call_class: &str,
    exits: options::Exits,
    ids: &(dyn Fn(usize) -> &'i [u32] + Sync),
) -> (Vec<Changed>, Vec<Skipped>) {
    let calls = dex.find_or_add_calls(&format!("L{call_class};"));
    let exits = match exits {
        options::Exits::All => Exits::All,
        options::Exits::Normal => Exits::Normal,
    };
    let this = dex.strings.iter().position(|string| string.as_ref() == b"this");
    let this = this.and_then(|this| u32::try_from(this).ok());
    // The tables are read while the classes change.
    let mut classes = core::mem::take(&mut dex.classes);
    let shared = &*dex;
    let of_class = |(number, class): (usize, &mut Class<'_>)| -> Vec<Result<Changed, Skipped>> {
        let methods = class.direct_methods.iter_mut().chain(&mut class.virtual_methods);
        let traced = methods.enumerate().zip(ids(number)).filter(|(_, id)| **id != 0);
        let done = traced.map(|((index, method), &id)| match trace(shared, method, this, id, calls, exits) {
            Ok(units) => Ok(Changed { class: number, method: index, units }),
            Err(reason) => Err((number, index, reason)),
        });
        done.collect()
    };
    let done: Vec<_> = classes.par_iter_mut().enumerate().with_min_len(16).flat_map_iter(of_class).collect();
    dex.classes = classes;
    let (mut changed, mut skipped) = (Vec::new(), Vec::new());
    for one in done {
        match one {
            Ok(one) => changed.push(one),
            Err(one) => skipped.push(one),
        }
    }
    (changed, skipped)
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

/// Writes an edited file. The error is the end of a sentence.
pub(crate) fn write(dex: Dex<'_>) -> Result<Written, String> {
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
