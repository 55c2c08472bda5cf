//! Methods that compute in a loop of their own while classes are changed.
//!
//! A frame keeps its version of the method, and HotSpot compiles only the newest one: after a class is changed, a loop that
//! runs in it is interpreted until its method returns, also when the class has been restored (measured for a loop of
//! arithmetic: 16 times slower). Most methods return soon, or spend their time in callees, which are compiled. One that
//! computes for long is recognised by samples of the stacks, and its class is left as it is.

use std::time::Duration;

use jni::sys::jclass;

use crate::environment::{Environment, MethodId, Running};
use crate::java::Java;

/// How many times the stacks are sampled, and the time between two.
const SAMPLES: usize = 4;
const INTERVAL: Duration = Duration::from_millis(10);

/// How many calls the loop may be in: short ones, which the compiler has inlined.
const SHORT_CALLS: usize = 2;

/// The methods in which threads compute, each with its class; empty if the stacks cannot be sampled.
pub(crate) fn found(jvmti: Environment, java: Java) -> Vec<(jclass, String)> {
    let Ok(first) = jvmti.running() else { return Vec::new() };
    let mut threads: Vec<(Running, Vec<Vec<MethodId>>)> =
        first.into_iter().map(|running| (running, Vec::new())).collect();
    for _ in 1..SAMPLES {
        std::thread::sleep(INTERVAL);
        let Ok(now) = jvmti.running() else { return Vec::new() };
        threads.retain_mut(|(thread, later)| {
            let same = now.iter().find(|other| java.is_same(other.thread, thread.thread));
            same.map(|same| later.push(same.methods.clone())).is_some()
        });
    }
    let method = |(thread, later): (Running, Vec<Vec<MethodId>>)| loop_in(&thread.methods, &later);
    let methods = threads.into_iter().filter_map(method);
    methods.filter_map(|method| Some((jvmti.class_of(method).ok()?, jvmti.name_of(method).ok()?))).collect()
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
