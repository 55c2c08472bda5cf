//! Explains what was done to one class, by rewriting it once more and locating the inserted code.

use std::path::{Path, PathBuf};

use crate::class::class_file::ClassFile;
use crate::class::code::{Code, line_at};
use crate::class_facts::{ClassFacts, MethodFacts, Verdict};
use crate::error::SkipReason;
use crate::explained::{Decision, ExplainedClass, ExplainedMethod, FocusCall};
use crate::focus::Change;
use crate::method_map::MethodMap;
use crate::options::Compat;
use crate::rewrite::rewrite_with_focus;
use crate::session::Session;
use crate::splice::report::Inserted;

/// Explains the classes that were kept for it.
pub(crate) fn explain(session: &Session<'_>, map: &MethodMap) -> Vec<ExplainedClass> {
    let explained = |(number, (class, ids)): (usize, (&ClassFacts, &Vec<u32>))| {
        let (input, bytes) = (session.input(number)?, class.kept.as_deref()?);
        let change = map.change(number);
        let (methods, failed) = methods(class, ids, change, bytes, session);
        let focus = change.map(|change| match (failed, change) {
            (Some(reason), _) => FocusCall::Failed(reason),
            (None, Change::Split { part, above, .. }) => {
                FocusCall::Split { part: part.clone(), above: above.clone() }
            }
            (None, Change::Add { .. }) => FocusCall::Added,
        });
        Some(ExplainedClass {
            input: input.into(),
            name: class.name.clone(),
            source_file: class.source_file.clone(),
            focus,
            methods,
        })
    };
    session.classes.iter().zip(&map.ids).enumerate().filter_map(explained).collect()
}

/// Also returns why the focus change failed.
fn methods(
    class: &ClassFacts,
    ids: &[u32],
    change: Option<&Change>,
    bytes: &[u8],
    session: &Session<'_>,
) -> (Vec<ExplainedMethod>, Option<SkipReason>) {
    let by = Deciders::new(class, session);
    let mut explained: Vec<ExplainedMethod> =
        class.methods.iter().zip(ids).map(|(method, &id)| before_rewriting(method, id, &by)).collect();
    let outline = ClassFile::read(bytes).ok();
    let mut on_method = |index: usize, attribute: &[u8], inserted: &[Inserted]| {
        let (Some(explained), Some(outline)) = (explained.get_mut(index), &outline) else { return };
        let code = outline.methods.get(index).and_then(|method| Code::for_method(outline, method).ok()?);
        let Some(code) = code else { return };
        // The code length follows name, length, max_stack and max_locals.
        let length = attribute.get(10..14).and_then(|length| length.try_into().ok()).map(u32::from_be_bytes);
        explained.code_bytes = length.map(|length| (code.bytes.len(), length as usize));
        let lines = code.lines(outline);
        let with_line = |&one: &Inserted| (one, one.old.and_then(|pc| line_at(&lines, pc)));
        explained.inserted = inserted.iter().map(with_line).collect();
    };
    let (rewritten, failed) =
        rewrite_with_focus(bytes, ids, change, session.rewriting(), Some(&mut on_method));
    // With Matrix's rules the calls of the override are in a method after all others.
    let behind = class.methods.len();
    for (index, reason) in rewritten.skipped {
        let index = match change {
            Some(Change::Split { method, .. }) if index >= behind => *method,
            _ => index,
        };
        if let Some(method) = explained.get_mut(index) {
            method.decision = match reason {
                SkipReason::Waits(why) => Decision::TracedWithoutWaits(*why),
                why => Decision::Skipped(why),
            };
        }
    }
    match failed {
        // The methods were rewritten without the focus change.
        Some(SkipReason::Focus(why)) => return (explained, Some(*why)),
        Some(why) => {
            for method in explained.iter_mut().filter(|method| method.decision == Decision::Traced) {
                method.decision = Decision::Skipped(why.clone());
            }
        }
        None => {}
    }
    (explained, None)
}

/// The files whose lines decide about the methods of a class.
pub(crate) struct Deciders<'a> {
    rules: &'a Path,
    /// The line of a block list that covers the class.
    blocked: Option<(PathBuf, usize)>,
    compat: Compat,
}

impl<'a> Deciders<'a> {
    pub(crate) fn new(class: &ClassFacts, session: &'a Session<'_>) -> Self {
        let selection = &session.selection;
        let blocked = selection.filter.origin(&class.name).filter(|_| !selection.untouchable(&class.name));
        Self { rules: selection.rules.path(), blocked, compat: selection.compat }
    }

    fn rule(&self, method: &MethodFacts) -> Option<(PathBuf, usize)> {
        match (method.rule, &method.verdict) {
            (0, Verdict::Block) => self.blocked.clone(),
            (0, _) => None,
            (line, _) => Some((self.rules.to_owned(), line as usize)),
        }
    }
}

/// Describes what is known about a method before it is rewritten.
pub(crate) fn before_rewriting(method: &MethodFacts, id: u32, by: &Deciders<'_>) -> ExplainedMethod {
    ExplainedMethod {
        access: method.access,
        name: method.name.to_string(),
        descriptor: method.descriptor.to_string(),
        decision: match &method.verdict {
            Verdict::Trace => Decision::Traced,
            Verdict::Ignore => Decision::NotWorthIt,
            Verdict::Short => Decision::Short(method.cost.unwrap_or(0)),
            Verdict::Block => Decision::Blocked,
            Verdict::Exclude if by.compat == Compat::Matrix => Decision::NotMatrix,
            Verdict::Exclude => Decision::Excluded,
            Verdict::NoCode => Decision::NoCode,
            Verdict::Skip(why) => Decision::Skipped(why.clone()),
        },
        rule: by.rule(method),
        id: (id != 0).then_some(id),
        code_bytes: None,
        inserted: Vec::new(),
    }
}
