//! Updates the method map after a typical change: in the bodies of some classes, or in their methods.
//!
//! Such a change affects no other class, and only some lines of the maps. So there is no need to unpack the facts of
//! all classes, sort all methods and build all lines again. The ids, texts and changes are the same as those of
//! [`assign_ids`](crate::method_map::assign_ids) with all kept ids. Where that is not certain, the result is `None`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use trace_format::ids;

use crate::base_map::dotted;
use crate::cache::{Head, SavedMaps};
use crate::class_facts::body;
use crate::class_facts::{ClassFacts, MethodFacts, Verdict};
use crate::cost::limits;
use crate::map_text::{Edit, edited, line_of};
use crate::method_map::{
    self, IGNORED_HEADER, MethodMap, Texts, ignored_lines, push_method_line, source_lines,
};
use crate::options::MapPaths;
use crate::session::Session;
use crate::stamp::{Stamp, Sum};

/// With more changed classes than this, finding their lines in the texts is no longer cheap.
const MAX_CHANGED: usize = 256;

/// A class that has changed.
struct Changed {
    number: usize,
    /// The class before, with its ids.
    old: ClassFacts,
    /// The ids of its methods now.
    ids: Vec<u32>,
}

/// Builds the map of a run in which all classes of the previous run exist and few have changed. Also records in the
/// session the warnings of all classes.
///
/// Returns `None` if a full pass is necessary.
pub(crate) fn update(
    session: &mut Session<'_>,
    saved: &SavedMaps,
    paths: &MapPaths,
    class_path: &[Stamp],
) -> Option<MethodMap> {
    if !is_alone(session, saved, class_path) {
        return None;
    }
    let heads = heads(session)?;
    let mut changed = changed_classes(session)?;
    settle_costs(session, saved, &heads, &changed)?;
    if has_twins(&heads, &changed) {
        return None;
    }
    // The order of the list of untraced methods, in which new ids are assigned too.
    changed.sort_by(|a, b| a.old.name.cmp(&b.old.name));
    let new_ids = keep_ids(session, &mut changed);
    let classes = &session.classes;
    let mut texts = Texts { id: saved.id, states: saved.states.clone(), ..Texts::default() };
    let method_lines = |class: &ClassFacts, id, method: &MethodFacts| {
        let mut text = String::new();
        push_method_line(&mut text, id, class, method);
        dotted(text)
    };
    let old = changed_lines(&changed, classes, method_lines);
    if !old.is_empty() || !new_ids.is_empty() {
        let text = fs::read_to_string(&paths.methods).ok()?;
        let mut edits = edits(&text, old)?;
        let first = next_id(&text, &changed)?;
        for (id, (class, method)) in (first..).zip(new_ids) {
            // If the ids are used up, a full run has to reuse those that were given up.
            if !ids::is_method(id) {
                return None;
            }
            let class = changed.get_mut(class)?;
            *class.ids.get_mut(method)? = id;
            let facts = classes.get(class.number)?;
            let line = method_lines(facts, id, facts.methods.get(method)?);
            // The id of a removed method may be reused.
            match edits.iter_mut().find(|(other, _)| *other == id) {
                Some((_, edit)) => edit.text = line,
                None => edits.push((id, Edit { at: empty_place(&text, id)?, text: line })),
            }
        }
        let (text, same) = edited(&text, edits.into_iter().map(|(_, edit)| edit).collect())?;
        (texts.id, texts.states) = method_map::states(&text, &saved.states, same);
        texts.methods = Some(text);
    }
    if let Some(path) = &paths.lines {
        let lines = changed_lines(&changed, classes, |class, id, method| {
            source_lines([(id, class, method)].into_iter())
        });
        if !lines.is_empty() {
            let text = fs::read_to_string(path).ok()?;
            let edits = edits(&text, lines)?.into_iter().map(|(_, edit)| edit).collect();
            texts.lines = Some(edited(&text, edits)?.0);
        }
    }
    if let Some(path) = &paths.ignored {
        texts.ignored = ignored(path, session, &heads, &changed)?;
    }
    note(session, &heads, changed, texts)
}

