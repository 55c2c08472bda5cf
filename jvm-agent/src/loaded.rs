//! Classes that are loaded already: which of them can be changed, and in which portions.

use jni::sys::jclass;

use crate::environment::{Environment, Failed};
use crate::jvmti::class_status;

/// How many classes are changed in one stop of the program.
///
/// A stop grows with the number of classes, and each stop has a cost of its own: for 564 classes of Groovy, one call stopped
/// the program for 130 ms, and nine calls of 64 classes for 84 ms at most, in less time altogether.
const BATCH: usize = 64;

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

/// Retransforms classes in portions. One class that fails fails its whole portion, so that is halved. Calls `failed` for
/// each class that the JVM refuses.
pub(crate) fn retransform(jvmti: Environment, classes: &[jclass], failed: &mut dyn FnMut(jclass, Failed)) {
    for batch in classes.chunks(BATCH) {
        halving(batch, &mut |part| jvmti.retransform(part), failed);
    }
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
