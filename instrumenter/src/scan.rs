//! The scan of a class: its methods, and which of them are traced.

use crate::class::class_file::{Attributes, ClassFile, Method, access};
use crate::class::code::Code;
use crate::class::text;
use crate::class_facts::focus::FocusFacts;
use crate::class_facts::matrix::MatrixFacts;
use crate::class_facts::{ClassFacts, MethodFacts, Verdict};
use crate::cost;
use crate::error::{Malformed, SkipReason};
use crate::filter;
use crate::options::Compat;
use crate::outline::{self, Outline};
use crate::selection::{ClassView, Judged, Selection};
use crate::waits;

/// Scans a class file.
///
/// # Errors
///
/// Why the class has to be copied unchanged.
pub(crate) fn scan_class(bytes: &[u8], selection: &Selection) -> Result<ClassFacts, SkipReason> {
    let class = ClassFile::read(bytes)?;
    let in_file = text::decode(class.name).into_owned();
    let source_file = class.source_file.map(|file| text::decode(file).into_owned());
    let mut facts = ClassFacts::named(in_file, source_file, selection.mapping.as_ref())?;
    facts.supertypes = class.names_of_supertypes();
    facts.access = class.access;
    if selection.compat == Compat::Matrix {
        facts.matrix = MatrixFacts::try_from(&class)?;
    }
    if class.access & access::MODULE != 0 {
        return Ok(facts);
    }
    let untouchable = selection.untouchable(&facts.name);
    if !untouchable && calls_already(&class, &selection.call_class) {
        return Err(SkipReason::AlreadyInstrumented);
    }
    if selection.explains(&facts.name, facts.name_in_file()) {
        facts.kept = Some(bytes.into());
    }
    if let Some(catalogue) = selection.waits.as_ref().filter(|_| selection.cached) {
        facts.asked = waits::scan::asked(&class, catalogue);
    }
    let annotations = Annotations::read(&class, selection)?;
    let view = ClassView { name: &facts.name, annotations: &annotations.class, untouchable };
    let blocked = selection.blocks_whole(&view);
    let mut methods = Vec::with_capacity(class.methods.len());
    let tasks = selection.waits.as_ref().map(|catalogue| waits::tasks::code_in(&class, catalogue));
    for (index, method) in class.methods.iter().enumerate() {
        let annotations = annotations.methods.get(index).map(Vec::as_slice).unwrap_or_default();
        let is_task = tasks.as_ref().is_some_and(|tasks| tasks.get(index) == Some(&true));
        let scan = MethodScan { class: &class, facts: &facts, view: &view, blocked, selection };
        methods.push(scan.at(method, annotations, is_task));
    }
    facts.focus = FocusFacts::scan(&class, selection.may_change(&view))?;
    facts.methods = methods;
    Ok(facts)
}

/// Returns whether a method of the class already calls `call_class`.
fn calls_already(class: &ClassFile<'_>, call_class: &str) -> bool {
    (0..class.pool.count()).any(|index| {
        u16::try_from(index)
            .is_ok_and(|index| class.pool.class_name(index).is_ok_and(|name| name == call_class.as_bytes()))
    })
}

/// Internal names of annotations, as before obfuscation; empty if no rule mentions annotations.
#[derive(Default)]
struct Annotations {
    class: Vec<String>,
    methods: Vec<Vec<String>>,
}

impl Annotations {
    fn read(class: &ClassFile<'_>, selection: &Selection) -> Result<Self, Malformed> {
        if !selection.rules.ask_for_annotations() {
            return Ok(Self::default());
        }
        let names = |attributes: &Attributes<'_>| -> Result<Vec<String>, Malformed> {
            let names = outline::annotations(class, attributes)?.into_iter();
            Ok(names.map(|name| selection.original(name)).collect())
        };
        let outline = Outline::try_from(class)?;
        Ok(Self {
            class: names(&outline.attributes)?,
            methods: outline.methods.iter().map(names).collect::<Result<_, _>>()?,
        })
    }
}

/// The scan of the methods of one class.
struct MethodScan<'a> {
    class: &'a ClassFile<'a>,
    facts: &'a ClassFacts,
    view: &'a ClassView<'a>,
    /// Whether all its methods are blocked.
    blocked: bool,
    selection: &'a Selection,
}

impl MethodScan<'_> {
    fn at(&self, method: &Method<'_>, annotations: &[String], is_task: bool) -> MethodFacts {
        let (name, descriptor) = (text::decode(method.name), text::decode(method.descriptor));
        let has_code = method.access & (access::NATIVE | access::ABSTRACT) == 0;
        let code = match self.blocked || !has_code {
            true => Ok(None),
            false => Code::for_method(self.class, method),
        };
        let line =
            || code.as_ref().ok().and_then(Option::as_ref).and_then(|code| code.first_line(self.class));
        let mapping = self.selection.mapping.as_ref();
        let mut found = MethodFacts::named(method.access, (&name, &descriptor), self.facts, mapping, line);
        if found.verdict != Verdict::NoCode {
            return found;
        }
        found.verdict = match &code {
            Ok(Some(code)) => {
                let judged = self.judge(code, method, &found, annotations, is_task);
                (found.rule, found.by_default) = (judged.rule, judged.by_default);
                // Blocked methods are not measured, and a task's code is never short.
                let is_known = !matches!(judged.verdict, Verdict::Block | Verdict::Skip(_));
                if is_known && !is_task && self.selection.short > 0 {
                    let waits = self.selection.waits.as_ref();
                    found.body = cost::body::measure(self.class, method, code, waits).map(Box::new);
                }
                judged.verdict
            }
            Ok(None) if self.blocked && has_code => Verdict::Block,
            Ok(None) => Verdict::NoCode,
            Err(broken) => Verdict::Skip((*broken).into()),
        };
        if let (Ok(Some(code)), None, Verdict::Trace) = (&code, found.first_line, &found.verdict) {
            found.first_line = code.first_line(self.class);
        }
        found
    }

    fn judge(
        &self,
        code: &Code<'_>,
        method: &Method<'_>,
        found: &MethodFacts,
        annotations: &[String],
        is_task: bool,
    ) -> Judged {
        let subject = self.view.method(found, annotations, code.bytes.len() as u32);
        let worth = || {
            let worth = filter::worth_tracing(code.bytes, method.is_constructor());
            let worth = worth.map_err(|broken| broken.offset_by(code.at))?;
            let loops = || self.selection.compat == Compat::None && filter::has_loop(code.bytes);
            // A wait for a lock has to be recorded even in a method without calls.
            let waits =
                || waits::scan::is_locked(self.class, method) || waits::scan::has_monitors(code.bytes);
            Ok(worth || is_task || loops() || self.selection.waits.is_some() && waits())
        };
        let judged = self.selection.judge(self.view, &subject, worth);
        judged.unwrap_or_else(|broken: Malformed| Judged::plain(Verdict::Skip(broken.into())))
    }
}
