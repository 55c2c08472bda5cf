//! The situations, by what they are about.

mod beside;
mod leaving;
mod older;
mod passive;
mod stuck;

use super::{Case, art, driver, page};

pub(crate) fn all() -> impl Iterator<Item = Case> {
    [beside::CASES, passive::CASES, older::CASES, stuck::CASES, leaving::CASES]
        .into_iter()
        .flatten()
        .map(|&(name, play, judge)| Case { name, play, judge })
}

/// A case as the tables of this folder write it.
type Row = (&'static str, fn(&'static page::Page), fn(&mut driver::Played));
