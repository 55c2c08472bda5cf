//! Warnings about the files that a run was given.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::base_map::BaseMap;
use crate::class_facts::{ClassFacts, Verdict};
use crate::method_map::MethodMap;
use crate::options::Options;
use crate::selection::Selection;
use crate::summary::{MappingUse, Stale, StaleReason, Warning};

/// Returns the lines of the base map whose methods are not traced.
pub(crate) fn stale(classes: &[ClassFacts], base: &BaseMap, map: &MethodMap) -> Vec<Stale> {
    if base.is_empty() {
        return Vec::new();
    }
    let used: HashSet<u32> = map.ids.iter().flatten().copied().collect();
    let mut reasons: HashMap<u32, StaleReason> = HashMap::new();
    for class in classes {
        for method in &class.methods {
            let Some(id) = base.id(&class.name, &method.name, &method.descriptor) else { continue };
            let reason = match method.verdict {
                Verdict::NoCode => StaleReason::NoCode,
                _ => StaleReason::Untraced,
            };
            reasons.insert(id, reason);
        }
    }
    let idle = base.lines.iter().filter(|(id, _)| !used.contains(id));
    let stale = idle.map(|(&id, line)| Stale {
        id: i64::from(id),
        method: line.method.clone(),
        reason: reasons.get(&id).copied().unwrap_or(StaleReason::Gone),
    });
    stale.collect()
}

/// Returns the lines of rules files and block lists that match nothing: a typo, or a class that was removed. `names`
/// are the names of all classes, `used` the lines of the rules that decided about a method.
pub(crate) fn idle_lines(
    names: &[&str],
    used: &HashSet<u32>,
    selection: &Selection,
) -> Vec<(PathBuf, Warning)> {
    let rules = selection.rules.unused(used).map(|(path, line)| (path.to_path_buf(), line));
    let blocked = selection.filter.unused(names.iter().copied()).into_iter();
    rules.chain(blocked).map(|(path, line)| (path.clone(), Warning::IdleLine { path, line })).collect()
}

pub(crate) fn mapping_use(classes: &[ClassFacts], selection: &Selection) -> Option<MappingUse> {
    let (all, found) = selection.mapping.as_ref()?.found(classes.iter().map(ClassFacts::name_in_file));
    let methods = classes.iter().flat_map(|class| &class.methods);
    let ambiguous = methods.filter(|method| method.ambiguous).count();
    Some(MappingUse { classes: all, found, ambiguous })
}

pub(crate) fn mapping_warnings(
    classes: &[ClassFacts],
    options: &Options,
    selection: &Selection,
) -> Vec<(PathBuf, Warning)> {
    let mut warnings = Vec::new();
    let used = mapping_use(classes, selection);
    if let Some(MappingUse { classes, found, .. }) = used.filter(|used| used.found * 2 < used.classes) {
        warnings.push(Warning::ForeignMapping { classes, found });
    }
    if let Some((count, line)) = selection.mapping.as_ref().and_then(|mapping| mapping.unread) {
        warnings.push(Warning::UnreadMapping { count, line });
    }
    let path = options.mapping.clone().unwrap_or_default();
    warnings.into_iter().map(|warning| (path.clone(), warning)).collect()
}
