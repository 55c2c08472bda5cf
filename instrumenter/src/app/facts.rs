//! The scan of a class of a dex file: its methods, and which of them are traced.
//!
//! The decisions are those of [`crate::scan`] for class files, on the same names and descriptors: an app gets the same ids whether its
//! class files or its dex files are instrumented.

use core::convert::Infallible;

use dex::code::{Facts, facts};
use dex::{AnnotationSet, Class, ClassMethod, Dex, MethodCode};

use super::waits::{Lambdas, Original};
use super::{cost, desugared, names, waits};
use crate::class::class_file::access;
use crate::class_facts::{ClassFacts, MethodFacts, Verdict};
use crate::error::SkipReason;
use crate::selection::{ClassView, Judged, Selection};

/// Scans a class.
///
/// # Errors
///
/// Why the class is copied unchanged.
pub(crate) fn scan_class(
    dex: &Dex<'_>,
    class: &Class<'_>,
    selection: &Selection,
    lambdas: &Lambdas,
) -> Result<ClassFacts, SkipReason> {
    let in_file = names::class(dex, class.class).into_owned();
    let source_file = class.source_file.map(|file| names::string(dex, file).into_owned());
    let mut facts = ClassFacts::named(in_file, source_file, selection.mapping.as_ref())?;
    let supertypes = class.super_class.iter().chain(&class.interfaces);
    facts.supertypes = supertypes.map(|&kind| names::class(dex, kind).as_ref().into()).collect();
    facts.access = class.access as u16;
    let untouchable = selection.untouchable(&facts.name);
    let annotations = Annotations::read(dex, class, selection);
    let view = ClassView { name: &facts.name, annotations: &annotations.class, untouchable };
    let blocked = selection.blocks_whole(&view);
    let is_desugared = desugared::is_made_class(facts.name_in_file(), class.access);
    let tasks = selection.waits.as_ref().map(|catalogue| {
        waits::code_in(dex, class, catalogue, Original { mapping: selection.mapping.as_ref() }, lambdas)
    });
    let tasks = tasks.unwrap_or_default();
    let scan =
        MethodScan { dex, facts: &facts, view: &view, blocked, is_desugared, selection, tasks: &tasks };
    facts.methods = class.methods().map(|method| scan.at(method, annotations.of(method.method))).collect();
    Ok(facts)
}

/// Internal names of annotations, as before obfuscation; empty if no rule mentions annotations.
#[derive(Default)]
struct Annotations {
    class: Vec<String>,
    /// By method index.
    methods: Vec<(u32, Vec<String>)>,
}

impl Annotations {
    fn read(dex: &Dex<'_>, class: &Class<'_>, selection: &Selection) -> Self {
        if !selection.rules.ask_for_annotations() {
            return Self::default();
        }
        let names = |set: &AnnotationSet| {
            let kinds = set.iter().map(|annotation| names::class(dex, annotation.kind).into_owned());
            kinds.map(|name| selection.original(name)).collect()
        };
        Self {
            class: class.annotations.class.as_ref().map(names).unwrap_or_default(),
            methods: class.annotations.methods.iter().map(|(method, set)| (*method, names(set))).collect(),
        }
    }

    fn of(&self, method: u32) -> &[String] {
        let found = self.methods.iter().find(|(of, _)| *of == method);
        found.map(|(_, names)| names.as_slice()).unwrap_or_default()
    }
}

/// The scan of the methods of one class.
struct MethodScan<'a> {
    dex: &'a Dex<'a>,
    facts: &'a ClassFacts,
    view: &'a ClassView<'a>,
    /// Whether all its methods are blocked.
    blocked: bool,
    /// Whether D8 has made the class.
    is_desugared: bool,
    selection: &'a Selection,
    /// Method indices of code of tasks.
    tasks: &'a [u32],
}

impl MethodScan<'_> {
    fn at(&self, method: &ClassMethod<'_>, annotations: &[String]) -> MethodFacts {
        let dex = self.dex;
        let id = dex.methods.get(method.method as usize);
        let name = id.map(|id| names::string(dex, id.name)).unwrap_or_default();
        let descriptor = id.map(|id| names::method_descriptor(dex, id.proto)).unwrap_or_default();
        // Dex has two flags for a synchronized method: this one is for code that locks itself, as all compilers write it.
        let locks = method.access & dex::access::DECLARED_SYNCHRONIZED != 0;
        let access = method.access as u16 | if locks { access::SYNCHRONIZED } else { 0 };
        let code = match &method.code {
            Some(MethodCode::Read(code)) => Some(code),
            _ => None,
        };
        let of_code = code.map(facts).transpose();
        let line = || {
            let line = of_code.as_ref().ok().and_then(Option::as_ref).and_then(|facts| facts.first_line);
            line.and_then(|line| u16::try_from(line).ok())
        };
        let mapping = self.selection.mapping.as_ref();
        let mut found = MethodFacts::named(access, (&name, &descriptor), self.facts, mapping, line);
        if found.verdict != Verdict::NoCode {
            return found;
        }
        let Some(code) = code else { return found };
        if self.blocked {
            found.verdict = Verdict::Block;
            return found;
        }
        let of_code = match &of_code {
            Ok(Some(of_code)) => of_code,
            Ok(None) => return found,
            Err(broken) => {
                found.verdict = Verdict::Skip(SkipReason::BrokenDex(broken.to_string()));
                return found;
            }
        };
        let judged = self.judge(of_code, &found, &name, method, annotations);
        (found.rule, found.by_default) = (judged.rule, judged.by_default);
        let is_known = !matches!(judged.verdict, Verdict::Block | Verdict::Skip(_));
        // A task's code is never short.
        let is_task = self.tasks.contains(&method.method);
        if is_known && !is_task && self.selection.short > 0 && found.access & access::SYNCHRONIZED == 0 {
            let waits = self.selection.waits.as_ref();
            found.body = cost::measure(dex, self.facts, code, of_code, waits).map(Box::new);
        }
        found.verdict = judged.verdict;
        if found.first_line.is_none() && found.verdict == Verdict::Trace {
            found.first_line = line();
        }
        found
    }

    fn judge(
        &self,
        code: &Facts,
        found: &MethodFacts,
        name: &str,
        method: &ClassMethod<'_>,
        annotations: &[String],
    ) -> Judged {
        let subject = self.view.method(found, annotations, code.units.saturating_mul(2));
        let worth = || {
            let is_made = self.is_desugared || desugared::is_made_method(self.dex, name, method.access, code);
            let waits = self.selection.waits.is_some()
                && (code.has_locks || found.access & access::SYNCHRONIZED != 0);
            let is_task = self.tasks.contains(&method.method);
            let is_worth = code.worth_tracing(name == "<init>") || is_task || code.has_loop || waits;
            Ok::<_, Infallible>(is_worth && !is_made)
        };
        let Ok(judged) = self.selection.judge(self.view, &subject, worth);
        judged
    }
}
