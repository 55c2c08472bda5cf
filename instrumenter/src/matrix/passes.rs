//! Matrix's two passes over all classes: the first assigns ids, the second selects the methods with ids.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::block_list::{is_read, needs_trace};
use super::java_map::JavaMap;
use super::names::Names;
use super::traced::{Collected, Traced};
use crate::class_facts::focus::{DESCRIPTOR, NAME};
use crate::class_facts::matrix::Stop;
use crate::class_facts::{ClassFacts, MethodFacts, Verdict};
use crate::focus::{Change, Part, part_name};
use crate::summary::Warning;

/// The classes in Matrix's order, and its rules.
pub(super) struct Passes<'a> {
    /// Number and input of each class: directories come before archives.
    order: Vec<(usize, &'a Path)>,
    directories: HashSet<&'a Path>,
    blocked: &'a [String],
    names: Option<&'a Names>,
}

/// The results of the first pass besides the ids.
#[derive(Default)]
pub(super) struct First<'c> {
    /// For each method of each class.
    pub(super) verdicts: Vec<Vec<Verdict>>,
    pub(super) ignored: JavaMap<Traced>,
    pub(super) warnings: Vec<(PathBuf, Warning)>,
    /// Archives that are not read any further.
    given_up: HashSet<PathBuf>,
    /// Archives that are copied unchanged.
    untouched: HashSet<PathBuf>,
    /// Super classes.
    above: HashMap<&'c str, &'c str>,
}

impl<'a> Passes<'a> {
    /// `inputs` has an element for each class.
    pub(super) fn new(inputs: &'a [PathBuf], blocked: &'a [String], names: Option<&'a Names>) -> Self {
        let all: HashSet<&Path> = inputs.iter().map(PathBuf::as_path).collect();
        let directories: HashSet<&Path> = all.into_iter().filter(|path| path.is_dir()).collect();
        let mut order: Vec<(usize, &Path)> = inputs.iter().map(PathBuf::as_path).enumerate().collect();
        order.sort_by_key(|(_, input)| !directories.contains(input));
        Self { order, directories, blocked, names }
    }

    /// Returns whether Matrix reads the class's file.
    fn sees(&self, class: &ClassFacts, input: &Path) -> bool {
        let name = match self.directories.contains(input) {
            true => class.name.rsplit('/').next().unwrap_or_default(),
            false => &class.name,
        };
        is_read(&format!("{name}.class"))
    }

    fn needs_trace(&self, class: &str) -> bool {
        needs_trace(class, self.blocked, self.names)
    }