/// Returns whether the result depends only on the changed classes.
fn is_alone(session: &Session<'_>, saved: &SavedMaps, class_path: &[Stamp]) -> bool {
    let options = session.options;
    // Warnings about these depend on all methods.
    let asks_all = options.base_map.is_some() || options.mapping.is_some() || options.explain.is_some();
    // Code for waits depends on the super types of other classes.
    !asks_all
        && options.waits.is_none()
        && session.has_all()
        && saved.is_whole
        && session.skips.is_empty()
        && class_path == saved.class_path
        && !class_path.contains(&Stamp::NONE)
}

/// Returns the changed classes with their previous facts; `None` if one is new, or its subclasses are affected.
fn changed_classes(session: &Session<'_>) -> Option<Vec<Changed>> {
    let mut changed = Vec::new();
    for (number, old) in session.found() {
        let (new, old) = (session.classes.get(number)?, old?.unpack()?);
        let same = (&old.name, &old.obfuscated, old.access, &old.supertypes, &old.focus)
            == (&new.name, &new.obfuscated, new.access, &new.supertypes, &new.focus);
        if !same || changed.len() == MAX_CHANGED || !has_keys(&old) || !has_keys(new) {
            return None;
        }
        changed.push(Changed { number, old, ids: Vec::new() });
    }
    Some(changed)
}

/// Computes the costs of the methods in changed classes, and which of them are too short. Returns `None` if that
/// affects methods of other classes, or depends on facts that are not unpacked.
///
/// The cost of a method depends on the bodies of the methods that it calls, by name and descriptor, and on the class
/// hierarchy. The hierarchy is unchanged, and so is every method that is called.
fn settle_costs(
    session: &mut Session<'_>,
    saved: &SavedMaps,
    heads: &[Head<'_>],
    changed: &[Changed],
) -> Option<()> {
    let mut called = saved.called.clone();
    called.extend(limits::called(changed.iter().filter_map(|class| session.classes.get(class.number))));
    called.sort_unstable();
    called.dedup();
    let is_called =
        |method: &MethodFacts| called.binary_search(&body::key(&method.name, &method.descriptor)).is_ok();
    let is_ours = |name: &str| heads.iter().any(|head| head.name == name);
    let limit = session.selection.short;
    for Changed { number, old, .. } in changed {
        let mut before = old.by_key();
        for method in &mut session.classes_mut().get_mut(*number)?.methods {
            let old = before.remove(&(&*method.name, &*method.descriptor));
            method.cost = match (old, &method.body) {
                (Some(old), body) if (old.access, &old.body) == (method.access, body) => old.cost,
                _ if is_called(method) => return None,
                (_, None) => None,
                (_, Some(body)) if body.calls.is_empty() => Some(body.instructions),
                // Methods outside the program have no limit.
                (_, Some(body)) if !body.calls.iter().any(|call| is_ours(&call.class)) => None,
                _ => return None,
            };
            let is_short = limits::is_short(method.cost, limit);
            if method.by_default && method.verdict == Verdict::Trace && is_short {
                method.verdict = Verdict::Short;
            }
        }
        if before.into_values().any(is_called) {
            return None;
        }
    }
    session.called = called;
    Some(())
}

/// Returns the heads of the facts of all classes in the cache; `None` if a class is new.
fn heads<'c>(session: &Session<'c>) -> Option<Vec<Head<'c>>> {
    (0..session.classes.len()).map(|number| session.saved(number)?.head()).collect()
}

