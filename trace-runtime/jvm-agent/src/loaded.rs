//! Classes that are loaded already: which of them can be changed, when, and in which portions.
//!
//! HotSpot gives a frame no file and line once its class was changed, until its method returns: neither in dumps nor in the
//! program's own exceptions. For example, `Server.main` waits for requests in a loop, an attachment of a second changes and
//! restores the class, and from then on each stack trace of the program ends in `Server.main(Unknown Source)`. It compares the
//! version of the class (`Backtrace::get_source_file_name`, javaClasses.inline.hpp), so this holds for methods that stay as
//! they are, too, and even if the new class file is the old one (seen on Java 17 and 25).
//!
//! So a class with a frame on a stack waits, and is changed when it has none. The stacks are read right before each portion of
//! classes, but not in the same stop of the program: a call that begins in between has no lines until it returns. Nor does an
//! exception have them that was created before the change and is printed after it, which no stack shows. Virtual threads are
//! read once for all portions.

use std::collections::HashSet;

use jni::sys::{jclass, jlong};

use crate::environment::{Environment, Failed};
use crate::java::Java;
use crate::jvmti::class_status;

/// How many classes are changed in one stop of the program, at least.
///
/// A stop grows with the number of classes, and each stop has a cost of its own: for 564 classes of Groovy, one call stopped
/// the program for 130 ms, and nine calls of 64 classes for 84 ms at most, in less time altogether.
const BATCH: usize = 64;

/// How many stops there are at most, or nearly so. Each visits all loaded classes, so that the time would otherwise grow with
/// the square of their number: 20,000 classes took seven times as long as 5,000. On Java 8 and 11 it does so all the same, since
/// these visit all classes for each one that is changed.
const STOPS: usize = 128;

/// How many classes have local references at a time.
const PORTION: usize = 1024;

/// The number of a class's portion is in its tag for a while, above the tags of other objects.
const PORTION_SHIFT: u32 = 8;

/// Tag of a class that waits until no thread is in it, above the tags of other objects.
const WAITS: jlong = 1 << 6;

/// Tag of a class with a frame on a stack, while a portion is chosen.
const IN_USE: jlong = 1 << 7;

/// What can be done with a loaded class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It can be changed.
    Linked,
    /// It can be changed once it is linked.
    Loaded,
    /// It is no class with a file, or cannot be linked, or is hidden.
    Fixed,
}

pub(crate) fn state(jvmti: Environment, class: jclass) -> State {
    let status = jvmti.status(class);
    if status & (class_status::ARRAY | class_status::PRIMITIVE | class_status::ERROR) != 0
        || !jvmti.is_modifiable(class)
    {
        return State::Fixed;
    }
    if status & class_status::PREPARED != 0 { State::Linked } else { State::Loaded }
}

/// Changes loaded classes.
#[derive(Clone, Copy)]
pub(crate) struct Changer<'a> {
    pub(crate) java: Java,
    pub(crate) jvmti: Environment,
    /// The names of classes that have a frame on another stack than JVM TI shows.
    pub(crate) frames: &'a HashSet<String>,
}

