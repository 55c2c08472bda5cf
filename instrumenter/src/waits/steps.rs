//! The list of steps of concurrent work: which calls hand a task to another thread, complete it, or give something back.
//!
//! `steps.txt` describes the format.

use std::collections::BTreeMap;

use trace_format::event::{Concurrency, ConcurrencyStep};

use crate::hierarchy::Hierarchy;

/// What is recorded at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// A step.
    Step(ConcurrencyStep),
    /// The call gives a lock back: the owner's entry ends.
    Unlock,
    /// The call takes a lock if it is free, and returns whether it did.
    TryLock,
}

impl StepKind {
    /// What a task's code does that has this step, besides: [`Concurrency::COUNTS_DOWN`], [`Concurrency::PUTS`] or nothing.
    pub(crate) fn does(self) -> u16 {
        match self {
            Self::Step(ConcurrencyStep::CountedDown) => Concurrency::COUNTS_DOWN,
            Self::Step(ConcurrencyStep::Put) => Concurrency::PUTS,
            _ => 0,
        }
    }

    /// Whether it is recorded when the call has returned. All others are recorded before the call, so that nothing that
    /// follows from it on another thread is earlier.
    pub(crate) fn is_after(self) -> bool {
        use ConcurrencyStep::{Acquired, Awaited, Future, PartOf, Taken};
        matches!(self, Self::TryLock | Self::Step(Future | Acquired | Awaited | PartOf | Taken))
    }
}

/// An object of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    None,
    Receiver,
    /// An argument, from 0.
    Argument(u8),
    /// What the call returns.
    Result,
}

/// A step at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    pub(crate) object: Operand,
    pub(crate) other: Operand,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// Internal name; `None` matches any class.
    class: Option<Box<str>>,
    /// `None` matches any descriptor.
    descriptor: Option<Box<[u8]>>,
    step: Step,
}

impl Entry {
    fn fits(&self, descriptor: &[u8]) -> bool {
        self.descriptor.as_deref().is_none_or(|wanted| wanted == descriptor)
    }
}

/// A type of task: the method of a class that is a task's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// Internal name of the class or interface.
    pub(crate) class: Box<str>,
    pub(crate) method: Box<[u8]>,
    pub(crate) kind: TaskKind,
}

/// What makes an object of a type a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// Any object of the type is one, and any lambda.
    Always,
    /// Only a lambda that is handed over right away: the type is used for much else.
    HandedOver,
    /// The object is a coroutine, whose code runs in parts: it returns when the coroutine is suspended.
    Coroutine,
}

impl TaskKind {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "task" => Self::Always,
            "callback" => Self::HandedOver,
            "coroutine" => Self::Coroutine,
            _ => return None,
        })
    }
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps {
    /// By method name.
    entries: BTreeMap<Box<[u8]>, Vec<Entry>>,
    tasks: Vec<Task>,
}

fn kind_named(word: &str) -> Option<StepKind> {
    match word {
        "unlock" => Some(StepKind::Unlock),
        "trylock" => Some(StepKind::TryLock),
        // These are found without a list.
        "created" | "started" | "finished" => None,
        _ => {
            word.parse().ok().filter(|step| !matches!(step, ConcurrencyStep::Unknown(_))).map(StepKind::Step)
        }
    }
}

impl Steps {
    /// Whether a line that starts with `word` belongs here.
    pub(super) fn has_word(word: &str) -> bool {
        TaskKind::named(word).is_some() || kind_named(word).is_some()
    }