    /// Assigns ids to the selected methods.
    pub(super) fn first<'c>(&self, classes: &'c [ClassFacts], collected: &mut Collected) -> First<'c> {
        let mut first = First { verdicts: vec![Vec::new(); classes.len()], ..First::default() };
        for &(number, input) in &self.order {
            let Some(class) = classes.get(number) else { continue };
            let mut verdicts: Vec<Verdict> = class.methods.iter().map(passed_over).collect();
            if self.sees(class, input) && self.reads(class, input, &mut first) {
                self.choose(class, &mut verdicts, collected, &mut first.ignored);
            }
            if let Some(slot) = first.verdicts.get_mut(number) {
                *slot = verdicts;
            }
        }
        first
    }

    /// Returns whether Matrix reads the methods of `class`.
    fn reads<'c>(&self, class: &'c ClassFacts, input: &Path, first: &mut First<'c>) -> bool {
        let is_directory = self.directories.contains(input);
        if class.matrix.stop == Some(Stop::Unknown) && !is_directory {
            first.untouched.insert(input.to_owned());
        }
        if first.given_up.contains(input) {
            return false;
        }
        if let Some(super_class) = class.super_class() {
            first.above.insert(&class.name, super_class);
        }
        if class.matrix.stop.is_some() {
            let warning = Warning::MatrixStops {
                class: class.name.clone(),
                untouched: class.matrix.stop == Some(Stop::Unknown),
                directory: is_directory,
            };
            first.warnings.push((input.to_owned(), warning));
            if !is_directory {
                first.given_up.insert(input.to_owned());
            }
            return false;
        }
        !class.matrix.is_abstract
    }

    /// Assigns ids to the methods of `class`, or adds them to the ignored ones.
    fn choose(
        &self,
        class: &ClassFacts,
        verdicts: &mut [Verdict],
        collected: &mut Collected,
        ignored: &mut JavaMap<Traced>,
    ) {
        let dotted = class.name.replace('/', ".");
        let needed = self.needs_trace(&dotted);
        for (method, verdict) in class.methods.iter().zip(verdicts) {
            let mut traced = Traced::new(&dotted, method);
            let key = traced.key();
            let without = |other| if method.verdict == Verdict::NoCode { Verdict::NoCode } else { other };
            match (&method.verdict, needed) {
                (Verdict::Skip(_), _) => {}
                (Verdict::Trace, true) => {
                    *verdict = Verdict::Trace;
                    if collected.id(&key).is_none() {
                        collected.last += 1;
                        traced.id = collected.last;
                        collected.put(traced);
                    }
                }
                (_, true) => {
                    *verdict = without(Verdict::Ignore);
                    ignored.put(key, traced);
                }
                (_, false) => {
                    *verdict = without(Verdict::Block);
                    // Matrix asks with the class's name, which is never a key, so it always adds the method.
                    if !ignored.contains(&dotted) {
                        ignored.put(key, traced);
                    }
                }
            }
        }
    }

    /// Selects every method with an id, also those that the first pass left out. Returns the ids of the methods of each class,
    /// 0 for none, and the change of each class for `at`.
    pub(super) fn second(
        &self,
        classes: &[ClassFacts],
        collected: &Collected,
        first: &First<'_>,
    ) -> (Vec<Vec<u32>>, Vec<Option<Change>>) {
        let mut numbered: Vec<Vec<u32>> = classes.iter().map(|class| vec![0; class.methods.len()]).collect();
        let mut changes = vec![None; classes.len()];
        for &(number, input) in &self.order {
            let (Some(class), Some(ids)) = (classes.get(number), numbered.get_mut(number)) else { continue };
            let stopped = class.matrix.stop == Some(Stop::Unknown) && self.directories.contains(input);
            if first.untouched.contains(input) || !self.sees(class, input) || stopped {
                continue;
            }
            let dotted = class.name.replace('/', ".");
            for (method, slot) in class.methods.iter().zip(ids.iter_mut()) {
                if class.matrix.is_abstract || matches!(method.verdict, Verdict::NoCode | Verdict::Skip(_)) {
                    continue;
                }
                let id = collected.id(&Traced::new(&dotted, method).key());
                *slot = id.and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
            }
            if let Some(slot) = changes.get_mut(number) {
                *slot = focus(class, ids, &first.above, self.needs_trace(&class.name));
            }
        }
        (numbered, changes)
    }
}

/// Returns the verdict on a method that Matrix never reads.
fn passed_over(method: &MethodFacts) -> Verdict {
    match &method.verdict {
        Verdict::Trace | Verdict::Ignore | Verdict::Short => Verdict::Exclude,
        other => other.clone(),
    }
}

/// Returns Matrix's change for `at`: a call at the start of every override that has an id, and a new method in every
/// activity without an override, abstract ones included.
fn focus(
    class: &ClassFacts,
    traced: &[u32],
    above: &HashMap<&str, &str>,
    needs_trace: bool,
) -> Option<Change> {
    const ACTIVITIES: [&str; 4] = [
        "android/app/Activity",
        "android/support/v4/app/FragmentActivity",
        "android/support/v7/app/AppCompatActivity",
        "androidx/appcompat/app/AppCompatActivity",
    ];
    let mut name = class.name.as_str();
    // A longer chain is a cycle.
    for _ in 0..=above.len() {
        if ACTIVITIES.contains(&name) {
            break;
        }
        name = above.get(name)?;
    }
    if !needs_trace || !ACTIVITIES.contains(&name) || class.matrix.stop.is_some() {
        return None;
    }
    let own =
        class.methods.iter().position(|method| &*method.name == NAME && &*method.descriptor == DESCRIPTOR);
    match own {
        None => Some(Change::Add { part: None }),
        Some(method) if traced.get(method).is_some_and(|&id| id != 0) => {
            let part = part_name(&class.name);
            Some(Change::Split { method, part, above: None, traced: Part::First })
        }
        Some(_) => None,
    }
}
