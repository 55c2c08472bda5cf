//! Lambdas that are tasks.
//!
//! D8 makes a class for each lambda, whose method calls the lambda's body in the class that has the lambda:
//!
//! ```text
//!   Main$$ExternalSyntheticLambda0.run        invoke-static Main.lambda$start$0     or, if it is private,
//!                                             invoke-static Main.$r8$lambda$qx1v, which calls Main.lambda$start$0
//! ```
//!
//! As with class files, the lambda is recorded where it is made, and its body is the task's code.

use std::collections::{HashMap, HashSet};

use dex::code::{Call, Invoke};
use dex::{Class, Dex};
use rayon::prelude::*;

use super::{Original, calls_of};
use crate::app::{desugared, names};
use crate::cost::known::is_platform;
use crate::waits::steps::TaskKind;
use crate::waits::{Catalogue, Known};

/// The prefix of a method that D8 makes so that a lambda's class can call a private body.
const ACCESSOR: &str = "$r8$lambda$";

/// A class that was made for a lambda.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lambda {
    kind: TaskKind,
    /// Method index of the body.
    body: Option<u32>,
}

/// The lambdas of a dex file whose type is that of a task.
#[derive(Debug, Default)]
pub(crate) struct Lambdas {
    /// By type index.
    classes: HashMap<u32, Lambda>,
    /// By method index.
    bodies: HashMap<u32, TaskKind>,
    /// The classes of lambdas of a type that is used for much else, and that are handed over right away.
    handed_over: HashSet<u32>,
}

impl Lambdas {
    /// Finds them.
    pub(crate) fn read(dex: &Dex<'_>, catalogue: &Catalogue, original: Original<'_>) -> Self {
        let mut lambdas = Self::default();
        let made =
            |class: &&Class<'_>| desugared::is_made_class(&names::class(dex, class.class), class.access);
        let mut positions = None;
        for class in dex.classes.iter().filter(made) {
            let interfaces = class.interfaces.iter().map(|&kind| names::class(dex, kind));
            let interfaces: Vec<String> = interfaces.map(|name| original.class(&name).into_owned()).collect();
            let is_of = |name: &str| interfaces.iter().any(|interface| interface == name);
            let mut tasks = catalogue.tasks().iter().filter(|task| task.kind != TaskKind::Coroutine);
            let Some(task) = tasks.find(|task| is_of(&task.class)) else { continue };
            let positions = positions.get_or_insert_with(|| {
                let all = dex.classes.iter().enumerate();
                all.map(|(position, class)| (class.class, position)).collect::<HashMap<_, _>>()
            });
            let body = body_of(dex, class, positions);
            lambdas.classes.insert(class.class, Lambda { kind: task.kind, body });
            if let Some(body) = body {
                let known = lambdas.bodies.entry(body).or_insert(task.kind);
                if task.kind == TaskKind::Always {
                    *known = TaskKind::Always;
                }
            }
        }
        lambdas
    }

    /// Whether a method is the body of a lambda whose type is that of a task, and of which kind.
    pub(crate) fn body(&self, method: u32) -> Option<TaskKind> {
        self.bodies.get(&method).copied()
    }

    /// Finds the lambdas that are handed over by the call behind the one that makes them.
    pub(super) fn find_handed_over<'k>(
        &mut self,
        dex: &Dex<'_>,
        known: &(dyn Fn(u32) -> Option<&'k Known> + Sync),
    ) {
        let waiting =
            |kind: u32| self.classes.get(&kind).is_some_and(|lambda| lambda.kind == TaskKind::HandedOver);
        if !self.classes.values().any(|lambda| lambda.kind == TaskKind::HandedOver) {
            return;
        }
        let of_class = |class: &Class<'_>| {
            let mut found = Vec::new();
            for calls in class.methods().map(calls_of) {
                for pair in calls.windows(2) {
                    let [making, next] = pair else { continue };
                    let Some(made) = made_by(dex, making).filter(|&made| waiting(made)) else { continue };
                    let is_step = known(next.target).is_some_and(|known| !known.steps.is_empty());
                    if next.how != Invoke::Custom && is_step {
                        found.push(made);
                    }
                }
            }
            found
        };
        let found: HashSet<u32> = dex.classes.par_iter().with_min_len(16).flat_map_iter(of_class).collect();
        // A body is a task's code if one of its lambdas is.
        for class in &found {
            if let Some(body) = self.classes.get(class).and_then(|lambda| lambda.body) {
                self.bodies.insert(body, TaskKind::Always);
            }
        }
        self.handed_over = found;
    }

    /// The method that is the code of a lambda's class, if the lambda is a task: `None` for its index if that is not known.
    pub(super) fn task(&self, class: u32) -> Option<Option<u32>> {
        let lambda = self.classes.get(&class)?;
        (lambda.kind == TaskKind::Always || self.handed_over.contains(&class)).then_some(lambda.body)
    }
}

/// The class of which a call runs the constructor.
fn made_by(dex: &Dex<'_>, call: &Call) -> Option<u32> {
    let method = dex.methods.get(call.target as usize).filter(|_| call.how == Invoke::Direct)?;
    (names::string(dex, method.name) == "<init>").then_some(method.class)
}

/// The method that a lambda's class calls: the first outside of the platform, whose methods box and unbox.
fn body_of(dex: &Dex<'_>, class: &Class<'_>, positions: &HashMap<u32, usize>) -> Option<u32> {
    let called = |calls: Vec<Call>| {
        let own = calls.iter().filter(|call| !matches!(call.how, Invoke::Custom | Invoke::Polymorphic));
        own.map(|call| call.target).find(|&target| {
            let method = dex.methods.get(target as usize);
            method.is_some_and(|method| {
                method.class != class.class && !is_platform(names::class(dex, method.class).as_bytes())
            })
        })
    };
    let found = class.virtual_methods.iter().map(calls_of).find_map(called)?;
    let method = dex.methods.get(found as usize)?;
    if !names::string(dex, method.name).starts_with(ACCESSOR) {
        return Some(found);
    }
    let owner = dex.classes.get(*positions.get(&method.class)?)?;
    let accessor = owner.methods().find(|own| own.method == found)?;
    calls_of(accessor).first().map(|call| call.target)
}
