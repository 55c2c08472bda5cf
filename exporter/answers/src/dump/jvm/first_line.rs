//! Parses the first line of a thread, as the JVM's tools write it:
//!
//! ```text
//! "main" #1 [3428] prio=5 os_prio=0 cpu=56.78ms elapsed=17.16s tid=0x00007ff69c02a8c0 nid=3428 waiting on
//! condition  [0x00007f]
//! "main" #1 prio=5 os_prio=0 tid=0x00007ff69c02a8c0 nid=0x1168 runnable [0x00007f]     (JDK 8)
//! "VM Thread" os_prio=0 cpu=0.85ms elapsed=1.46s tid=0x00007fc84c091c90 nid=0x117c runnable
//! "main@1" prio=5 tid=0x1 nid=NA waiting for monitor entry                             (Android Studio)
//! #29 "" virtual RUNNABLE 2026-11-23T09:45:13.512651099Z                               (Thread.dump_to_file)
//! ```
//! HotSpot: `runtime/thread.cpp`, `Thread::print_on`, and `javaThread.cpp`, `JavaThread::print_on`; JDK 8 has no `cpu=`
//! and `elapsed=` (they came with 11), up to 18 `nid` is hexadecimal, from 21 on the kernel's id is also in brackets.
//! Android Studio: IntelliJ's `ThreadDumpAction.buildThreadStates`. To a file: the JDK's `jdk.internal.vm.ThreadDumper`;
//! JDK 21 to 24 have neither state nor time.

use crate::dump::facts;
use crate::dump::model::{Thread, ThreadForm};

/// Parses HotSpot's or Android Studio's form.
pub(in crate::dump) fn quoted(text: &str) -> Option<Thread> {
    let text = text.trim().strip_prefix('"')?;
    // A name may contain quotes: it ends at the last quote followed by a known word.
    let end = memchr::memrchr_iter(b'"', text.as_bytes()).find(|&at| {
        let rest = &text[at + 1..];
        let word = rest.strip_prefix(' ').unwrap_or_default();
        let number = word.strip_prefix('#').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
        let known =
            ["daemon ", "prio=", "os_prio=", "tid=0x", "cpu="].iter().any(|known| word.starts_with(known));
        (number || known) && rest.contains(" tid=0x")
    })?;
    let mut thread = Thread::new(Some(text[..end].to_owned()), ThreadForm::HotSpot);
    // Threads that are not Java threads have no number and no Java priority.
    thread.attached = false;
    let mut rest = text[end + 1..].trim_start();
    let mut native = None;
    while let Some((word, after)) = rest.split_once(' ').or_else(|| (!rest.is_empty()).then_some((rest, "")))
    {
        if let Some(number) = word.strip_prefix('#') {
            thread.tid = number.parse().ok();
            thread.attached = true;
        } else if let Some((key, value)) = word.split_once('=') {
            match key {
                "prio" => {
                    thread.priority = value.parse().ok();
                    thread.attached = true;
                }
                "cpu" => thread.cpu_ns = facts::time(value),
                "elapsed" => thread.elapsed_ns = facts::time(value),
                "tid" => native = value.strip_prefix("0x").and_then(|tid| u32::from_str_radix(tid, 16).ok()),
                "nid" if value == "NA" => {
                    // The IDE writes the Java thread id where HotSpot has an address.
                    thread.form = ThreadForm::AndroidStudio;
                    thread.tid = native;
                }
                "nid" => thread.sys_tid = native_id(value),
                _ => {}
            }
        } else if word == "daemon" {
            thread.daemon = true;
        } else if word.starts_with('[') && word.ends_with(']') && thread.cpu_ns.is_none() {
            // The kernel's thread id again.
        } else {
            break;
        }
        rest = after.trim_start();
    }
    let status = rest.split(" [").next().unwrap_or_default().trim();
    thread.state = Some(status.to_owned()).filter(|status| !status.is_empty() && !status.starts_with('['));
    Some(thread)
}

fn native_id(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Parses the form of `Thread.dump_to_file`.
pub(in crate::dump) fn numbered(text: &str) -> Option<Thread> {
    let (number, rest) = text.trim().strip_prefix('#')?.split_once(" \"")?;
    let tid = number.parse().ok()?;
    let (name, rest) = rest.rsplit_once('"')?;
    let mut thread = Thread::new(Some(name.to_owned()), ThreadForm::HotSpotFile);
    thread.tid = Some(tid);
    for word in rest.split_ascii_whitespace() {
        match word {
            "virtual" => thread.is_virtual = true,
            _ if word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') => {
                thread.state = Some(word.to_owned())
            }
            _ if super::is_time(word) => {}
            _ => return None,
        }
    }
    Some(thread)
}

