//! Which lambdas of a class are tasks, and which of its methods are a task's code.

use std::collections::HashMap;

use super::steps::TaskKind;
use super::{Catalogue, Waits};
use crate::class::class_file::{ClassFile, Method, access};
use crate::class::code::Code;
use crate::class::opcodes::{self, INVOKEDYNAMIC, INVOKEVIRTUAL};

/// The class whose methods make lambdas (JVM, `java.lang.invoke.LambdaMetafactory`).
const FACTORY: &[u8] = b"java/lang/invoke/LambdaMetafactory";

/// Descriptor of the method that runs a coroutine: what it waited for, and its result.
const RESUME: &[u8] = b"(Ljava/lang/Object;)Ljava/lang/Object;";

/// Bound on dynamic call sites of a class that are read.
const MAX_SITES: usize = 4096;

/// The tasks of a class.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// By position in the method's code, for each method that makes tasks: the lambda's code.
    made: HashMap<(usize, u32), Body>,
    /// For each method, whether it is a task's code, and how.
    code: Vec<Option<TaskCode>>,
}

/// The method that is a lambda's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// Its id, 0 if it has none.
    pub(crate) id: u32,
    /// Its number, if it is a method of this class.
    pub(crate) number: Option<usize>,
}

/// How a method is a task's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskCode {
    /// The object is the task.
    Object,
    /// It is the body of a lambda, and does not know the lambda.
    Lambda,
    /// The object is a coroutine: the method runs it up to where it is suspended, or to its end.
    Coroutine,
}

impl Tasks {
    /// Looks for the tasks of a class whose methods have these ids.
    pub(crate) fn of(class: &ClassFile<'_>, ids: &[u32], waits: Waits<'_>) -> Self {
        let supertypes = || class.supertypes.iter().filter_map(|name| core::str::from_utf8(name).ok());
        let code = class.methods.iter().map(|method| OfObject::from(method).code(supertypes(), waits));
        let mut tasks = Self { made: HashMap::new(), code: code.collect() };
        if class.bootstrap_methods.is_some() {
            for (number, method) in class.methods.iter().enumerate() {
                if let Ok(Some(code)) = Code::for_method(class, method) {
                    tasks.find(class, number, code.bytes, ids, waits);
                }
            }
        }
        tasks
    }

    fn find(&mut self, class: &ClassFile<'_>, number: usize, code: &[u8], ids: &[u32], waits: Waits<'_>) {
        let mut lambda = None;
        for instruction in opcodes::instructions(code).map_while(Result::ok) {
            if !(INVOKEVIRTUAL..=INVOKEDYNAMIC).contains(&instruction.opcode) {
                continue;
            }
            let Ok(index) = opcodes::u2_at(code, instruction.pc + 1) else { return };
            if instruction.opcode != INVOKEDYNAMIC {
                // A lambda that is handed over right away.
                if let Some((pc, body)) = lambda.take()
                    && hands_over(class, index, waits)
                {
                    self.add(number, pc, body, class, ids);
                }
                continue;
            }
            lambda = None;
            match lambda_at(class, index, waits.catalogue) {
                Some((true, body)) => self.add(number, instruction.pc, body, class, ids),
                Some((false, body)) => lambda = Some((instruction.pc, body)),
                None => {}
            }
        }
    }

    fn add(&mut self, number: usize, pc: u32, body: [&[u8]; 3], class: &ClassFile<'_>, ids: &[u32]) {
        if self.made.len() >= MAX_SITES {
            return;
        }
        let at = own_method(class, body);
        let id = at.and_then(|at| ids.get(at)).copied().unwrap_or(0);
        self.made.insert((number, pc), Body { id, number: at });
        // A method that was written as such is called for other reasons too.
        if let Some(at) = at
            && class.methods.get(at).is_some_and(|method| method.access & access::SYNTHETIC != 0)
            && let Some(code) = self.code.get_mut(at)
        {
            *code = Some(TaskCode::Lambda);
        }
    }

    /// The code of the lambda that is made at `pc` of method `number`, if it is a task.
    pub(crate) fn made_at(&self, number: usize, pc: u32) -> Option<Body> {
        self.made.get(&(number, pc)).copied()
    }

    /// How method `number` is a task's code.
    pub(crate) fn code_of(&self, number: usize) -> Option<TaskCode> {
        self.code.get(number).copied().flatten()
    }
}

/// A method of a class whose objects may be tasks.
#[derive(Clone, Copy)]
pub(crate) struct OfObject<'m> {
    pub(crate) access: u16,
    pub(crate) name: &'m [u8],
    pub(crate) descriptor: &'m [u8],
}

