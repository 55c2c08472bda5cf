//! Explains what was done to one class of an app.

use std::path::Path;

use super::edit::Changed;
use crate::class_facts::ClassFacts;
use crate::error::SkipReason;
use crate::explain::{Deciders, before_rewriting};
use crate::explained::{Decision, ExplainedClass};
use crate::session::Session;

/// Explains a class with these ids. `changed` and `skipped` are its methods, by position.
pub(crate) fn explain(
    input: &Path,
    class: &ClassFacts,
    ids: &[u32],
    session: &Session<'_>,
    changed: &[Changed],
    skipped: &[(usize, SkipReason)],
) -> ExplainedClass {
    let by = Deciders::new(class, session);
    let methods = class.methods.iter().zip(ids).enumerate().map(|(index, (method, &id))| {
        let mut explained = before_rewriting(method, id, &by);
        if let Some(change) = changed.iter().find(|change| change.method == index) {
            let bytes = |units: u32| units as usize * 2;
            explained.code_bytes = Some((bytes(change.units.0), bytes(change.units.1)));
        }
        if let Some((_, reason)) = skipped.iter().find(|(method, _)| *method == index) {
            explained.decision = Decision::Skipped(reason.clone());
        }
        explained
    });
    ExplainedClass {
        input: input.into(),
        name: class.name.clone(),
        source_file: class.source_file.clone(),
        focus: None,
        methods: methods.collect(),
    }
}
