//! Methods that compute in a loop of their own while classes are changed.
//!
//! A frame keeps its version of the method, and HotSpot compiles only the newest one: after a class is changed, a loop that
//! runs in it is interpreted until its method returns, also when the class has been restored (measured for a loop of
//! arithmetic: 16 times slower). Most methods return soon, or spend their time in callees, which are compiled. One that
//! computes for long is recognised by samples of the stacks, and its class is left as it is. The samples name methods and not
//! calls, so a recursion that is as deep each time looks like a loop; the notice claims neither.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jni::sys::{jclass, jlong};

use crate::environment::{Environment, Failed, MethodId};
use crate::java::Java;

/// How many times the stacks are sampled, and the time between two.
const SAMPLES: usize = 4;
const INTERVAL: Duration = Duration::from_millis(10);

/// How many calls the loop may be in: short ones, which the compiler has inlined.
const SHORT_CALLS: usize = 2;

/// The methods in which threads compute, each with its class as a local reference; empty if the stacks cannot be sampled.
pub(crate) fn found(jvmti: Environment, java: Java) -> Vec<(jclass, String)> {
    let Ok(first) = sample(jvmti, java) else { return Vec::new() };
    let mut threads: HashMap<jlong, (Stack, Vec<Stack>)> =
        first.into_iter().map(|(thread, stack)| (thread, (stack, Vec::new()))).collect();
    for _ in 1..SAMPLES {
        std::thread::sleep(INTERVAL);
        let Ok(mut now) = sample(jvmti, java) else { return Vec::new() };
        threads.retain(|thread, (_, later)| now.remove(thread).map(|stack| later.push(stack)).is_some());
    }
    let methods: HashSet<MethodId> =
        threads.into_values().filter_map(|(first, later)| loop_in(&first, &later)).collect();
    java.reserve(i32::try_from(methods.len()).unwrap_or(i32::MAX));
    let method = |method| Some((jvmti.class_of(method).ok()?, jvmti.name_of(method).ok()?));
    methods.into_iter().filter_map(method).collect()
}

/// The calls that a thread is in, outermost first.
type Stack = Vec<MethodId>;

/// The stacks of the threads that run Java code, by the number of the thread, which is the tag of its object. It is negative,
/// so that it is no class's tag.
fn sample(jvmti: Environment, java: Java) -> Result<HashMap<jlong, Stack>, Failed> {
    static LAST_SAMPLE: AtomicI64 = AtomicI64::new(0);
    let _frame = java.frame(16);
    let number = |thread| match jvmti.tag(thread) {
        0 => {
            let number = LAST_SAMPLE.fetch_sub(1, Ordering::Relaxed) - 1;
            jvmti.set_tag(thread, number);
            number
        }
        number => number,
    };
    Ok(jvmti.running()?.into_iter().map(|running| (number(running.thread), running.methods)).collect())
}

/// The innermost call that all stacks of a thread have in common, if all are in it or in short calls of it. A stack has the
/// outermost call first.
fn loop_in<M: Copy + PartialEq>(first: &[M], later: &[Vec<M>]) -> Option<M> {
    let common = later.iter().fold(first.len(), |common, stack| {
        let same = first.iter().zip(stack).take_while(|(one, other)| one == other).count();
        common.min(same)
    });
    let deepest = later.iter().map(Vec::len).chain([first.len()]).max()?;
    if deepest > common + SHORT_CALLS {
        return None;
    }
    first.get(common.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_where_all_samples_are() {
        let found = |first: &str, later: &[&str]| {
            let stack = |text: &str| text.chars().collect::<Vec<_>>();
            loop_in(&stack(first), &later.iter().map(|text| stack(text)).collect::<Vec<_>>())
        };
        assert_eq!(found("abc", &["abc", "abc"]), Some('c'));
        assert_eq!(found("abc", &["abcd", "abcde", "abcf"]), Some('c'), "short calls");
        assert_eq!(found("abcdefg", &["abchi"]), None, "deep ones");
        assert_eq!(found("abc", &["xyz"]), None);
        assert_eq!(found("", &[""]), None);
    }
}
