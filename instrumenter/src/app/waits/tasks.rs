//! Which methods are a task's code, and what that code does besides.

use std::cell::OnceCell;
use std::collections::HashSet;

use dex::code::trace::{Task, TaskCode as DexTaskCode};
use dex::code::{Call, Invoke};
use dex::{Class, ClassMethod, Dex, MethodCode, access};
use trace_format::event::ConcurrencyStep;

use super::original::Named;
use super::{DexWaits, InClass, Lambdas, Original, calls_of};
use crate::app::names;
use crate::splice::waits::{MAX_DEPTH, MAX_FOLLOWED};
use crate::waits::Catalogue;
use crate::waits::steps::TaskKind;
use crate::waits::tasks::{OfObject, TaskCode};

/// The third argument of `c`: `line` is a source line, or what a task's code does.
pub(super) fn number(step: ConcurrencyStep, line: u16) -> u32 {
    step.number() << 16 | u32::from(line)
}

/// Returns how the method at `index` is a task's code.
pub(super) fn of_method(waits: &DexWaits<'_>, in_class: &InClass<'_>, index: usize) -> Option<Task> {
    let method = in_class.class.methods().nth(index)?;
    let code = match of_object(waits, in_class, method).or_else(|| of_lambda(waits, method))? {
        TaskCode::Object => DexTaskCode::Object,
        TaskCode::Lambda => DexTaskCode::Lambda,
        TaskCode::Coroutine => DexTaskCode::Coroutine { completion: waits.calls.completion? },
    };
    Some(Task {
        code,
        call: waits.calls.step,
        started: number(ConcurrencyStep::Started, does(waits, in_class, index)),
        finished: number(ConcurrencyStep::Finished, 0),
    })
}

/// The original names of a class's direct super types.
fn supertypes(dex: &Dex<'_>, class: &Class<'_>, original: Original<'_>) -> Vec<String> {
    let kinds = class.super_class.iter().chain(&class.interfaces);
    kinds.map(|&kind| original.class(&names::class(dex, kind)).into_owned()).collect()
}

/// Asks about a method by its original name.
fn ask<T>(
    dex: &Dex<'_>,
    method: &ClassMethod<'_>,
    original: Original<'_>,
    answer: impl FnOnce(&OfObject<'_>) -> T,
) -> Option<T> {
    let Named { name, descriptor, .. } = original.named(dex, dex.methods.get(method.method as usize)?);
    let (name, descriptor) = (name.as_bytes(), descriptor.as_bytes());
    Some(answer(&OfObject { access: method.access as u16, name, descriptor }))
}

fn of_object(waits: &DexWaits<'_>, in_class: &InClass<'_>, method: &ClassMethod<'_>) -> Option<TaskCode> {
    let (dex, class, original) = (in_class.dex, in_class.class, waits.listed.original);
    let above = supertypes(dex, class, original);
    let code = |of: &OfObject<'_>| of.code(above.iter().map(String::as_str), waits.listed.waits());
    ask(dex, method, original, code).flatten()
}

/// The methods of a class that are a task's code, by their indices, as far as its file alone shows: as
/// [`crate::waits::tasks::code_in`] for class files.
pub(crate) fn code_in(
    dex: &Dex<'_>,
    class: &Class<'_>,
    catalogue: &Catalogue,
    original: Original<'_>,
    lambdas: &Lambdas,
) -> Vec<u32> {
    let above = supertypes(dex, class, original);
    let is_direct = |name: &str| above.iter().any(|own| own == name);
    let of_object = |method: &ClassMethod<'_>| {
        let is_listed = |of: &OfObject<'_>| of.is_listed(is_direct, catalogue);
        ask(dex, method, original, is_listed) == Some(true)
    };
    // Lambdas of types that are used for much else are tasks only where they are handed over.
    let hands_over = OnceCell::new();
    let of_lambda = |method: &ClassMethod<'_>| {
        method.access & access::SYNTHETIC != 0
            && lambdas.body(method.method).is_some_and(|kind| {
                kind == TaskKind::Always
                    || *hands_over.get_or_init(|| hands_over_any(dex, class, catalogue, original))
            })
    };
    let code = class.methods().filter(|method| of_object(method) || of_lambda(method));
    code.map(|method| method.method).collect()
}

/// Whether a class has a call that may hand a task over.
fn hands_over_any(dex: &Dex<'_>, class: &Class<'_>, catalogue: &Catalogue, original: Original<'_>) -> bool {
    let hands_over = |call: &Call| {
        let method = dex.methods.get(call.target as usize).filter(|_| call.how != Invoke::Custom);
        method.is_some_and(|method| {
            let Named { class, name, descriptor } = original.named(dex, method);
            let (name, descriptor) = (name.as_bytes(), descriptor.as_bytes());
            match name {
                b"<init>" => catalogue.steps.lists_exactly(class.as_bytes(), name, descriptor),
                _ => catalogue.steps.entries.asks_for_class(name, descriptor),
            }
        })
    };
    class.methods().any(|method| calls_of(method).iter().any(hands_over))
}

fn of_lambda(waits: &DexWaits<'_>, method: &ClassMethod<'_>) -> Option<TaskCode> {
    let is_task = waits.lambdas.body(method.method) == Some(TaskKind::Always);
    // A method that was written as such is called for other reasons too.
    (is_task && method.access & access::SYNTHETIC != 0).then_some(TaskCode::Lambda)
}

/// What the code of the method at `index` does, itself or through methods of its class up to [`MAX_DEPTH`] calls away: see
/// [`StepKind::does`](crate::waits::steps::StepKind::does).
pub(super) fn does(waits: &DexWaits<'_>, in_class: &InClass<'_>, index: usize) -> u16 {
    let (mut does, mut seen, mut level) = (0, HashSet::new(), vec![index]);
    for depth in 0..=MAX_DEPTH {
        let mut next = Vec::new();
        for index in level {
            let Some(method) = in_class.class.methods().nth(index) else { continue };
            let is_long = |code: &MethodCode<'_>| matches!(code, MethodCode::Read(code) if code.units.len() > MAX_FOLLOWED);
            if depth > 0 && method.code.as_ref().is_some_and(is_long) {
                continue;
            }
            for call in calls_of(method).iter().filter(|call| call.how != Invoke::Custom) {
                let steps = waits.known(call.target).into_iter().flat_map(|known| &known.steps);
                does |= steps.fold(0, |does, step| does | step.kind.does());
                next.extend(in_class.position(call.target).filter(|&position| seen.insert(position)));
            }
        }
        level = next;
    }
    does
}