/// Returns whether a changed class has the same name, and so the same lines, as another class.
fn has_twins(heads: &[Head<'_>], changed: &[Changed]) -> bool {
    let names: HashSet<&str> = changed.iter().map(|class| class.old.name.as_str()).collect();
    heads.iter().filter(|head| names.contains(head.name)).count() != changed.len()
}

/// Returns whether its methods differ by name and descriptor, as the JVM requires.
fn has_keys(class: &ClassFacts) -> bool {
    let mut keys = HashSet::new();
    class.methods.iter().all(|method| keys.insert(method.key()))
}

/// Keeps the ids of the methods. Returns those that need new ids, in order: the index among the changed classes, and
/// the method.
fn keep_ids(session: &Session<'_>, changed: &mut [Changed]) -> Vec<(usize, usize)> {
    let mut without = Vec::new();
    for (place, Changed { number, old, ids }) in changed.iter_mut().enumerate() {
        let Some(class) = session.classes.get(*number) else { continue };
        let before = old.by_key();
        let id = |method: &MethodFacts| match method.verdict {
            Verdict::Trace => before.get(&method.key()).map_or(0, |before| before.kept_id),
            _ => 0,
        };
        *ids = class.methods.iter().map(id).collect();
        let methods = class.methods.iter().zip(ids).enumerate();
        let mut new: Vec<_> = methods
            .filter(|(_, (method, id))| method.verdict == Verdict::Trace && **id == 0)
            .map(|(index, (method, _))| (method.key(), index))
            .collect();
        new.sort_unstable();
        without.extend(new.into_iter().map(|(_, index)| (place, index)));
    }
    without
}

/// Returns the ids whose lines change, with the old and the new line; an empty string means no line.
fn changed_lines(
    changed: &[Changed],
    classes: &[ClassFacts],
    line: impl Fn(&ClassFacts, u32, &MethodFacts) -> String,
) -> Vec<(u32, String, String)> {
    let mut lines = Vec::new();
    for Changed { number, old, ids } in changed {
        let Some(new) = classes.get(*number) else { continue };
        let now = new.methods.iter().zip(ids).filter(|&(_, &id)| id != 0);
        let mut now: HashMap<u32, &MethodFacts> = now.map(|(method, &id)| (id, method)).collect();
        for before in old.methods.iter().filter(|method| method.kept_id != 0) {
            let id = before.kept_id;
            let now = now.remove(&id).map(|method| line(new, id, method)).unwrap_or_default();
            let before = line(old, id, before);
            if before != now {
                lines.push((id, before, now));
            }
        }
        lines.extend(now.into_iter().map(|(id, method)| (id, String::new(), line(new, id, method))));
    }
    lines
}

/// Returns the edits for such lines, by id; `None` if the text does not match.
fn edits(text: &str, lines: Vec<(u32, String, String)>) -> Option<Vec<(u32, Edit)>> {
    let mut edits: Vec<(u32, Edit)> = Vec::with_capacity(lines.len());
    for (id, old, new) in lines {
        let at = line_of(text, id)?;
        if text.get(at.clone())? != old {
            return None;
        }
        edits.push((id, Edit { at, text: new }));
    }
    // Several new lines may be inserted at one position.
    edits.sort_by_key(|&(id, _)| id);
    Some(edits)
}

fn empty_place(text: &str, id: u32) -> Option<core::ops::Range<usize>> {
    line_of(text, id).filter(core::ops::Range::is_empty)
}

/// Returns the id after the highest one in use, ignoring removed methods.
fn next_id(text: &str, changed: &[Changed]) -> Option<u32> {
    let kept: HashSet<u32> = changed.iter().flat_map(|class| class.ids.iter().copied()).collect();
    let had = changed.iter().flat_map(|class| &class.old.methods).map(|method| method.kept_id);
    let gone: HashSet<u32> = had.filter(|id| !kept.contains(id)).collect();
    for line in text.lines().rev() {
        let id: u32 = line.split_once(',')?.0.parse().ok()?;
        if id != ids::DISPATCH && !gone.contains(&id) {
            return Some(id + 1);
        }
    }
    Some(ids::METHOD_FIRST)
}

/// Returns the new text of the list of untraced methods, if it changes.
fn ignored(
    path: &Path,
    session: &Session<'_>,
    heads: &[Head<'_>],
    changed: &[Changed],
) -> Option<Option<String>> {
    let mut blocks = Vec::new();
    for Changed { number, old, .. } in changed {
        let new = ignored_lines(core::slice::from_ref(session.classes.get(*number)?));
        let before = ignored_lines(core::slice::from_ref(old));
        if before != new {
            blocks.push((old, before, new));
        }
    }
    if blocks.is_empty() {
        return Some(None);
    }
    let text = fs::read_to_string(path).ok()?;
    let mut edits = Vec::with_capacity(blocks.len());
    for (old, before, new) in blocks {
        let at = match before.is_empty() {
            false => block(&text, &before)?,
            true => {
                let above = lines_above(session, heads, &old.name)?;
                let end = if above.is_empty() { IGNORED_HEADER.len() } else { block(&text, &above)?.end };
                end..end
            }
        };
        edits.push(Edit { at, text: new });
    }
    Some(Some(edited(&text, edits)?.0))
}

/// Returns the range of these lines.
fn block(text: &str, lines: &str) -> Option<core::ops::Range<usize>> {
    let (start, _) =
        text.match_indices(lines).find(|&(at, _)| text.as_bytes().get(at.wrapping_sub(1)) == Some(&b'\n'))?;
    Some(start..start + lines.len())
}

/// Returns the lines of the last class before `name` that has some in the previous list; empty if no class has.
fn lines_above(session: &Session<'_>, heads: &[Head<'_>], name: &str) -> Option<String> {
    let listed =
        heads.iter().filter(|head| head.tally.ignored + head.tally.blocked + head.tally.excluded > 0);
    let Some(above) = listed.map(|head| head.name).filter(|&other| other < name).max() else {
        return Some(String::new());
    };
    let all = heads.iter().enumerate().filter(|(_, head)| head.name == above);
    let all: Option<Vec<ClassFacts>> = all.map(|(number, _)| session.saved(number)?.unpack()).collect();
    Some(ignored_lines(&all?))
}

/// Fills in the results for each class, and records their warnings.
fn note(
    session: &mut Session<'_>,
    heads: &[Head<'_>],
    changed: Vec<Changed>,
    texts: Texts,
) -> Option<MethodMap> {
    let count = session.classes.len();
    let mut map = MethodMap::with(vec![Vec::new(); count], texts);
    map.focus = vec![None; count];
    map.changed = vec![false; count];
    let mut decided = vec![Sum::default(); count];
    let mut problems = Vec::new();
    for Changed { number, old, ids } in changed {
        *decided.get_mut(number)? = old.decided;
        *map.ids.get_mut(number)? = ids;
    }
    let names: Vec<&str> = heads.iter().map(|head| head.name).collect();
    let mut rules: HashSet<u32> =
        session.classes.iter().flat_map(|class| &class.methods).map(|m| m.rule).collect();
    for (number, head) in heads.iter().enumerate() {
        let is_packed = session.packed(number).is_some();
        if is_packed {
            rules.extend(&head.rules);
        }
        *map.changed.get_mut(number)? = match map.ids.get(number).filter(|_| !is_packed) {
            Some(ids) => head.change.is_some() || ids.iter().any(|&id| id != 0),
            None => head.changed,
        };
        map.focus.get_mut(number)?.clone_from(&head.change);
        problems.extend(head.problem.clone().map(|problem| (number, head.name, problem)));
    }
    let idle = crate::report::idle_lines(&names, &rules, &session.selection);
    idle.into_iter().for_each(|(path, warning)| session.warn(&path, warning));
    problems.into_iter().for_each(|(number, name, problem)| session.warn_of_focus(number, name, problem));
    session.decided = decided;
    Some(map)
}
