//! Which code of the app a thread runs, and whether the method in which another thread waits has handed it over.

use super::awaited::{MAX_SEARCHED, java};
use crate::answer::own::is_own;
use crate::dump::{JavaFrame, Thread};

fn name(frame: &JavaFrame) -> String {
    format!("{}.{}", frame.class, frame.method)
}

/// The call in which a thread is: the last one before the app's own code, else the app's innermost method, else the innermost
/// frame.
pub(super) fn place(thread: &Thread) -> Option<String> {
    let own = java(thread).take(MAX_SEARCHED).position(|frame| is_own(&frame.class));
    java(thread).nth(own.unwrap_or(0).saturating_sub(1)).map(name)
}

/// The task that a thread of a pool runs, if it is the code of a method in which `waiter` is: a lambda or a nested class, by the name
/// that the compiler has given it.
pub(super) fn task_of(thread: &Thread, waiter: &Thread) -> Option<String> {
    let task = java(thread).rev().take(MAX_SEARCHED).find(|frame| is_own(&frame.class))?;
    let calls = || java(waiter).take(MAX_SEARCHED).filter(|frame| is_own(&frame.class));
    calls().any(|call| is_code_of(task, call)).then(|| name(task))
}

/// `Images$loadAll$1.call` and `Images.lambda$loadAll$0` are code of `Images.loadAll`.
fn is_code_of(task: &JavaFrame, call: &JavaFrame) -> bool {
    let numbered = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    let lambda = || {
        let rest = task.method.strip_prefix("lambda$")?.strip_prefix(call.method.as_str())?;
        Some(task.class == call.class && rest.strip_prefix('$').is_some_and(numbered))
    };
    let nested = || {
        let rest = task.class.strip_prefix(call.class.as_str())?.strip_prefix('$')?;
        let rest = rest.strip_prefix(call.method.as_str())?;
        Some(rest.strip_prefix('$').is_some_and(|rest| rest.split('$').all(numbered)))
    };
    lambda().or_else(nested).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::java_frame;

    #[test]
    fn a_task_is_code_of_the_method_after_which_the_compiler_has_named_it() {
        for (task, call, is) in [
            ("com.a.Images.lambda$loadAll$0", "com.a.Images.loadAll", true),
            ("com.a.Images$loadAll$1.call", "com.a.Images.loadAll", true),
            ("com.a.Images$loadAll$1$2.invokeSuspend", "com.a.Images.loadAll", true),
            ("com.a.Images.lambda$loadAllOf$0", "com.a.Images.loadAll", false),
            ("com.a.Images$loadAllOf$1.call", "com.a.Images.loadAll", false),
            ("com.a.Images$1.call", "com.a.Images.loadAll", false),
            ("com.b.Images.lambda$loadAll$0", "com.a.Images.loadAll", false),
            ("com.a.Images.loadAll", "com.a.Images.loadAll", false),
        ] {
            let frame = |text: &str| java_frame(&format!("{text}(X.java:1)")).unwrap();
            assert_eq!(is_code_of(&frame(task), &frame(call)), is, "{task} {call}");
        }
    }
}
