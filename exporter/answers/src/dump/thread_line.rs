//! Parses the first line of a thread, in each format.

use super::jvm::first_line;
use super::model::{Thread, ThreadForm};

/// Parses `"main" daemon prio=5 tid=1 Native`, `"x" prio=10 (not attached)`, `"x" sysTid=12`, or Crashlytics'
/// `main (native): tid=1 systid=12`.
pub(crate) fn parse(line: &str) -> Option<Thread> {
    let text = line.trim_start();
    if text.starts_with('"') { first_line::quoted(text).or_else(|| quoted(text)) } else { crashlytics(line) }
}

fn quoted(text: &str) -> Option<Thread> {
    // A name may contain quotes: it ends at the last quote followed by a known word.
    let end = memchr::memrchr_iter(b'"', text.as_bytes()).find(|&at| {
        let rest = text[at + 1..].trim_start();
        at > 0 && ["prio=", "daemon ", "tid=", "sysTid="].iter().any(|word| rest.starts_with(word))
    })?;
    let mut thread = Thread::new(Some(text[1..end].to_owned()), ThreadForm::Art);
    let mut words = text[end + 1..].split_ascii_whitespace();
    let mut has_prio = false;
    while let Some(word) = words.next() {
        if let Some(prio) = word.strip_prefix("prio=") {
            thread.priority = prio.parse().ok();
            has_prio = true;
        } else if let Some(tid) = word.strip_prefix("tid=") {
            thread.tid = Some(tid.parse().ok()?);
            if let Some(state) = words.next() {
                thread.state = Some(state.to_owned());
                thread.starting = words.any(|word| word == "(still");
            }
            break;
        } else if let Some(tid) = word.strip_prefix("sysTid=") {
            thread.sys_tid = Some(tid.parse().ok()?);
            thread.form = ThreadForm::Native;
        } else if word == "daemon" {
            thread.daemon = true;
        } else if word == "(not" {
            thread.attached = false;
            break;
        } else if let Some((key, value)) = word.split_once('=') {
            super::attributes::set(&mut thread, key, value);
        }
    }
    if thread.form == ThreadForm::Native {
        thread.attached = false;
    } else if !has_prio {
        thread.form = ThreadForm::PlayConsole;
    }
    (thread.tid.is_some() || thread.sys_tid.is_some() || !thread.attached).then_some(thread)
}

fn crashlytics(line: &str) -> Option<Thread> {
    let (head, ids) = line.rsplit_once("): tid=")?;
    let (name, state) = head.rsplit_once(" (")?;
    let mut words = ids.split_ascii_whitespace();
    let tid = words.next()?.parse().ok()?;
    let mut thread = Thread::new(Some(name.to_owned()), ThreadForm::Crashlytics);
    thread.tid = Some(tid);
    thread.state = Some(state.to_owned()).filter(|state| !state.is_empty());
    thread.sys_tid =
        words.filter_map(|word| word.strip_prefix("systid=")).next_back().and_then(|id| id.parse().ok());
    Some(thread)
}

/// Parses `pid: 12, tid: 34, name: worker  >>> com.example <<<`, the first line of a tombstone's thread:
/// returns the thread, its pid and the process.
pub(crate) fn tombstone(line: &str) -> Option<(Option<Thread>, u32, String)> {
    let rest = line.strip_prefix("pid: ")?;
    let (head, process) = rest.split_once(">>> ")?;
    let process = process.split_once(" <<<").map_or(process, |(name, _)| name).to_owned();
    let mut parts = head.split(", ");
    let pid = parts.next()?.trim().parse().ok()?;
    let Some(tid) = parts.next().and_then(|part| part.trim().strip_prefix("tid: ")) else {
        return Some((None, pid, process));
    };
    let name = parts.next().and_then(|part| part.trim().strip_prefix("name: ")).map(|n| n.trim().to_owned());
    let mut thread = Thread::new(name, ThreadForm::Tombstone);
    thread.attached = false;
    thread.sys_tid = Some(tid.trim().parse().ok()?);
    Some((Some(thread), pid, process))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Seen = (String, ThreadForm, Option<u32>, Option<u32>, Option<String>, bool);

    fn seen(line: &str) -> Option<Seen> {
        let t = parse(line)?;
        Some((t.name?, t.form, t.tid, t.sys_tid, t.state, t.daemon))
    }

    #[test]
    fn first_lines_of_every_form() {
        use ThreadForm::{Art, Crashlytics, Native, PlayConsole};
        let s = |text: &str| Some(text.to_owned());
        for (line, expected) in [
            ("\"main\" prio=5 tid=1 Blocked", ("main", Art, Some(1), None, s("Blocked"), false)),
            (" \"a b\" daemon prio=9 tid=12 Native", ("a b", Art, Some(12), None, s("Native"), true)),
            (
                "\"we\"ird\" name\" daemon prio=5 tid=1 NATIVE",
                ("we\"ird\" name", Art, Some(1), None, s("NATIVE"), true),
            ),
            ("\"x\" prio=10 (not attached)", ("x", Art, None, None, None, false)),
            (
                "\"pool\" prio=5 tid=4 Native (still starting up)",
                ("pool", Art, Some(4), None, s("Native"), false),
            ),
            ("\"surfaceflinger\" sysTid=296", ("surfaceflinger", Native, None, Some(296), None, false)),
            (
                "\"AudioTrack\" sysTid=10 nice=-16 sched=0/0 cgrp=apps",
                ("AudioTrack", Native, None, Some(10), None, false),
            ),
            ("\"Binder:1_1\" tid=13 Native", ("Binder:1_1", PlayConsole, Some(13), None, s("Native"), false)),
            (
                "main (runnable): tid=1 systid=18961",
                ("main", Crashlytics, Some(1), Some(18961), s("runnable"), false),
            ),
            ("\"\" prio=5 tid=9 Waiting", ("", Art, Some(9), None, s("Waiting"), false)),
        ] {
            let (name, form, tid, sys_tid, state, daemon) = expected;
            assert_eq!(seen(line), Some((name.to_owned(), form, tid, sys_tid, state, daemon)), "{line:?}");
        }
        assert!(parse("\"x\" prio=5 tid=1 Native (still starting up)").unwrap().starting);
        assert_eq!(parse("\"x\" sysTid=1 nice=-16").unwrap().nice, Some(-16));
        for line in [
            "\"x\"",
            "\"x\" prio=5",
            "\"x\" tid=99999999999 Native",
            "x",
            "\"",
            "\"\"",
            "  (a): tid=x",
            "a \"b\" c",
        ] {
            assert_eq!(parse(line).map(|t| t.name), None, "{line:?}");
        }
    }

    #[test]
    fn tombstones_name_thread_and_process() {
        let (thread, pid, process) =
            tombstone("pid: 12, tid: 34, name: my worker  >>> com.example <<<").unwrap();
        let thread = thread.unwrap();
        assert_eq!((thread.name.as_deref(), thread.sys_tid, pid), (Some("my worker"), Some(34), 12));
        assert_eq!(process, "com.example");
        // xCrash's own header.
        let (thread, pid, process) = tombstone("pid: 21533  >>> xcrash.sample <<<").unwrap();
        assert_eq!((thread.is_none(), pid, process.as_str()), (true, 21533, "xcrash.sample"));
        assert!(tombstone("pid: x, tid: 1 >>> a <<<").is_none());
    }
}
