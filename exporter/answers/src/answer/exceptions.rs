//! Exceptions made again and again: filling in their stack traces takes the time, the longer the deeper the stack is.
//!
//! For example, a loop over the fields of a file calls `Double.parseDouble` and catches the exception of each field that is no
//! number. One stack cannot say that this takes most of the time: any program makes exceptions. So a storm needs three samples,
//! and anything less is a hint beside another answer.

use std::collections::BTreeMap;

use super::activity::parts;
use super::own::is_own;
use crate::dump::SampledStack;

/// The method of the app's in which a stack makes an exception, if it does; `methods` are the stack's, innermost first.
pub fn maker<'s>(methods: impl Iterator<Item = &'s str>) -> Option<&'s str> {
    let mut is_made = false;
    for name in methods {
        let (class, method) = parts(name);
        let constructs = method == "<init>" || method.to_ascii_lowercase().ends_with("fillinstacktrace");
        is_made |= constructs && class == "java.lang.Throwable";
        // Before the exception is made there is only what makes it.
        if !is_made {
            return None;
        }
        if !constructs && is_own(class) {
            return Some(name);
        }
    }
    None
}

/// The method in which most samples make an exception, the number of these, and of all.
pub(super) fn most_made(samples: &[SampledStack]) -> Option<(String, u64, u64)> {
    let mut makers: BTreeMap<&str, u64> = BTreeMap::new();
    for sample in samples {
        if let Some(name) = maker(sample.methods.iter().map(String::as_str)) {
            let count = makers.entry(name).or_default();
            *count = count.saturating_add(sample.count);
        }
    }
    let all = samples.iter().fold(0_u64, |sum, sample| sum.saturating_add(sample.count));
    let (name, count) = makers.into_iter().max_by_key(|(_, count)| *count)?;
    Some((name.to_owned(), count, all))
}

/// True if a thread makes exceptions, or reads their stacks, in most of its samples.
#[must_use]
pub fn mostly_throws(samples: &[SampledStack]) -> bool {
    let throws = |of: &&SampledStack| of.methods.iter().any(|name| parts(name).0 == "java.lang.Throwable");
    let all: u64 = samples.iter().map(|sample| sample.count).sum();
    samples.iter().filter(throws).map(|sample| sample.count).sum::<u64>() * 2 > all
}

/// The method of the program's that goes on after each exception: around the maker, the innermost one that all samples share.
/// `None` if each of them makes an exception: then they do not tell the loop from what it calls.
pub(super) fn loop_around<'s>(samples: &'s [SampledStack], maker: &str) -> Option<&'s str> {
    let has = |sample: &SampledStack, name: &str| sample.methods.iter().any(|method| method == name);
    let makes = samples.iter().find(|sample| has(sample, maker))?;
    if samples.iter().all(|sample| has(sample, maker)) {
        return None;
    }
    let around = makes.methods.iter().skip_while(|method| *method != maker);
    let mut own = around.map(String::as_str).filter(|name| is_own(parts(name).0));
    own.find(|name| samples.iter().all(|sample| has(sample, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Answer, CauseId, stack};
    use crate::dump::Dump;

    #[test]
    fn makers_are_the_apps_methods_around_the_construction() {
        let fill =
            "java.lang.Throwable.fillInStackTrace java.lang.Throwable.<init> java.lang.Exception.<init>";
        let of = |methods: &str| maker(methods.split_whitespace()).map(str::to_owned);
        let number = format!(
            "{fill} java.lang.NumberFormatException.<init> java.lang.Integer.parseInt a.B.read a.B.main"
        );
        assert_eq!(of(&number).as_deref(), Some("a.B.read"));
        assert_eq!(
            of(&format!("{fill} a.NoField.<init> a.B.read")).as_deref(),
            Some("a.B.read"),
            "of its own"
        );
        let on_android =
            "java.lang.Throwable.nativeFillInStackTrace java.lang.Throwable.fillInStackTrace a.B.read";
        assert_eq!(of(on_android).as_deref(), Some("a.B.read"));
        assert_eq!(of("java.lang.Throwable.getMessage a.B.read"), None);
        assert_eq!(of("java.util.HashMap.put java.lang.Throwable.<init> a.B.read"), None);
        assert_eq!(of("a.B.read java.lang.Throwable.<init> a.B.main"), None);
    }

    /// The answer of a dump of the agent, with these lines about thread 1.
    fn answer(lines: &str) -> Answer {
        let text = format!(
            "Full thread dump by anrscope:\n{lines}\n\"main\" #1 prio=5 cpu=9.00ms tid=0x1 runnable\n   java.lang.Thread.State: RUNNABLE\n\
             \tat java.lang.Throwable.fillInStackTrace(Native Method)\n\tat java.lang.Throwable.<init>(Throwable.java:1)\n\
             \tat java.lang.Exception.<init>(Exception.java:1)\n\tat a.B.read(B.java:7)\n\tat a.B.main(B.java:3)\n\nJNI global refs: 0\n"
        );
        Answer::from(&Dump::read(std::path::Path::new("dump"), text.as_bytes()).unwrap())
    }

    #[test]
    fn exceptions_that_are_made_have_their_roots_in_the_maker() {
        let storm = answer("");
        assert_eq!(storm.place().as_deref(), Some("a.B.read (B.java:7)"));
        let of = |names: [&str; 4]| {
            let lines = names.map(|name| crate::answer::StackLine::new(name.to_owned(), None, None));
            stack::root(&lines).map(|site| site.name)
        };
        let throwable = "java.lang.Throwable.<init>";
        assert_eq!(of([throwable, "a.NoRow.<init>", "a.B.read", "a.B.main"]).as_deref(), Some("a.B.read"));
        assert_eq!(
            of(["a.NoRow.<init>", "a.B.read", throwable, "a.B.main"]).as_deref(),
            Some("a.NoRow.<init>")
        );
    }

    #[test]
    fn storms_need_three_samples_and_half_of_them() {
        let makes = "java.lang.Throwable.<init> < java.lang.Exception.<init> < a.B.read < a.B.main";
        let of = |count: u64, others: u64| {
            let all = count + others;
            let rest = match others {
                0 => String::new(),
                _ => format!("{others} of {all} samples of thread #1: a.B.main\n"),
            };
            let lines = format!(
                "Computing for 4.0 s in a.B.main: thread #1\n{count} of {all} samples of thread #1: {makes}\n{rest}"
            );
            answer(&lines)
        };
        let storm = of(3, 2);
        assert_eq!(storm.cause.id, CauseId::ExceptionStorm);
        assert_eq!(storm.finding(), "3 of 5 stacks make an exception in a.B.read");
        let place = "a.B.read (B.java:7), again and again in a.B.main (B.java:3)";
        assert_eq!(storm.place().as_deref(), Some(place), "what makes the exceptions, and the loop");
        assert_eq!(of(5, 0).place().as_deref(), Some("a.B.read (B.java:7)"), "no sample shows the loop");
        for (busy, hint) in [
            (of(2, 3), "2 of 5 stacks make an exception in a.B.read"),
            (
                of(1, 1),
                "1 of 2 stacks make an exception in a.B.read: too few to say whether exceptions take the time",
            ),
            (
                answer(""),
                "1 of 1 stacks make an exception in a.B.read: too few to say whether exceptions take the time",
            ),
        ] {
            assert_eq!(busy.cause.id, CauseId::BusyMethod);
            assert!(busy.cause.evidence.iter().any(|evidence| evidence.text == hint), "{:?}", busy.cause);
        }
    }
}