/// Parses `Mounted virtual thread #29`, which precedes the frames of that thread (JDK 24 and later).
pub(in crate::dump) fn mounted(text: &str) -> Option<Thread> {
    let number = text.strip_prefix("Mounted virtual thread #")?;
    let mut thread = Thread::new(Some(format!("virtual thread #{number}")), ThreadForm::HotSpot);
    thread.tid = Some(number.parse().ok()?);
    thread.is_virtual = true;
    Some(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_of_every_jdk() {
        type Seen<'a> = (&'a str, Option<u32>, Option<u32>, Option<&'a str>, bool, bool);
        let cases: [(&str, Seen<'_>); 9] = [
            (
                "\"main\" #3 [3428] prio=5 os_prio=0 cpu=56.78ms elapsed=17.16s tid=0x00007ff69c02a8c0 nid=3428 waiting for monitor entry  [0x00007ff6a2b1e000]",
                ("main", Some(3), Some(3428), Some("waiting for monitor entry"), true, false),
            ),
            (
                "\"main\" #1 prio=5 os_prio=0 tid=0x00007fc84c017ef0 nid=0x1168 runnable [0x00007fc852dfe000]",
                ("main", Some(1), Some(0x1168), Some("runnable"), true, false),
            ),
            (
                "\"Left \"quoted\"\" #13 daemon prio=5 os_prio=0 cpu=0.22ms elapsed=1.38s tid=0x00007fc84c0b8670 nid=0x119b in Object.wait()  [0x0]",
                ("Left \"quoted\"", Some(13), Some(0x119b), Some("in Object.wait()"), true, true),
            ),
            (
                "\"VM Thread\" os_prio=0 cpu=0.85ms elapsed=1.46s tid=0x00007fc84c091c90 nid=0x117c runnable  ",
                ("VM Thread", None, Some(0x117c), Some("runnable"), false, false),
            ),
            (
                "\"ForkJoinPool-1-worker-1\" #28 [3452] daemon prio=5 os_prio=0 cpu=8157.46ms elapsed=16.97s tid=0x00007ff69c0ceb00  [0x00007ff6a0ac9000]",
                ("ForkJoinPool-1-worker-1", Some(28), None, None, true, true),
            ),
            (
                "\"main@1\" prio=5 tid=0x1f nid=NA waiting for monitor entry",
                ("main@1", Some(31), None, Some("waiting for monitor entry"), true, false),
            ),
            ("\"x\" tid=0x1 nid=NA", ("x", Some(1), None, None, false, false)),
            (
                "\"old\" prio=10 tid=0x00007f3a9c008800 nid=0x5e03 sleeping",
                ("old", None, Some(0x5e03), Some("sleeping"), true, false),
            ),
            (
                "\"\" #7 prio=5 tid=0x1 nid=0x2 runnable",
                ("", Some(7), Some(2), Some("runnable"), true, false),
            ),
        ];
        for (line, expected) in cases {
            let t = quoted(line).unwrap();
            let seen =
                (t.name.as_deref().unwrap(), t.tid, t.sys_tid, t.state.as_deref(), t.attached, t.daemon);
            assert_eq!(seen, expected, "{line}");
        }
        let main = quoted(cases[0].0).unwrap();
        assert_eq!(
            (main.cpu_ns, main.elapsed_ns, main.priority),
            (Some(56_780_000), Some(17_160_000_000), Some(5))
        );
        for line in ["\"main\" prio=5 tid=1 Blocked", "\"x\"", "\"x\":", "x #1 tid=0x1", "\"x\" #y tid=0x1"] {
            assert_eq!(quoted(line), None, "{line}");
        }
    }

    #[test]
    fn first_lines_of_a_dump_to_a_file() {
        for (line, name, tid, state, is_virtual) in [
            ("#3 \"main\" BLOCKED 2026-11-23T09:45:13.496100276Z", "main", 3, Some("BLOCKED"), false),
            ("#29 \"\" virtual RUNNABLE 2026-11-23T09:45:13.512651099Z", "", 29, Some("RUNNABLE"), true),
            ("#30 \"a \"b\" c\" virtual", "a \"b\" c", 30, None, true),
            ("#1 \"main\"", "main", 1, None, false),
        ] {
            let t = numbered(line).unwrap();
            assert_eq!(
                (t.name.as_deref(), t.tid, t.state.as_deref()),
                (Some(name), Some(tid), state),
                "{line}"
            );
            assert_eq!(t.is_virtual, is_virtual, "{line}");
        }
        for line in [
            "#0 dalvik.system.PathClassLoader: [], parent #1",
            "#00 pc 1",
            "#1 \"x",
            "#1 \"a\" b",
            "#x \"a\"",
        ] {
            assert_eq!(numbered(line), None, "{line}");
        }
        let mounted = mounted("Mounted virtual thread #29").unwrap();
        assert_eq!((mounted.tid, mounted.is_virtual), (Some(29), true));
    }
}
