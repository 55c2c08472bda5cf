//! The situations, by what they are about.

mod asking;
mod beside;
mod calls;
pub(crate) mod children;
mod instances;
mod leaving;
mod older;
mod passive;
mod stuck;

use super::{Case, alloc, art, driver, page, second};

pub(crate) fn all() -> impl Iterator<Item = Case> {
    [
        beside::CASES,
        passive::CASES,
        older::CASES,
        stuck::CASES,
        children::CASES,
        leaving::CASES,
        instances::CASES,
        asking::CASES,
        calls::CASES,
    ]
    .into_iter()
    .flatten()
    .map(|&(name, play, judge)| Case { name, play, judge })
}

/// Whether a case loads a second copy of the library.
pub(crate) fn needs_a_copy(name: &str) -> bool {
    instances::CASES.iter().any(|(case, ..)| *case == name)
}

/// Whether a case makes children, into which a sanitizer may not follow.
pub(crate) fn forks(name: &str) -> bool {
    name.contains("fork") || name == "an_allocation_would_be_noticed"
}

/// A case as the tables of this folder write it.
type Row = (&'static str, fn(&'static page::Page), fn(&mut driver::Played));
