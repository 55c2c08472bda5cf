//! Removes prefixes that other tools put before a dump's lines: quotes, logcat's columns, the source location
//! of ART's log.

/// A line without its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BareLine<'a> {
    pub(crate) text: &'a str,
    /// An empty line in quoted text does not separate anything.
    pub(crate) quoted: bool,
    /// The line is from a log: lines of other writers may be in between.
    pub(crate) logged: bool,
}

/// Removes the prefix. Within the event log (`in_log`) a lone `>` belongs to the log.
pub(crate) fn bare(line: &str, in_log: bool) -> BareLine<'_> {
    let mut text = line.strip_prefix('\u{feff}').unwrap_or(line);
    let mut quoted = false;
    while let Some(rest) = text.strip_prefix('>').filter(|rest| !(in_log && rest.is_empty())) {
        text = rest.strip_prefix(' ').unwrap_or(rest);
        quoted = true;
    }
    // A Markdown code fence, or a multi-line code span.
    text = text.trim_start_matches('`');
    let behind = behind_source_line(text).or_else(|| behind_log_columns(text));
    BareLine { text: behind.unwrap_or(text), quoted, logged: behind.is_some() }
}

/// The text after `art/runtime/thread_list.cc:170] `, which ART's log puts before each line.
fn behind_source_line(text: &str) -> Option<&str> {
    let at = memchr::memmem::find(text.as_bytes().get(..text.len().min(256))?, b".cc:")?;
    let rest = &text[at + 4..];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let rest = rest[digits..].strip_prefix(']').filter(|_| digits > 0)?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// The text after `03-26 11:23:23.613  2158  2168 I art     : ` or another of logcat's forms (AOSP
/// `system/logging/liblog/logprint.cpp`, `android_log_formatLogLine`; Android Studio has two more).
fn behind_log_columns(text: &str) -> Option<&str> {
    if let Some(rest) = behind_brief(text).or_else(|| behind_tag(text)) {
        return Some(rest);
    }
    let text = without_number(text.trim_start());
    let (date, after) = text.split_once(' ')?;
    if is_seconds(date) {
        return behind_colon(after);
    }
    if !is_date(date) {
        return None;
    }
    let (time, after) = after.trim_start().split_once(' ')?;
    if is_time(time) { behind_colon(after) } else { None }
}

/// The text after the columns: pid, tid, app and priority come in several orders; in all but one the tag's
/// colon ends them.
fn behind_colon(after: &str) -> Option<&str> {
    if let Some(rest) = behind_priority(after) {
        return Some(rest);
    }
    let colon = memchr::memmem::find(after.as_bytes(), b": ").map(|at| at + 2);
    let colon = colon.or_else(|| after.ends_with(':').then_some(after.len()))?;
    after.get(colon..)
}

/// The text after `1600-7001  ActivityManager  system_server  E  `, which Android Studio writes since 2022.
fn behind_priority(after: &str) -> Option<&str> {
    let (ids, mut rest) = after.trim_start().split_once("  ")?;
    let (pid, tid) = ids.split_once('-')?;
    if !is_number(pid.trim()) || !is_number(tid.trim()) {
        return None;
    }
    let tag = rest.trim_start().split("  ").next()?;
    for _ in 0..4 {
        let (column, behind) = rest.trim_start().split_once("  ")?;
        if is_priority(column.trim()) {
            // In some versions the columns end with the tag again.
            return Some(behind.strip_prefix(tag).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(behind));
        }
        rest = behind;
    }
    None
}

/// The text without the line number that grep prepends.
fn without_number(text: &str) -> &str {
    match text.split_once(':') {
        Some((number, rest))
            if is_number(number) && rest.contains(' ') && rest.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            rest
        }
        _ => text,
    }
}

/// The text after `E/ActivityManager: `.
fn behind_tag(text: &str) -> Option<&str> {
    let (head, rest) = text.split_once(": ").or_else(|| Some((text.strip_suffix(':')?, "")))?;
    let (priority, tag) = head.split_once('/')?;
    let is_tag = is_priority(priority) && !tag.is_empty() && !tag.trim_end().contains(char::is_whitespace);
    is_tag.then_some(rest)
}

fn is_priority(text: &str) -> bool {
    matches!(text, "V" | "D" | "I" | "W" | "E" | "F" | "A")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit())
}

/// `1767261605.600`, the time in logcat's epoch and monotonic forms.
fn is_seconds(text: &str) -> bool {
    text.split_once('.')
        .is_some_and(|(seconds, part)| is_number(seconds) && part.len() >= 3 && is_number(part))
}

/// The text after `I/art     ( 2158): `.
fn behind_brief(text: &str) -> Option<&str> {
    let (priority, _) = text.split_once('/')?;
    let (head, rest) = text.split_once("): ").or_else(|| Some((text.strip_suffix("):")?, "")))?;
    let (_, pid) = head.rsplit_once('(')?;
    (is_priority(priority) && pid.len() <= 10 && is_number(pid.trim())).then_some(rest)
}

/// `03-26` or `2026-03-26`.
fn is_date(text: &str) -> bool {
    matches!(text.len(), 5 | 10)
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
        && text.contains('-')
}

/// `11:23:23.613`.
fn is_time(text: &str) -> bool {
    text.len() >= 8
        && text.bytes().filter(|&b| b == b':').count() == 2
        && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_before_is_taken_off() {
        for (line, text) in [
            ("  at a.b(C.java:1)", "  at a.b(C.java:1)"),
            ("> >   at a.b(C.java:1)", "  at a.b(C.java:1)"),
            (">", ""),
            ("`\"main\" prio=5", "\"main\" prio=5"),
            ("           runtime.cc:669]   | group=\"\"", "  | group=\"\""),
            (
                "03-26 11:23:23.613 21-22/a.b A/art: art/runtime/thread_list.cc:170]   at a.b(C)",
                "  at a.b(C)",
            ),
            ("03-26 11:23:23.613   21   22 I art     :   at a.b(C.java:1)", "  at a.b(C.java:1)"),
            ("2026-03-26 11:23:23.613   21-22  art  a.b  I  art:   | state=S", "  | state=S"),
            ("I/art     ( 2158):   at a.b(C.java:1)", "  at a.b(C.java:1)"),
            ("I/dalvikvm( 2158):", ""),
            ("1,2-3 not a log", "1,2-3 not a log"),
            ("I/O is slow (very): yes", "I/O is slow (very): yes"),
        ] {
            assert_eq!(bare(line, false).text, text, "{line:?}");
        }
        assert_eq!((bare(">", true).text, bare("> >", true).text, bare("> x", true).text), (">", ">", "x"));
        assert!(bare("> x", false).quoted && !bare("x", false).quoted);
        assert!(bare("a.cc:1] x", false).logged && !bare("x", false).logged);
    }
}
