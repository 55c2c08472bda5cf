//! Restores a text that lost its line ends: a form field, a spreadsheet cell or a chat joined it into one line.
//!
//! The beginnings of a dump's lines are known; the line is split before each of them.

use crate::dump::limits::cut;

/// How lines of a thread, of a head or of a report begin.
const LINE_BEGINNINGS: &[&[&str]] = &[
    &["- waiting to lock ", "- waiting on ", "- waiting to re-lock ", "- sleeping on ", "- locked "],
    &["- parking to wait for ", "| group=", "| sysTid=", "| state=", "| stack=", "| held mutexes="],
    &["native: #", "native: (", "kernel: ", "(no managed stack frames)", "... repeated ", "----- pid "],
    &["----- end ", "----- Waiting Channels: pid ", "----- dumping pid: "],
    &["----- Output from /proc/pressure/", "----- End output from /proc/pressure/"],
    &["--- CriticalEventLog ---", "Cmd line: ", "Cmdline: ", "Build fingerprint: ", "Build type: ", "ABI: '"],
    &["Heap: ", "DALVIK THREADS", "RssHwmKb: ", "suspend all histogram:", "java.lang.Thread.State: "],
    &["Locked ownable synchronizers:", "JNI global ref", "Full thread dump "],
    &["Found one Java-level deadlock:"],
];
/// Number of such beginnings in one line from which it counts as several.
const MIN_BEGINNINGS: usize = 3;
/// Maximum length examined of a thread or method name, in bytes.
const MAX_NAME: usize = 512;

/// Whether a line of the text consists of several.
pub(in crate::dump) fn is_in(text: &str) -> bool {
    text.lines().any(|line| line.len() > 64 && starts(line).take(MIN_BEGINNINGS).count() == MIN_BEGINNINGS)
}

/// Splits the text into its lines.
pub(in crate::dump) fn split(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 32);
    for line in text.lines() {
        let mut from = 0;
        for at in starts(line) {
            if at > from {
                out.push_str(line[from..at].trim_end());
                out.push('\n');
                // An empty line ends a thread.
                if line[at..].starts_with('"') {
                    out.push('\n');
                }
            }
            from = at;
        }
        out.push_str(&line[from..]);
        out.push('\n');
    }
    out
}

/// Offsets within a line, after a space, at which lines start.
fn starts(line: &str) -> impl Iterator<Item = usize> {
    let bytes = line.as_bytes();
    let word = move |at: &usize| *at > 0 && matches!(bytes[at - 1], b' ' | b'\t') && begins(&line[*at..]);
    // `native: #00 pc` is a single line.
    let of_native = move |at: usize| bytes[at] == b'#' && line[..at].trim_end().ends_with("native:");
    // Every beginning is ASCII, so each is at a character boundary.
    memchr::memchr2_iter(b' ', b'\t', bytes)
        .map(|blank| blank + 1)
        .filter(move |at| *at < bytes.len() && line.is_char_boundary(*at) && word(at) && !of_native(*at))
}

fn begins(text: &str) -> bool {
    match text.as_bytes()[0] {
        b'a' => text.strip_prefix("at ").is_some_and(is_method),
        b'"' => is_first_line(text),
        b'#' => {
            let digits = text[1..].bytes().take_while(u8::is_ascii_digit).count();
            digits > 0 && text[1 + digits..].trim_start().starts_with("pc ")
        }
        _ => LINE_BEGINNINGS.iter().copied().flatten().any(|begin| text.starts_with(begin)),
    }
}

/// `com.example.Foo.bar(` or `com.example.Foo.bar (`.
fn is_method(text: &str) -> bool {
    let text = cut(text, MAX_NAME);
    let end = text.find(|c: char| c == '(' || c.is_whitespace()).unwrap_or(text.len());
    text[..end].trim_start_matches('.').contains('.') && text[end..].trim_start().starts_with('(')
}

/// `"main" prio=5`, `"x" daemon prio=5`, `"x" sysTid=1`, `"x" #1 `.
fn is_first_line(text: &str) -> bool {
    let Some((_, rest)) = cut(&text[1..], MAX_NAME).split_once("\" ") else { return false };
    let number = rest.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    number
        || ["prio=", "daemon prio=", "sysTid=", "tid=", "os_prio="].iter().any(|word| rest.starts_with(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINES: [&str; 13] = [
        "----- pid 7 at 2026-01-01 00:00:00 -----",
        "Cmd line: com.acme",
        "DALVIK THREADS (2):",
        "\"main\" prio=5 tid=1 Blocked",
        "| group=\"main\" sCount=1",
        "| sysTid=7 nice=0",
        "native: #00 pc 0001  /x/libc.so (syscall+28)",
        "at a.B.c (B.java:1)",
        "- waiting to lock <0x1> (a a.B) held by thread 9",
        "at a.B.<init>(B.java:2)",
        "\"a worker\" daemon prio=5 tid=9 Native",
        "#01 pc 0x2 libx.so",
        "----- end 7 -----",
    ];

    #[test]
    fn lines_come_back() {
        let joined = LINES.join(" ");
        assert!(is_in(&joined));
        let lines: Vec<String> =
            split(&joined).lines().filter(|l| !l.is_empty()).map(str::to_owned).collect();
        assert_eq!(lines, LINES);
        for line in LINES {
            assert!(!is_in(line) && split(line) == format!("{line}\n"), "{line}");
        }
    }

    #[test]
    fn lines_of_a_dump_stay_as_they_are() {
        for line in [
            "Subject: Input dispatching timed out (a.b/a.b.C (server) is not responding. Waited at least 5 s for x)",
            "| sysTid=3878 nice=-9 cgrp=docker sched=0/0 handle=0x703470bcb0",
            "\"at work - locked in | held\" prio=5 tid=1 Blocked",
            "- waiting to lock <0x1> (a java.lang.Class<a.b>) held by thread 9",
            "suspend all histogram:\tSum: 591us 99% C.I. 3us-174.160us Avg: 12.574us Max: 201us",
        ] {
            assert!(!is_in(line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_line_ends_is_added(text: String) {
            let without = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(without(&split(&text)), without(&text));
        }

        #[test]
        fn any_lines_come_back(picked in prop::collection::vec(0..LINES.len(), 2..20)) {
            let lines: Vec<&str> = picked.iter().map(|&at| LINES[at]).collect();
            let back = split(&lines.join("  "));
            prop_assert_eq!(back.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(), lines);
        }
    }
}
