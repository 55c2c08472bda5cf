//! The situations, by what they are about.

mod app_faults;
mod asking;
mod beside;
mod calls;
mod captures;
pub(crate) mod children;
mod frozen;
mod instances;
mod leaving;
mod passive;
mod previous;
mod stuck;

use super::{Case, alloc, art, captures as stacks, driver, page, second};

pub(crate) fn all() -> impl Iterator<Item = Case> {
    [
        beside::CASES,
        passive::CASES,
        previous::CASES,
        stuck::CASES,
        children::CASES,
        leaving::CASES,
        instances::CASES,
        asking::CASES,
        calls::CASES,
        captures::CASES,
        app_faults::CASES,
        frozen::CASES,
    ]
    .into_iter()
    .flatten()
    .map(|&(name, simulate, judge)| Case { name, simulate, judge })
}

/// Whether a case loads a second copy of the library.
pub(crate) fn needs_a_copy(name: &str) -> bool {
    instances::CASES.iter().any(|(case, ..)| *case == name)
}

/// Whether ThreadSanitizer can follow: not into children, and its run time takes every signal itself and calls handlers
/// when it sees fit, with a mask of its own and with system calls of its own around them.
pub(crate) fn fits_thread_sanitizer(name: &str) -> bool {
    let forks = name.contains("fork") || name == "an_allocation_would_be_noticed";
    if name.starts_with("captures") {
        return false;
    }
    !(forks || ["previous_handler_spaced", "handler_makes_three_system_calls"].contains(&name))
}

/// A case as the tables of this directory write it.
type Row = (&'static str, fn(&'static page::Page), fn(&mut driver::Subject));
