//! The catalogue of calls that block, and of calls that hand work to other threads: built-in lists that users can extend.

use trace_format::event::{CallId, WaitKind};

use super::call_kind::CallKind;
use super::entries::{Entries, Entry, Line};
use super::steps::{Operand, Steps, Task};
use crate::hierarchy::Hierarchy;

/// The built-in list of blocking calls; the comment at its top describes the format.
const BUILT_IN: &str = include_str!("catalogue.txt");
/// The built-in list of steps of concurrent work.
const BUILT_IN_STEPS: &str = include_str!("steps.txt");

/// The record of a call that may block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocking {
    pub(crate) kind: CallKind,
    pub(crate) call: CallId,
    /// The object that the wait is recorded with.
    pub(crate) on: Operand,
}

/// Calls that may block, and the kind of wait of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    entries: Entries<Blocking>,
    pub(crate) steps: Steps,
}

/// An invalid line of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line}: {what}: write it like \"blocking com/acme/Bus call\" or \"park com/acme/Gate pass (J)V on=none\""
)]
pub struct CatalogueError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

impl Default for Catalogue {
    /// Returns the built-in list.
    fn default() -> Self {
        let mut catalogue = Self::empty();
        // A test checks the built-in list, so this cannot fail.
        let _ = catalogue.add(BUILT_IN);
        let _ = catalogue.add(BUILT_IN_STEPS);
        catalogue
    }
}

fn kind_named(name: &str) -> Option<CallKind> {
    match name {
        "wait" => Some(CallKind::Wait(WaitKind::ObjectWait)),
        "lock" => Some(CallKind::Lock),
        "condition" => Some(CallKind::Condition),
        "permit" => Some(CallKind::Permit),
        // Monitors are found by their instructions.
        _ => name
            .parse()
            .ok()
            .filter(|kind| !matches!(kind, WaitKind::Monitor | WaitKind::ObjectWait | WaitKind::Unknown(_)))
            .map(CallKind::Wait),
    }
}

impl Catalogue {
    /// Returns a catalogue without any calls, with which only monitors are recorded.
    #[must_use]
    pub fn empty() -> Self {
        Self { entries: Entries::default(), steps: Steps::default() }
    }