    /// Adds a line, whose first word [`Self::has_word`] knows.
    pub(super) fn add_line(&mut self, line: &str) -> Result<(), &'static str> {
        let mut words = line.split_whitespace();
        let (Some(kind), Some(class), Some(method)) = (words.next(), words.next(), words.next()) else {
            return Err("a line needs a kind, a class and a method");
        };
        let class = class.replace('.', "/");
        if class.contains([';', '[', '(']) {
            return Err("the second word is not a class");
        }
        if let Some(kind) = TaskKind::named(kind) {
            let task = Task { class: class.into(), method: method.as_bytes().into(), kind };
            self.tasks.retain(|known| (&known.class, &known.method) != (&task.class, &task.method));
            self.tasks.push(task);
            return Ok(());
        }
        let kind = kind_named(kind).ok_or("the first word is no step")?;
        let class = (class != "*").then(|| class.into_boxed_str());
        let mut descriptor = None;
        let mut step = Step { kind, object: Operand::Receiver, other: Operand::None };
        for word in words {
            if let Some(operand) = word.strip_prefix("object=") {
                step.object = operand_named(operand)?;
            } else if let Some(operand) = word.strip_prefix("other=") {
                step.other = operand_named(operand)?;
            } else if word.starts_with('(') && word.contains(')') {
                descriptor = Some(word.as_bytes().into());
            } else {
                return Err("not a descriptor, object=receiver|first|second|result or other=…");
            }
        }
        if class.is_none() && descriptor.is_none() {
            return Err("a method of any class needs a descriptor");
        }
        if !kind.is_after() && [step.object, step.other].contains(&Operand::Result) {
            return Err("this step is recorded before the call, which has no result yet");
        }
        let of_name = self.entries.entry(method.as_bytes().into()).or_default();
        of_name.retain(|entry: &Entry| {
            entry.class != class || entry.descriptor != descriptor || entry.step.kind != kind
        });
        of_name.push(Entry { class, descriptor, step });
        Ok(())
    }

    /// Removes the steps of a method; without a descriptor those of all its forms.
    pub(super) fn remove(&mut self, class: Option<&str>, method: &[u8], descriptor: Option<&[u8]>) {
        if let Some(of_name) = self.entries.get_mut(method) {
            of_name.retain(|entry| {
                entry.class.as_deref() != class
                    || descriptor.is_some() && entry.descriptor.as_deref() != descriptor
            });
        }
    }

    fn of_name(&self, name: &[u8]) -> &[Entry] {
        self.entries.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the super types of its class decide if a call of this method has a step.
    pub(crate) fn asks_for_class(&self, name: &[u8], descriptor: &[u8]) -> bool {
        self.of_name(name).iter().any(|entry| entry.class.is_some() && entry.fits(descriptor))
    }

    /// Whether a call of this method of exactly this class has a step.
    pub(crate) fn lists_exactly(&self, class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
        let same = |entry: &Entry| entry.class.as_deref().is_some_and(|wanted| wanted.as_bytes() == class);
        self.of_name(name).iter().any(|entry| same(entry) && entry.fits(descriptor))
    }

    /// The steps at a call of this method, one of a kind. Entries with a descriptor take precedence.
    pub(crate) fn find(
        &self,
        class: &str,
        name: &[u8],
        descriptor: &[u8],
        hierarchy: &Hierarchy,
    ) -> Vec<Step> {
        let fits = |entry: &&Entry| {
            entry.fits(descriptor) && entry.class.as_deref().is_none_or(|wanted| hierarchy.is(class, wanted))
        };
        let mut found: Vec<&Entry> = self.of_name(name).iter().filter(fits).collect();
        found.sort_by_key(|entry| entry.descriptor.is_none());
        let mut steps: Vec<Step> = Vec::new();
        for entry in found {
            if steps.iter().all(|known| known.kind != entry.step.kind) {
                steps.push(entry.step);
            }
        }
        steps
    }

    /// The task types.
    pub(super) fn tasks(&self) -> &[Task] {
        &self.tasks
    }
}

fn operand_named(word: &str) -> Result<Operand, &'static str> {
    Ok(match word {
        "none" => Operand::None,
        "receiver" => Operand::Receiver,
        "first" => Operand::Argument(0),
        "second" => Operand::Argument(1),
        "third" => Operand::Argument(2),
        "fourth" => Operand::Argument(3),
        "result" => Operand::Result,
        _ => return Err("an object is receiver, first, second, third, fourth, result or none"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(lines: &[&str]) -> Steps {
        let mut steps = Steps::default();
        for line in lines {
            assert_eq!(steps.add_line(line), Ok(()), "{line}");
        }
        steps
    }

    #[test]
    fn a_call_has_one_step_of_a_kind_and_the_form_with_a_descriptor_wins() {
        let steps = steps(&[
            "submitted java/util/concurrent/Executor execute object=first other=receiver",
            "submitted app/Pool execute (Ljava/lang/Runnable;)V object=first",
            "future java/util/concurrent/ExecutorService submit object=result other=first",
        ]);
        let hierarchy = Hierarchy::from_pairs(&[("app/Pool", &["java/util/concurrent/Executor"])]);
        let found = steps.find("app/Pool", b"execute", b"(Ljava/lang/Runnable;)V", &hierarchy);
        assert_eq!(
            found,
            [Step {
                kind: StepKind::Step(ConcurrencyStep::Submitted),
                object: Operand::Argument(0),
                other: Operand::None
            }]
        );
        assert!(steps.find("app/Other", b"execute", b"(Ljava/lang/Runnable;)V", &hierarchy).is_empty());
        assert!(steps.lists_exactly(b"java/util/concurrent/ExecutorService", b"submit", b"()V"));
        assert!(!steps.lists_exactly(b"app/Pool", b"submit", b"()V"));
    }

    #[test]
    fn what_is_recorded_before_the_call_cannot_name_its_result() {
        let mut steps = Steps::default();
        assert!(steps.add_line("submitted a/B c object=result").is_err());
        assert!(steps.add_line("future a/B c object=fifth").is_err());
        assert!(steps.add_line("put * d").is_err());
        assert!(!Steps::has_word("created"));
        assert!(Steps::has_word("coroutine") && Steps::has_word("awaited"));
        assert_eq!(steps, Steps::default());
    }

    #[test]
    fn a_removed_method_has_no_step() {
        let mut steps = steps(&["put a/B c (I)V", "put a/B c (J)V"]);
        steps.remove(Some("a/B"), b"c", Some(b"(I)V"));
        assert!(!steps.lists_exactly(b"a/B", b"c", b"(I)V") && steps.lists_exactly(b"a/B", b"c", b"(J)V"));
        steps.remove(Some("a/B"), b"c", None);
        assert!(!steps.lists_exactly(b"a/B", b"c", b"(J)V"));
    }
}