impl OfObject<'_> {
    fn may_be_code(&self) -> bool {
        self.access & (access::STATIC | access::SYNTHETIC | access::ABSTRACT) == 0
    }

    /// How it is a task's code, in a class with these direct super types.
    pub(crate) fn code<'s>(
        &self,
        supertypes: impl Iterator<Item = &'s str> + Clone,
        waits: Waits<'_>,
    ) -> Option<TaskCode> {
        let (code, fits) = match self.descriptor {
            _ if !self.may_be_code() => return None,
            RESUME => (TaskCode::Coroutine, TaskKind::Coroutine),
            descriptor if descriptor.starts_with(b"()") => (TaskCode::Object, TaskKind::Always),
            _ => return None,
        };
        let is = |wanted: &str| supertypes.clone().any(|name| waits.hierarchy.is(name, wanted));
        let mut tasks = waits.catalogue.tasks().iter().filter(|task| task.kind == fits);
        tasks.any(|task| *task.method == *self.name && is(&task.class)).then_some(code)
    }

    /// Whether it is a task's code because its class extends or implements a listed type directly.
    pub(crate) fn is_listed(&self, is_direct: impl Fn(&str) -> bool, catalogue: &Catalogue) -> bool {
        let mut tasks = catalogue.tasks().iter().filter(|task| task.kind != TaskKind::HandedOver);
        self.may_be_code() && tasks.any(|task| *task.method == *self.name && is_direct(&task.class))
    }
}

impl<'m> From<&Method<'m>> for OfObject<'m> {
    fn from(method: &Method<'m>) -> Self {
        Self { access: method.access, name: method.name, descriptor: method.descriptor }
    }
}

/// Whether the call hands a task over.
fn hands_over(class: &ClassFile<'_>, index: u16, waits: Waits<'_>) -> bool {
    let Ok([owner, name, descriptor]) = class.pool.method(index) else { return false };
    let Ok(owner) = core::str::from_utf8(owner) else { return false };
    !waits.catalogue.steps.find(owner, name, descriptor, waits.hierarchy).is_empty()
}

/// The methods of a class that are a task's code, by their place in it, as far as the class alone shows: bodies of lambdas, and
/// methods of classes that extend or implement a listed type directly. They are worth tracing however short they are: whether a
/// task has started shows in its code alone.
pub(crate) fn code_in(class: &ClassFile<'_>, catalogue: &Catalogue) -> Vec<bool> {
    let is_direct = |name: &str| class.supertypes.contains(&name.as_bytes());
    let of_object = |method| OfObject::from(method).is_listed(is_direct, catalogue);
    let indices = || (1..class.pool.count()).filter_map(|index| u16::try_from(index).ok());
    // Lambdas of other types are tasks only where they are handed over.
    let hands_over = indices().any(|index| {
        let method = class.pool.method(index);
        method.is_ok_and(|[owner, name, descriptor]| match name {
            b"<init>" => catalogue.steps.lists_exactly(owner, name, descriptor),
            _ => catalogue.steps.entries.asks_for_class(name, descriptor),
        })
    });
    let mut code: Vec<bool> = class.methods.iter().map(of_object).collect();
    if class.bootstrap_methods.is_none() {
        return code;
    }
    let sites = indices().filter_map(|index| lambda_at(class, index, catalogue)).take(MAX_SITES);
    for (_, body) in sites.filter(|(always, _)| *always || hands_over) {
        let synthetic = |at: &usize| class.methods[*at].access & access::SYNTHETIC != 0;
        if let Some(at) = own_method(class, body).filter(synthetic) {
            code[at] = true;
        }
    }
    code
}

/// The number of the method with this class, name and descriptor, if it is one of this class.
fn own_method(class: &ClassFile<'_>, [owner, name, descriptor]: [&[u8]; 3]) -> Option<usize> {
    let same = |method: &Method<'_>| method.name == name && method.descriptor == descriptor;
    class.methods.iter().position(same).filter(|_| owner == class.name)
}

/// The method that is the code of the lambda made at a call site, and whether any lambda of its type is a task; `None` if
/// none is.
fn lambda_at<'a>(class: &ClassFile<'a>, index: u16, catalogue: &Catalogue) -> Option<(bool, [&'a [u8]; 3])> {
    let (bootstrap, descriptor) = class.pool.call_site(index)?;
    let after = descriptor.iter().rposition(|byte| *byte == b')')?;
    let made = descriptor.get(after + 1..)?.strip_prefix(b"L")?.strip_suffix(b";")?;
    let mut tasks = catalogue.tasks().iter().filter(|task| task.kind != TaskKind::Coroutine);
    let task = tasks.find(|task| task.class.as_bytes() == made)?;
    let mut cursor = class.bootstrap_methods?;
    let count = cursor.u2().ok()?;
    if bootstrap >= count {
        return None;
    }
    for _ in 0..bootstrap {
        cursor.skip(2).ok()?;
        let arguments = cursor.u2().ok()?;
        cursor.skip(2 * usize::from(arguments)).ok()?;
    }
    let factory = class.pool.method_handle(cursor.u2().ok()?)?;
    // The arguments of `metafactory`: the type of the interface's method, its implementation, its type here.
    if factory[0] != FACTORY || cursor.u2().ok()? < 2 {
        return None;
    }
    cursor.skip(2).ok()?;
    Some((task.kind == TaskKind::Always, class.pool.method_handle(cursor.u2().ok()?)?))
}
