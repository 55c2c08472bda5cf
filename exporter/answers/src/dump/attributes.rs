//! The lines below a thread's first one: `| sysTid=12 nice=0 cgrp=default sched=0/0 handle=0x7`.

use super::facts::bytes;
use super::limits;
use super::model::Thread;

/// Parses a line after its `|`.
pub(crate) fn parse(thread: &mut Thread, text: &str) {
    let text = text.trim();
    if let Some(mutexes) = text.strip_prefix("held mutexes=") {
        // `"mutator lock"(shared held) "thread list lock"`
        let mut rest = mutexes;
        while let Some((_, from)) = rest.split_once('"') {
            let Some((name, after)) = from.split_once('"') else { break };
            if thread.held_mutexes.len() < limits::REMARKS {
                let how = after.strip_prefix('(').and_then(|h| h.split_once(')')).map(|(how, _)| how);
                thread.held_mutexes.push(how.map_or(name.to_owned(), |how| format!("{name} ({how})")));
            }
            rest = after;
        }
        return;
    }
    let mut rest = text;
    while let Some((key, after)) = rest.split_once('=') {
        let key = key.trim();
        let (value, next) = match after.as_bytes().first() {
            // A group's name may contain quotes and spaces: it ends at the first quote followed by another key.
            Some(b'"') => {
                let before_key = |at: &usize| {
                    let next = after[at + 1..].split_ascii_whitespace().next();
                    *at > 0 && after[at + 1..].starts_with(' ') && next.is_some_and(|word| word.contains('='))
                };
                let end = memchr::memchr_iter(b'"', after.as_bytes()).find(before_key);
                match end.or_else(|| after.rfind('"').filter(|&at| at > 0)) {
                    Some(end) => (&after[1..end], &after[end + 1..]),
                    None => (&after[1..], ""),
                }
            }
            Some(b'(') => match after.split_once(')') {
                Some((value, next)) => (&value[1..], next),
                None => (&after[1..], ""),
            },
            _ => after.split_once(' ').unwrap_or((after, "")),
        };
        set(thread, key, value.trim());
        rest = next;
    }
}

/// Stores one value.
pub(crate) fn set(thread: &mut Thread, key: &str, value: &str) {
    match key {
        "group" => thread.group = Some(value.to_owned()),
        "sCount" => thread.suspend_count = value.parse().ok(),
        "dsCount" | "ucsCount" => thread.other_suspend_count = value.parse().ok(),
        "sysTid" => thread.sys_tid = value.parse().ok().or(thread.sys_tid),
        "nice" => thread.nice = value.parse().ok(),
        "cgrp" => thread.cgroup = Some(value.to_owned()),
        "sched" => thread.sched = Some(value.to_owned()),
        "state" => thread.native_state = value.chars().next(),
        "schedstat" => {
            let numbers = value.split_ascii_whitespace().map_while(|number| number.parse().ok());
            thread.schedstat = numbers.take(3).collect::<Vec<u64>>().try_into().ok().or(thread.schedstat);
        }
        "utm" => thread.utm = value.parse().ok(),
        "stm" => thread.stm = value.parse().ok(),
        "HZ" => thread.hz = value.parse().ok(),
        "core" => thread.core = value.parse().ok(),
        "stackSize" => thread.stack_size = bytes(value),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::model::ThreadForm;

    #[test]
    fn values_are_parsed_and_invalid_ones_ignored() {
        let mut t = Thread::new(None, ThreadForm::Headless);
        for line in [
            "group=\"my \"own\" group\" sCount=1 ucsCount=2 flags=1 obj=0x139c17b0 self=0x7222c42a10",
            "sysTid=3878 nice=-9 cgrp=docker/13 sched=0/0 handle=0x703470bcb0",
            "state=D schedstat=( 201156539 83209660 213 ) utm=17 stm=3 core=1 HZ=100",
            "stack=0x7034614000-0x7034616000 stackSize=991KB",
            "held mutexes= \"mutator lock\"(shared held) \"thread list lock\"",
        ] {
            parse(&mut t, line);
        }
        assert_eq!(t.group.as_deref(), Some("my \"own\" group"));
        assert_eq!((t.suspend_count, t.other_suspend_count), (Some(1), Some(2)));
        assert_eq!((t.sys_tid, t.nice, t.cgroup.as_deref()), (Some(3878), Some(-9), Some("docker/13")));
        assert_eq!((t.native_state, t.schedstat), (Some('D'), Some([201_156_539, 83_209_660, 213])));
        assert_eq!((t.utm, t.stm, t.core, t.hz), (Some(17), Some(3), Some(1), Some(100)));
        assert_eq!(t.stack_size, Some(991 << 10));
        assert_eq!(t.held_mutexes, ["mutator lock (shared held)", "thread list lock"]);
        // Dalvik's order, and garbage.
        for line in [
            "sysTid=7 nice=0 sched=0/0 cgrp=[fopen-error:2] handle=-1",
            "=",
            "\"=\"=(",
            "a=\"",
            "a=(",
            "schedstat=( 1 x",
            "sysTid=x",
        ] {
            parse(&mut t, line);
        }
        assert_eq!((t.sys_tid, t.cgroup.as_deref()), (Some(7), Some("[fopen-error:2]")));
    }
}
