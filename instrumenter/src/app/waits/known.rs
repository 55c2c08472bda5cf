//! What the list of calls says about the methods of a dex file.

use dex::{Dex, Method};
use rayon::prelude::*;

use super::Listed;
use super::original::Named;
use crate::waits::Known;

/// Looks up all methods of the table.
pub(super) fn of_all(dex: &Dex<'_>, listed: &Listed<'_>) -> Vec<Option<Known>> {
    dex.methods.par_iter().with_min_len(256).map(|method| of(dex, method, listed)).collect()
}

fn of(dex: &Dex<'_>, method: &Method, listed: &Listed<'_>) -> Option<Known> {
    let Named { class, name, descriptor } = listed.original.named(dex, method);
    let (name, descriptor) = (name.as_bytes(), descriptor.as_bytes());
    let waits = listed.waits();
    let blocking = waits.catalogue.find(class.as_bytes(), name, descriptor, waits.hierarchy);
    let steps = waits.catalogue.steps.find(&class, name, descriptor, waits.hierarchy);
    (blocking.is_some() || !steps.is_empty()).then_some(Known { blocking, steps, creates: name == b"<init>" })
}
