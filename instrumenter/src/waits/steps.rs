//! The list of steps of concurrent work: which calls hand a task to another thread, complete it, or give something back.
//!
//! `steps.txt` describes the format.

use trace_format::event::{Concurrency, ConcurrencyStep};

use super::entries::{Entries, Line};
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
    pub(crate) entries: Entries<Step>,
    /// The task types.
    pub(super) tasks: Vec<Task>,
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
    pub(super) fn add(&mut self, line: Line<'_>) -> Result<(), &'static str> {
        let method = line.method;
        if let Some(kind) = TaskKind::named(line.kind) {
            let task = Task { class: line.class.into(), method: method.into(), kind };
            self.tasks.retain(|known| (&known.class, &known.method) != (&task.class, &task.method));
            self.tasks.push(task);
            return Ok(());
        }
        let kind = kind_named(line.kind).ok_or("the first word is no step")?;
        let step = Step { kind, object: Operand::Receiver, other: Operand::None };
        let new = line.entry(step, |step, word| {
            match word.split_once('=') {
                Some(("object", operand)) => step.object = operand_named(operand)?,
                Some(("other", operand)) => step.other = operand_named(operand)?,
                _ => return Err("not a descriptor, object=receiver|first|second|result or other=…"),
            }
            Ok(())
        })?;
        if !kind.is_after() && [new.what.object, new.what.other].contains(&Operand::Result) {
            return Err("this step is recorded before the call, which has no result yet");
        }
        let of_name = self.entries.by_name.entry(method.into()).or_default();
        of_name.retain(|entry| {
            (&entry.class, &entry.descriptor, entry.what.kind) != (&new.class, &new.descriptor, kind)
        });
        of_name.push(new);
        Ok(())
    }

    /// Removes the steps of a method; without a descriptor those of all its forms.
    pub(super) fn remove(&mut self, class: Option<&str>, method: &[u8], descriptor: Option<&[u8]>) {
        if let Some(of_name) = self.entries.by_name.get_mut(method) {
            of_name.retain(|entry| {
                entry.class.as_deref() != class
                    || descriptor.is_some() && entry.descriptor.as_deref() != descriptor
            });
        }
    }

    /// Whether a call of this method of exactly this class has a step.
    pub(crate) fn lists_exactly(&self, class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
        let same = |wanted: &str| wanted.as_bytes() == class;
        let of_name = self.entries.of_name(name);
        of_name.iter().any(|entry| entry.class.as_deref().is_some_and(same) && entry.fits(descriptor))
    }

    /// The steps at a call of this method, one of a kind. Entries with a descriptor take precedence.
    pub(crate) fn find(
        &self,
        class: &str,
        name: &[u8],
        descriptor: &[u8],
        hierarchy: &Hierarchy,
    ) -> Vec<Step> {
        let mut found: Vec<_> = self.entries.find(class, name, descriptor, hierarchy).collect();
        found.sort_by_key(|entry| entry.descriptor.is_none());
        let mut steps: Vec<Step> = Vec::new();
        for entry in found {
            if steps.iter().all(|known| known.kind != entry.what.kind) {
                steps.push(entry.what);
            }
        }
        steps
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
            assert_eq!(Line::read(line).and_then(|line| steps.add(line)), Ok(()), "{line}");
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
        let mut add = |line| Line::read(line).and_then(|line| steps.add(line));
        assert!(add("submitted a/B c object=result").is_err());
        assert!(add("future a/B c object=fifth").is_err());
        assert!(add("put * d").is_err());
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
