//! Which texts that an app creates at run time are recorded.
//!
//! Names of classes and methods belong to the program, and a recording is useless without them. Other texts
//! may name a person: what an app sets at run time (marks, counters, names of scenes and threads, callback
//! descriptions, refused options), and what the system quotes of it in a dump or in an ANR's subject. With
//! the option `redact` such a text is recorded as a number. Equal texts of one process have the same
//! number. The text cannot be found by trying, because the key belongs to the process and is stored
//! nowhere.

use crate::recorder;
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use trace_format::TextId;

use crate::monitors::config::options::{self, Setting};

static KEY: OnceLock<RandomState> = OnceLock::new();

/// The text, or with `redact` its number.
pub(crate) fn own(text: String) -> String {
    if options::is_enabled(Setting::Redact) { number(&text) } else { text }
}

/// The id in the recording of the text, or with `redact` of its number.
pub(crate) fn text(text: &str) -> TextId {
    if options::is_enabled(Setting::Redact) { recorder::text(&number(text)) } else { recorder::text(text) }
}

/// Threads that the system names.
const SYSTEMS: [&str; 7] = [
    "main",
    "Signal Catcher",
    "HeapTaskDaemon",
    "ReferenceQueueDaemon",
    "FinalizerDaemon",
    "FinalizerWatchdogDaemon",
    "RenderThread",
];

/// A thread's name, or with `redact` its number; names that the system gives are kept.
pub(crate) fn thread(name: &str) -> Cow<'_, str> {
    if options::is_enabled(Setting::Redact) { Cow::Owned(name_of(name)) } else { Cow::Borrowed(name) }
}

fn name_of(name: &str) -> String {
    if name.is_empty() || SYSTEMS.contains(&name) { name.to_owned() } else { number(name) }
}

/// The system's own words in the subject of an ANR; the rest names windows, intents and what the app
/// supplied. `exporter`'s `dump/subject.rs` identifies the kinds by these words.
const SUBJECTS: [&str; 12] = [
    "does not have a focused window",
    "GPU hang",
    "App requested: ",
    "Input dispatching timed out",
    "startForegroundService() did not then call",
    "A foreground service of ",
    "executing service ",
    "Broadcast of ",
    "ContentProvider not responding",
    "No response to onStartJob",
    "No response to onStopJob",
    "failed to complete startup",
];

/// A subject or a description of an exit. With `redact`: the system's own words in it, how long it waited,
/// and the number of the whole.
pub(crate) fn subject(text: &str) -> Cow<'_, str> {
    if options::is_enabled(Setting::Redact) { Cow::Owned(subject_of(text)) } else { Cow::Borrowed(text) }
}

fn subject_of(text: &str) -> String {
    if text.parse::<i64>().is_ok() {
        return text.to_owned();
    }
    let mut kept = String::new();
    for words in SUBJECTS {
        if text.contains(words) {
            kept.push_str(words);
            kept.push(' ');
        }
    }
    if let Some((_, behind)) = text.split_once("aited ") {
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        kept.push_str("Waited ");
        kept.push_str(&behind[..digits]);
        kept.push_str("ms ");
    }
    kept.push_str(&number(text));
    kept
}

/// A thread dump. With `redact`, names of threads, other texts in quotation marks and the subject are
/// numbers.
pub(crate) fn dump(text: &[u8]) -> Cow<'_, [u8]> {
    if options::is_enabled(Setting::Redact) {
        Cow::Owned(dump_of(&String::from_utf8_lossy(text)).into_bytes())
    } else {
        Cow::Borrowed(text)
    }
}

fn dump_of(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // The rest of a thread name that contains line breaks.
    let mut open = false;
    for line in text.split('\n') {
        match (line.find('"'), line.rfind('"')) {
            (_, None) if open => continue,
            (_, Some(last)) if open => {
                open = false;
                out.push_str(&line[last..]);
            }
            (Some(first), Some(last)) if first < last => {
                out.push_str(&line[..=first]);
                out.push_str(&name_of(&line[first + 1..last]));
                out.push_str(&line[last..]);
            }
            (Some(first), _) => {
                open = first == 0;
                out.push_str(if open { "\"" } else { "" });
                out.push_str(&number(line));
                if open {
                    continue;
                }
            }
            (None, _) => match line.strip_prefix("Subject: ") {
                Some(text) => {
                    out.push_str("Subject: ");
                    out.push_str(&subject_of(text));
                }
                None => out.push_str(line),
            },
        }
        out.push('\n');
    }
    // Splitting at line breaks yields one more part than there are lines.
    out.pop();
    out
}

fn number(text: &str) -> String {
    let hash = KEY.get_or_init(RandomState::new).hash_one(text) as u32;
    let digit = |place: u32| char::from_digit(hash >> (28 - 4 * place) & 15, 16).unwrap_or('0');
    std::iter::once('#').chain((0..8).map(digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_equal_numbers_and_others_do_not() {
        let one = number("alice@example.com");
        assert_eq!(one, number("alice@example.com"));
        assert_ne!(one, number("bob@example.com"));
        assert!(one.len() == 9 && one.starts_with('#') && !one.contains("alice"), "{one}");
    }

    #[test]
    fn a_dump_keeps_the_systems_words_and_no_name_of_the_app() {
        let text = "Subject: Input dispatching timed out (a.b/alice (server). Waited 5002ms for MotionEvent)\n\
                    \"main\" prio=5 tid=1 Blocked\n  | group=\"alice\" sCount=1\n  \
                    - waiting to lock <0x1> (a a.B) held by thread 9\n\n\"al \"ice\" alice\" daemon prio=5 tid=9 Native\n\
                    \"two\nalice\nlines\" prio=5 tid=8 Native\n  at a.B.c(B.java:1)\nalice\" alone\n";
        let redacted = dump_of(text);
        assert!(!redacted.contains("alice") && !redacted.contains("ice\""), "{redacted}");
        let lines: Vec<_> = redacted.lines().collect();
        assert!(lines[0].starts_with("Subject: Input dispatching timed out Waited 5002ms #"), "{redacted}");
        assert_eq!(lines[1], "\"main\" prio=5 tid=1 Blocked");
        assert!(lines[2].starts_with("  | group=\"#") && lines[2].ends_with("\" sCount=1"), "{redacted}");
        assert_eq!(lines[3], "  - waiting to lock <0x1> (a a.B) held by thread 9");
        assert!(
            lines[5].starts_with("\"#") && lines[5].ends_with("\" daemon prio=5 tid=9 Native"),
            "{redacted}"
        );
        assert!(lines[6].starts_with("\"#") && lines[6].ends_with("\" prio=5 tid=8 Native"), "{redacted}");
        assert_eq!((lines[7], lines.len()), ("  at a.B.c(B.java:1)", 9), "{redacted}");
        assert!(redacted.ends_with('\n'));
        let description = subject_of("App requested: alice");
        assert!(description.starts_with("App requested:  #"), "{description}");
        assert_eq!((subject_of("-5000"), name_of("main")), ("-5000".to_owned(), "main".to_owned()));
        assert_eq!((name_of("alice"), name_of("")), (number("alice"), String::new()));
    }
}