impl Changer<'_> {
    /// Retransforms the loaded classes that `wanted` and then `takes` accept. A class with a frame on a stack
    /// [waits](Self::retry). `wanted` must not use JNI. Calls `failed` for each class that the JVM refuses.
    ///
    /// JVM TI returns references to all classes at once. A large program has more than 65,536, the most that HotSpot
    /// lets a thread announce to -Xcheck:jni, which also counts them at each call of JNI. So the classes are only
    /// tagged with the number of their portion, which is no call of JNI, and all references are given back before
    /// `takes` sees the first class.
    ///
    /// # Errors
    /// If the JVM does not name its classes, or not all of them, or shows no stacks.
    pub(crate) fn retransform(
        self,
        wanted: impl Fn(jclass) -> bool,
        mut takes: impl FnMut(jclass) -> bool,
        failed: &mut dyn FnMut(jclass, Failed),
    ) -> Result<(), Failed> {
        let Self { java, jvmti, .. } = self;
        let frame = java.frame(16);
        let loaded = jvmti.loaded_classes()?;
        let batch = (loaded.len() / STOPS).clamp(BATCH, PORTION);
        let chosen: Vec<jclass> = loaded.into_iter().filter(|class| wanted(*class)).collect();
        let mut portions: Vec<jlong> = Vec::new();
        for (number, classes) in (1..).zip(chosen.chunks(PORTION)) {
            let portion = number << PORTION_SHIFT;
            classes.iter().for_each(|class| jvmti.set_tag(*class, jvmti.tag(*class) | portion));
            portions.push(portion);
        }
        drop(frame);
        for portion in portions {
            let _frame = java.frame(PORTION as i32 + 16);
            let mut classes = jvmti.tagged(&[portion])?;
            classes.iter().for_each(|class| jvmti.set_tag(*class, 0));
            classes.retain(|class| takes(*class));
            self.change(&classes, batch, failed)?;
        }
        Ok(())
    }

    /// Retransforms the classes that wait and have no frame now. Returns the number of these.
    ///
    /// # Errors
    /// As of [`Self::retransform`].
    pub(crate) fn retry(self, failed: &mut dyn FnMut(jclass, Failed)) -> Result<usize, Failed> {
        let Self { java, jvmti, .. } = self;
        let _frame = java.frame(16);
        let classes = waiting(java, jvmti)?;
        self.change(&classes, BATCH, failed)?;
        Ok(classes.iter().filter(|class| jvmti.tag(**class) & WAITS == 0).count())
    }

    fn change(
        self,
        classes: &[jclass],
        batch: usize,
        failed: &mut dyn FnMut(jclass, Failed),
    ) -> Result<(), Failed> {
        for batch in classes.chunks(batch) {
            let free = self.without_frames(batch)?;
            // One class that fails fails its whole batch, so that is halved.
            halving(&free, &mut |part| self.jvmti.retransform(part), failed);
        }
        Ok(())
    }

    /// Returns the classes that have no frame on a stack; the others wait.
    fn without_frames(self, classes: &[jclass]) -> Result<Vec<jclass>, Failed> {
        let Self { java, jvmti, frames } = self;
        let _frame = java.frame(64);
        let (methods, threads) = jvmti.methods_on_stacks()?;
        java.reserve_above(methods.len() + threads);
        // A method whose class is gone has no frame any more.
        let in_use: Vec<jclass> =
            methods.into_iter().filter_map(|method| jvmti.class_of(method).ok()).collect();
        in_use.iter().for_each(|class| jvmti.set_tag(*class, jvmti.tag(*class) | IN_USE));
        let has_frame = |class| {
            jvmti.tag(class) & IN_USE != 0
                || !frames.is_empty() && jvmti.class_name(class).is_some_and(|name| frames.contains(&name))
        };
        let (waiting, free): (Vec<jclass>, _) = classes.iter().copied().partition(|class| has_frame(*class));
        in_use.iter().for_each(|class| jvmti.set_tag(*class, jvmti.tag(*class) & !IN_USE));
        waiting.iter().for_each(|class| jvmti.set_tag(*class, jvmti.tag(*class) | WAITS));
        free.iter().for_each(|class| jvmti.set_tag(*class, jvmti.tag(*class) & !WAITS));
        Ok(free)
    }
}

/// The classes that wait, as local references.
pub(crate) fn waiting(java: Java, jvmti: Environment) -> Result<Vec<jclass>, Failed> {
    let classes = jvmti.tagged(&[WAITS])?;
    java.reserve_above(classes.len());
    Ok(classes)
}

/// Has a class wait no longer; returns true if it did.
pub(crate) fn forget(jvmti: Environment, class: jclass) -> bool {
    let tag = jvmti.tag(class);
    let waits = tag & WAITS != 0;
    if waits {
        jvmti.set_tag(class, tag & !WAITS);
    }
    waits
}

fn halving<C: Copy, E>(
    classes: &[C],
    attempt: &mut dyn FnMut(&[C]) -> Result<(), E>,
    failed: &mut dyn FnMut(C, E),
) {
    match (attempt(classes), classes) {
        (Ok(()), _) | (Err(_), []) => {}
        (Err(error), [class]) => failed(*class, error),
        (Err(_), _) => {
            let (left, right) = classes.split_at(classes.len() / 2);
            halving(left, attempt, failed);
            halving(right, attempt, failed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_class_that_fails_leaves_the_others() {
        let all: Vec<u32> = (0..64).collect();
        let (mut done, mut refused) = (Vec::new(), Vec::new());
        let mut attempt = |part: &[u32]| {
            if part.iter().any(|class| [7, 8, 63].contains(class)) {
                return Err("no");
            }
            done.extend_from_slice(part);
            Ok(())
        };
        halving(&all, &mut attempt, &mut |class, _| refused.push(class));
        assert_eq!((done.len(), refused), (61, vec![7, 8, 63]));
    }
}
