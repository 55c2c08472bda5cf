//! Editing a dex file: the calls of `i` and `o` in its traced methods.

use dex::code::{Body, Calls, Exits, Shape};
use dex::{Class, ClassMethod, Dex, MethodCode};
use rayon::prelude::*;

use super::names;
use crate::error::SkipReason;
use crate::options;

/// A method that stays as it was: class and method by their positions, and the reason.
pub(crate) type Skipped = (usize, usize, SkipReason);

/// Inserts the calls. `ids` returns the ids of the methods of a class by its position, direct methods first.
pub(crate) fn edit<'i>(
    dex: &mut Dex<'_>,
    call_class: &str,
    exits: options::Exits,
    ids: &(dyn Fn(usize) -> &'i [u32] + Sync),
) -> Vec<Skipped> {
    let class = dex.find_or_add_type(&format!("L{call_class};"));
    let (void, int) = (dex.find_or_add_type("V"), dex.find_or_add_type("I"));
    let proto = dex.find_or_add_proto(void, &[int]);
    let calls = Calls {
        enter: dex.find_or_add_method(class, "i", proto),
        exit: dex.find_or_add_method(class, "o", proto),
    };
    let exits = match exits {
        options::Exits::All => Exits::All,
        options::Exits::Normal => Exits::Normal,
    };
    // The tables are read while the classes change.
    let mut classes = core::mem::take(&mut dex.classes);
    let shared = &*dex;
    let of_class = |(number, class): (usize, &mut Class<'_>)| -> Vec<Skipped> {
        let ids = ids(number);
        let methods = class.direct_methods.iter_mut().chain(&mut class.virtual_methods);
        let traced = methods.enumerate().zip(ids).filter(|(_, id)| **id != 0);
        let failed = traced.filter_map(|((index, method), &id)| {
            let done = trace(shared, method, id, calls, exits);
            done.err().map(|reason| (number, index, reason))
        });
        failed.collect()
    };
    let skipped: Vec<Skipped> =
        classes.par_iter_mut().enumerate().with_min_len(16).flat_map_iter(of_class).collect();
    dex.classes = classes;
    skipped
}

fn trace(
    dex: &Dex<'_>,
    method: &mut ClassMethod<'_>,
    id: u32,
    calls: Calls,
    exits: Exits,
) -> Result<(), SkipReason> {
    let Some(MethodCode::Read(code)) = &method.code else { return Ok(()) };
    let broken = |what: String| SkipReason::BrokenDex(what);
    let mut body = Body::read(code).map_err(|error| broken(error.to_string()))?;
    let shape = Shape::of(dex, method).ok_or_else(|| broken("its prototype is missing".to_owned()))?;
    body.trace(&shape, id, calls, exits).map_err(|reason| SkipReason::Dex(reason.to_string()))?;
    method.code = Some(MethodCode::Edited(Box::new(body)));
    Ok(())
}

/// Returns whether a class of the file calls `call_class`, so that it is instrumented already.
pub(crate) fn calls(dex: &Dex<'_>, call_class: &str) -> bool {
    dex.methods.iter().any(|method| {
        names::class(dex, method.class) == call_class && matches!(&*names::string(dex, method.name), "i" | "o")
    })
}
