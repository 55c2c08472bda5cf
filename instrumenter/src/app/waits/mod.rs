//! Waits and steps of concurrent work in dex files, as [`crate::waits`] describes them for class files.
//!
//! ```text
//!   original   names before R8 and before desugaring, in which the list of calls is written
//!   lambdas    classes that D8 has made for lambdas that are tasks
//!   known      what the list says about each method of the file's table
//!   sites      the calls to insert around the instructions of a method
//!   tasks      which methods are a task's code, and what that code does besides
//! ```
//!
//! A synchronized method locks itself in dex files, so its lock is found by its instructions.

mod known;
mod lambdas;
mod original;
mod sites;
mod tasks;

pub(crate) use self::lambdas::Lambdas;
pub(crate) use self::original::Original;
pub(crate) use self::tasks::code_in;

use std::collections::HashMap;

use dex::code::{Body, Call, facts, trace};
use dex::{Class, ClassMethod, Dex, MethodCode};

use super::names;
use crate::class_facts::ClassFacts;
use crate::hierarchy::Hierarchy;
use crate::splice::task::COMPLETION;
use crate::waits::{Catalogue, Known, Monitors, Waits};

/// What is listed, in original names.
pub(crate) struct Listed<'a> {
    catalogue: &'a Catalogue,
    original: Original<'a>,
    hierarchy: Hierarchy,
    completion: Option<Completion>,
}

/// The method of coroutines that returns what they resume at their end, as the files name it.
struct Completion {
    /// Descriptors of its class and its result.
    class: String,
    result: String,
    name: String,
}

impl Completion {
    fn find(dexes: &[&Dex<'_>], original: &Original<'_>) -> Option<Self> {
        let [class, name, _] = COMPLETION;
        dexes.iter().find_map(|dex| {
            let in_file = |kind| names::class(dex, kind);
            let found = dex.classes.iter().find(|one| original.class(&in_file(one.class)) == class)?;
            found.methods().find_map(|method| {
                let id = dex.methods.get(method.method as usize)?;
                let descriptor = names::method_descriptor(dex, id.proto);
                let is_it = original.named(dex, id).name == name;
                (is_it && descriptor.starts_with("()")).then(|| Self {
                    class: names::descriptor(dex, found.class).into_owned(),
                    result: descriptor.trim_start_matches("()").to_owned(),
                    name: names::string(dex, id.name).into_owned(),
                })
            })
        })
    }

    /// Finds or adds it in a file that mentions its class.
    fn find_or_add(&self, dex: &mut Dex<'_>) -> Option<u32> {
        let class = dex.find_type(&self.class)?;
        let result = dex.find_or_add_type(&self.result);
        let proto = dex.find_or_add_proto(result, &[]);
        Some(dex.find_or_add_method(class, &self.name, proto))
    }
}

impl<'a> Listed<'a> {
    /// `classes` are those of all files.
    pub(crate) fn new(
        catalogue: &'a Catalogue,
        original: Original<'a>,
        classes: &[ClassFacts],
        dexes: &[&Dex<'_>],
    ) -> Self {
        let hierarchy = Hierarchy::renamed(classes, |name| original.class(name).into_owned());
        let completion = Completion::find(dexes, &original);
        Self { catalogue, original, hierarchy, completion }
    }

    fn waits(&self) -> Waits<'_> {
        Waits { catalogue: self.catalogue, hierarchy: &self.hierarchy, monitors: Monitors::Inserted }
    }
}

/// Method indices of `wb`, `we`, `wr`, `c` and `wt`, and of `getCompletion` of coroutines; and the type indices of what they throw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitCalls {
    begin: u32,
    end: u32,
    release: u32,
    step: u32,
    tried: u32,
    completion: Option<u32>,
    errors: [u32; 2],
}

impl WaitCalls {
    /// Finds or adds them. `class` is the descriptor of the class that is called.
    fn find_or_add(dex: &mut Dex<'_>, class: &str, completion: Option<u32>) -> Self {
        let class = dex.find_or_add_type(class);
        let [void, int, boolean, object] =
            ["V", "I", "Z", "Ljava/lang/Object;"].map(|descriptor| dex.find_or_add_type(descriptor));
        let errors = dex.find_or_add_errors();
        let mut method = |name: &str, parameters: &[u32]| {
            let proto = dex.find_or_add_proto(void, parameters);
            dex.find_or_add_method(class, name, proto)
        };
        Self {
            begin: method("wb", &[int, object]),
            end: method("we", &[int, object]),
            release: method("wr", &[object]),
            step: method("c", &[object, object, int, int]),
            tried: method("wt", &[boolean, object]),
            completion,
            errors,
        }
    }
}

/// What is recorded in the methods of one dex file.
pub(crate) struct DexWaits<'a> {
    listed: &'a Listed<'a>,
    calls: WaitCalls,
    lambdas: &'a Lambdas,
    /// By method index; methods that were added are not in it.
    known: Vec<Option<Known>>,
}

impl<'a> DexWaits<'a> {
    /// Looks up the methods of the file, and adds those that are called.
    pub(crate) fn new(
        dex: &mut Dex<'_>,
        call_class: &str,
        listed: &'a Listed<'a>,
        lambdas: &'a mut Lambdas,
    ) -> Self {
        let known = known::of_all(dex, listed);
        lambdas.find_handed_over(dex, &|method| known.get(method as usize)?.as_ref());
        let completion = listed.completion.as_ref().and_then(|completion| completion.find_or_add(dex));
        let calls = WaitCalls::find_or_add(dex, call_class, completion);
        Self { listed, calls, lambdas, known }
    }

    fn known(&self, method: u32) -> Option<&Known> {
        self.known.get(method as usize)?.as_ref()
    }
}

/// Returns the calls in a method, up to where its code is understood: none if it is broken.
fn calls_of(method: &ClassMethod<'_>) -> Vec<Call> {
    match &method.code {
        Some(MethodCode::Read(code)) => facts(code).map(|facts| facts.calls).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Returns what is recorded in the method at `index` of a class.
pub(crate) fn of_method(
    waits: &DexWaits<'_>,
    in_class: &InClass<'_>,
    index: usize,
    body: &Body,
) -> trace::Waits {
    trace::Waits {
        sites: sites::find(waits, in_class, index, body),
        task: tasks::of_method(waits, in_class, index),
        errors: waits.calls.errors,
    }
}

/// A class that is edited.
pub(crate) struct InClass<'c> {
    dex: &'c Dex<'c>,
    class: &'c Class<'c>,
    /// By the position of the method.
    ids: &'c [u32],
    /// By method index.
    positions: HashMap<u32, usize>,
}

impl<'c> InClass<'c> {
    pub(crate) fn new(dex: &'c Dex<'c>, class: &'c Class<'c>, ids: &'c [u32]) -> Self {
        let positions = class.methods().enumerate().map(|(position, own)| (own.method, position)).collect();
        Self { dex, class, ids, positions }
    }

    /// The position of a method of the class, by its index in the table.
    fn position(&self, method: u32) -> Option<usize> {
        self.positions.get(&method).copied()
    }
}