    /// Adds the lines of `text`. A line replaces an entry with the same class, method and descriptor. The kind `off`
    /// removes the entry; without a descriptor it removes all entries of that method.
    ///
    /// ```
    /// let mut catalogue = instrumenter::Catalogue::default();
    /// catalogue.add("# in-house\nblocking com/acme/Bus call\noff java/io/InputStream read\n")?;
    /// # Ok::<(), instrumenter::CatalogueError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first line that is not `KIND CLASS METHOD [DESCRIPTOR] [on=receiver|first|second|none]`. The lines before it are
    /// added.
    pub fn add(&mut self, text: &str) -> Result<(), CatalogueError> {
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                self.add_line(line).map_err(|what| CatalogueError { line: number + 1, what })?;
            }
        }
        Ok(())
    }

    fn add_line(&mut self, line: &str) -> Result<(), &'static str> {
        let line = Line::read(line)?;
        if Steps::has_word(line.kind) {
            return self.steps.add(line);
        }
        let (kind, method) = (line.kind, line.method);
        let Entry { class, descriptor, what: on } = line.entry(Operand::Receiver, |on, word| {
            *on = match word {
                "on=receiver" => Operand::Receiver,
                "on=first" => Operand::Argument(0),
                "on=second" => Operand::Argument(1),
                "on=none" => Operand::None,
                _ => return Err("not a descriptor, on=receiver, on=first, on=second or on=none"),
            };
            Ok(())
        })?;
        let of_name = self.entries.by_name.entry(method.into()).or_default();
        // `off` without a descriptor removes all entries of the method.
        let all = kind == "off" && descriptor.is_none();
        of_name.retain(|entry| entry.class != class || !all && entry.descriptor != descriptor);
        if kind == "off" {
            self.steps.remove(class.as_deref(), method, descriptor.as_deref());
            return Ok(());
        }
        let kind = kind_named(kind).ok_or(
            "the kind is not wait, park, lock, condition, sleep, join, blocking, off, or a step such as submitted",
        )?;
        // Any class has the waits of the class Object.
        let call = core::str::from_utf8(method)
            .map_or(CallId(0), |method| CallId::of(class.as_deref().unwrap_or("java/lang/Object"), method));
        of_name.push(Entry { class, descriptor, what: Blocking { kind, call, on } });
        Ok(())
    }

    /// Returns whether a call of this method may be in the list, depending on the super types of its class.
    pub(crate) fn asks_for_class(&self, name: &[u8], descriptor: &[u8]) -> bool {
        self.entries.asks_for_class(name, descriptor) || self.steps.entries.asks_for_class(name, descriptor)
    }

    /// Returns whether a call of this method may be in the list: a wait for any class, or a step for exactly this one.
    /// The names of steps, such as `put`, are too common to take them for any class.
    pub(crate) fn names(&self, class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
        self.entries.of_name(name).iter().any(|entry| entry.fits(descriptor))
            || self.steps.lists_exactly(class, name, descriptor)
    }

    /// Returns the task types that an instance method may be the code of.
    pub(crate) fn tasks(&self) -> &[Task] {
        &self.steps.tasks
    }

    /// Returns the wait in a call of this method, if it is in the list. Entries with a descriptor take precedence.
    pub(crate) fn find(
        &self,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
        hierarchy: &Hierarchy,
    ) -> Option<Blocking> {
        let class = core::str::from_utf8(class).ok()?;
        let found = self.entries.find(class, name, descriptor, hierarchy);
        found.max_by_key(|entry| entry.descriptor.is_some()).map(|entry| entry.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_built_in_list_is_read() {
        let mut catalogue = Catalogue::empty();
        assert_eq!(catalogue.add(BUILT_IN), Ok(()));
        assert_eq!(catalogue.add(BUILT_IN_STEPS), Ok(()));
        let count: usize = catalogue.entries.by_name.values().map(Vec::len).sum();
        let lines = BUILT_IN.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        assert_eq!(count, lines.filter(|line| !line.is_empty()).count(), "no line twice");
        assert_eq!(catalogue, Catalogue::default());
    }

    #[test]
    fn built_in_calls_have_a_number_and_calls_of_users_have_none() {
        let mut catalogue = Catalogue::default();
        catalogue.add("blocking com/acme/Bus call").unwrap();
        let all = catalogue.entries.by_name.values().flatten();
        let unknown: Vec<_> = all.filter(|entry| entry.what.call.name().is_none()).collect();
        assert_eq!(unknown.len(), 1, "{unknown:?}");
        assert_eq!(unknown[0].class.as_deref(), Some("com/acme/Bus"));
        let hierarchy = Hierarchy::from_pairs(&[("app/Feed", &["java/io/InputStream"])]);
        let found = |class: &str, name: &str, descriptor: &str| {
            catalogue.find(class.as_bytes(), name.as_bytes(), descriptor.as_bytes(), &hierarchy)
        };
        let name = |found: Option<Blocking>| found.and_then(|found| found.call.name());
        assert_eq!(name(found("app/Feed", "read", "([B)I")), Some("java.io.InputStream.read"));
        assert_eq!(name(found("app/Any", "wait", "()V")), Some("java.lang.Object.wait"));
    }

    #[test]
    fn calls_are_found_by_class_name_and_descriptor() {
        let hierarchy = Hierarchy::from_pairs(&[("app/Worker", &["java/lang/Thread"])]);
        let catalogue = Catalogue::default();
        let find = |class: &str, name: &str, descriptor: &str| {
            let found =
                catalogue.find(class.as_bytes(), name.as_bytes(), descriptor.as_bytes(), &hierarchy)?;
            Some((found.kind, found.on))
        };
        assert_eq!(
            find("java/lang/Object", "wait", "(J)V"),
            Some((CallKind::Wait(WaitKind::ObjectWait), Operand::Receiver))
        );
        assert_eq!(
            find("any/Where", "wait", "()V"),
            Some((CallKind::Wait(WaitKind::ObjectWait), Operand::Receiver))
        );
        assert_eq!(find("any/Where", "wait", "(I)V"), None);
        assert_eq!(
            find("app/Worker", "join", "()V"),
            Some((CallKind::Wait(WaitKind::Join), Operand::Receiver))
        );
        assert_eq!(find("app/Other", "join", "()V"), None);
        let park = "(Ljava/lang/Object;J)V";
        let support = "java/util/concurrent/locks/LockSupport";
        assert_eq!(
            find(support, "parkNanos", park),
            Some((CallKind::Wait(WaitKind::Park), Operand::Argument(0)))
        );
        assert_eq!(
            find(support, "parkNanos", "(J)V"),
            Some((CallKind::Wait(WaitKind::Sleep), Operand::None)),
            "without an object it waits for a time"
        );
    }

    #[test]
    fn entries_can_be_added_replaced_and_removed() {
        let mut catalogue = Catalogue::default();
        catalogue
            .add("blocking com.acme.Bus call\r\n  off java/lang/Thread sleep # all\npark java/lang/Thread join ()V on=none")
            .unwrap();
        let find = |class: &str, name: &str, descriptor: &str| {
            let none = Hierarchy::default();
            let found = catalogue.find(class.as_bytes(), name.as_bytes(), descriptor.as_bytes(), &none)?;
            Some((found.kind, found.on))
        };
        assert_eq!(
            find("com/acme/Bus", "call", "(I)V"),
            Some((CallKind::Wait(WaitKind::Blocking), Operand::Receiver))
        );
        assert_eq!(find("java/lang/Thread", "sleep", "(J)V"), None);
        assert_eq!(
            find("java/lang/Thread", "join", "()V"),
            Some((CallKind::Wait(WaitKind::Park), Operand::None))
        );
        assert_eq!(
            find("java/lang/Thread", "join", "(J)V"),
            Some((CallKind::Wait(WaitKind::Join), Operand::Receiver))
        );
    }

    #[test]
    fn invalid_lines_are_reported_with_their_number() {
        for (text, line) in [
            ("x", 1),
            ("\nsleep a/B", 2),
            ("nap a/B c", 1),
            ("sleep a/B; c", 1),
            ("sleep a/B c d", 1),
            ("sleep * c", 1),
        ] {
            let error = Catalogue::empty().add(text).unwrap_err();
            assert_eq!(error.line, line, "{text}");
        }
    }
}
