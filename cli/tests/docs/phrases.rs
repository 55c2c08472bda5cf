//! The project's language: no tracked text has a phrase that it has replaced (`cargo test -p anrscope phrases`).
//!
//! A phrase is found across line breaks of a comment, in any case, and in names: `a_folder_of_maps` and `OwnFolder` both
//! have "folder".

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use crate::docs::repository;

/// Phrases that are refused, with the words to use instead. In a phrase a blank also stands for `_` or a capital letter, as
/// in names, and a hyphen for `-` or one of these.
/// `…` at the end: only where no other word follows ("of main's." is refused, "of main's stack" is not).
const REFUSED: &[(&[&str], &str)] = &[
    (&["dead-lock", "dead-locks", "circle", "circles"], "deadlock, cycle"),
    (&["folder", "folders"], "directory"),
    (&["processor", "processors"], "CPU, CPU time"),
    (&["gave the processor up", "gave it up", "gives it up"], "voluntary context switch"),
    (&["asleep"], "sleeping"),
    (&["is none", "are none", "was none", "were none", "be none"], "\"has no …\", \"does not …\""),
    (&["can be had", "be had", "to be had"], "\"has no …\", \"is not available\""),
    (&["made anew", "make anew", "makes anew"], "\"rebuilt\", \"a full rebuild\""),
    (&["of no use"], "the error and its cure: \"X is invalid: …\""),
    (&["who wants", "whoever"], "address the reader: \"To …\", \"if you …\""),
    (&["whatever"], "\"any\", \"all\", or name it"),
    (&["nobody", "somebody", "everybody"], "say who: the user, the app, no thread, each reader"),
    (&["told"], "report, record (into the recording), log"),
    (&["tells of", "tell of", "nothing to tell", "cannot tell"], "report, record, log"),
    (
        &["looks whether", "first look", "second look", "look soon", "from look to"],
        "check, poll, sample, scan",
    ),
    (&["is stuck", "was stuck", "are stuck", "while stuck"], "stalled, a stall"),
    (&["comes late", "that are late"], "names of when: later, delayed, overdue"),
    (&["into its grave"], "\"signals sent to it are lost\""),
    (&["the desk"], "host (adb's word)"),
    (&["stand-in", "stand-ins", "played"], "fake (working test double), simulated device"),
    (&["of ours", "of theirs", "of main's…"], "a plain possessive: our, the project's, main's"),
    (
        &["handed on", "hand on", "hands on", "handing on", "handed to nobody"],
        "forward; re-send for the rescue",
    ),
    (&["owed", "debt", "debts"], "resend, unforwarded"),
    (&["has had its say", "had its say"], "\"Manifest options are applied.\""),
    (&["move into place"], "commit"),
    (&["looked at", "looks at"], "sample, poll, check; read"),
    (&["older handler", "older action"], "previous handler"),
    (&["ground"], "foreground state, AppState"),
    (
        &["the pen", "lend", "lends", "lent", "take back", "takes back", "hand back"],
        "grant, reclaim, release",
    ),
    (&["door", "doors"], "gate"),
    (&["homes"], "storage, migrate"),
    (&["court"], "JudgeState, PendingSignal"),
    (&["shelf"], "RecordingList"),
    (&["patience"], "Timeouts"),
    (&["fruitless"], "MAX_STALLED_RETRIES"),
    (&["begin of", "the begin…", "its begin…"], "start; \"begin\" is a verb or part of an event's name"),
    (&["lies"], "is"),
];

/// Constants whose names lack a noun.
const BARE_CONSTANTS: &[&str] = &["MOST", "KEPT", "LAST", "BEFORE", "SHORT"];

/// Where a phrase may stand: the phrase, the beginning of the paths, a piece of the line (empty: any), and why.
const EXCEPTIONS: &[(&str, &str, &str, &str)] = &[
    ("processor", "", "trace_processor", "Perfetto's name"),
    ("is none", "", "is_none", "a method of Option"),
    ("is none", "scripts/", "is None", "Python's value"),
    ("is none", "cli/packages/python/", "is None", "Python's value"),
    ("is none", "android/bench/", "is None", "Python's value"),
    ("folders", "tests/suites/src/bin/busy_hangs/loops/", "", "a class's name in the labels"),
    ("processor", "", "processor while late", "the name of a track in traces"),
    ("processor", "", "waiting for a processor", "a word in reports' JSON and in traces"),
    ("processor", "", "\"processor\"", "a key of reports' JSON"),
    ("circle", "tests/suites/src/bin/busy_hangs/loops/", "", "a shape"),
    ("circle", "", "lock-in-a-circle", "a label of test data"),
    ("processor", "exporter/tests/data/", "no-processor-to-be-had", "a label of test data"),
    ("somebody", "", "somebody-else-while-main", "a label of test data"),
    ("asleep", "exporter/tests/data/", "open-but-asleep", "a label of test data"),
    ("somebody", "", "somebody-elses", "a recorded word, and one in reports' JSON"),
    ("somebody", "", "somebody else's ANR", "a verdict's name in traces"),
    ("asleep", "exporter/", "\"asleep\"", "a word in reports' JSON and in traces"),
    ("asleep", "exporter/src/report/html/", "'asleep'", "a word in reports' JSON"),
    ("processor", "exporter/src/report/html/", "hang.processor", "a key of reports' JSON"),
    ("processor", "", "WaitingForTaskProcessor", "a thread state of ART's"),
    ("of main's…", "exporter/src/report/", "", "a length follows"),
    ("older handler", "exporter/src/model/labels.rs", "", "an argument's value in traces"),
    ("looked at", "exporter/src/model/labels.rs", "looked_at_ms", "an argument's name in traces"),
    ("looked at", "exporter/src/model/incident_track.rs", "main looked at", "an event's name in traces"),
    ("looked at", "exporter/src/model/sink.rs", "it is looked at while", "a track's description in traces"),
    ("begin of", "exporter/src/model/sink.rs", "ANRs from the begin of", "a track's description in traces"),
    ("told", "exporter/src/model/sink.rs", "are told together", "a track's description in traces"),
    ("told", "exporter/tests/", "lock-told-by-the-dump-alone", "a label of test data"),
    ("told", "exporter/tests/", "binder-told-by-samples", "a label of test data"),
    ("patience", "trace-format/src/reader/index.rs", "patience sorting", "the algorithm's name"),
];

/// Files that are no text of the project's: foreign data, lists of names, and the pages that name the phrases.
const NOT_READ: &[&str] = &[
    "cli/tests/docs/phrases.rs",
    "cli/tests/docs/words.txt",
    "docs/glossary.md",
    "exporter/tests/data/answers/",
    "exporter/tests/data/deadlock/",
    "exporter/tests/data/dump/",
    "instrumenter/src/cost/known.txt",
    "instrumenter/src/waits/catalogue.txt",
];

/// Extensions of the files that are read, beside scripts without one.
const TEXTS: &[&str] = &[
    "c", "gradle", "h", "html", "java", "js", "kt", "kts", "md", "mjs", "pro", "proto", "py", "rs", "sh",
    "sql", "toml", "txt", "xml",
];

/// A word of a file: in lower case, with its line and what separates it from the word before.
#[derive(Debug)]
struct Word {
    text: String,
    line: usize,
    gap: Gap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// Blanks, line breaks and the marks of a comment that goes on.
    Blank,
    Hyphen,
    Underscore,
    /// A capital letter inside of a name.
    Capital,
    /// Anything else.
    Sign,
}

impl Gap {
    /// What the characters between two words of a text are.
    fn of(between: &str) -> Self {
        match between {
            "-" => return Self::Hyphen,
            "_" => return Self::Underscore,
            _ => {}
        }
        let mut lines = between.split('\n');
        // A text of Rust's that goes on in the next line ends with a backslash.
        let first = lines.next().unwrap_or_default().trim().trim_matches('\\');
        let rest_is_blank = lines.all(|line| line.trim().chars().all(|c| "/!*#-<>".contains(c)));
        if first.is_empty() && rest_is_blank { Self::Blank } else { Self::Sign }
    }

    /// Whether it may stand for `separator` of a phrase.
    fn stands_for(self, separator: char) -> bool {
        match separator {
            '-' => matches!(self, Self::Hyphen | Self::Underscore | Self::Capital),
            _ => matches!(self, Self::Blank | Self::Underscore | Self::Capital),
        }
    }
}

/// The words of a text. A name falls apart at underscores and inner capitals; `'s` belongs to its word.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut line, mut at, mut end_of_last) = (1, 0, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphanumeric() {
            line += usize::from(bytes[at] == b'\n');
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < bytes.len() {
            let inner_capital = bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase();
            let possessive =
                bytes[at..].starts_with(b"'s") && !bytes.get(at + 2).is_some_and(u8::is_ascii_alphanumeric);
            match bytes[at] {
                byte if byte.is_ascii_alphanumeric() && !inner_capital => at += 1,
                _ if possessive => {
                    at += 2;
                    break;
                }
                _ => break,
            }
        }
        let gap = if start == end_of_last { Gap::Capital } else { Gap::of(&text[end_of_last..start]) };
        words.push(Word { text: text[start..at].to_ascii_lowercase(), line, gap });
        end_of_last = at;
    }
    words
}

/// A phrase, taken apart.
struct Phrase {
    /// Its words, each with the separator before it.
    words: Vec<(char, String)>,
    /// Whether no other word may follow.
    is_last: bool,
}

impl Phrase {
    fn new(text: &str) -> Self {
        let plain = text.trim_end_matches('…');
        let mut words = vec![(' ', String::new())];
        for c in plain.chars() {
            match c {
                ' ' | '-' => words.push((c, String::new())),
                _ => words.last_mut().expect("it begins with one").1.push(c),
            }
        }
        Self { words, is_last: plain != text }
    }

    /// Whether `words` begin with it.
    fn begins(&self, words: &[Word]) -> bool {
        words.len() >= self.words.len()
            && self.words.iter().zip(words).enumerate().all(|(n, ((separator, text), word))| {
                word.text == *text && (n == 0 || word.gap.stands_for(*separator))
            })
            && !(self.is_last && words.get(self.words.len()).is_some_and(|next| next.gap == Gap::Blank))
    }
}

/// A phrase that is refused, where it was found.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    line: usize,
    phrase: &'static str,
    instead: &'static str,
}

/// What is refused in the file at `path`. `used` counts how often each exception was needed.
fn findings(path: &str, text: &str, used: &mut [usize]) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let found_words = words(text);
    let mut by_first: BTreeMap<String, Vec<(Phrase, &'static str, &'static str)>> = BTreeMap::new();
    for (phrases, instead) in REFUSED {
        for text in *phrases {
            let phrase = Phrase::new(text);
            by_first.entry(phrase.words[0].1.clone()).or_default().push((phrase, text, instead));
        }
    }
    let mut found = Vec::new();
    for (n, word) in found_words.iter().enumerate() {
        for (phrase, text, instead) in by_first.get(&word.text).into_iter().flatten() {
            if !phrase.begins(&found_words[n..]) {
                continue;
            }
            let excused = EXCEPTIONS.iter().position(|(excused, start, piece, _)| {
                excused == text && path.starts_with(start) && lines[word.line - 1].contains(piece)
            });
            match excused {
                Some(exception) => used[exception] += 1,
                None => found.push(Finding { line: word.line, phrase: text, instead }),
            }
        }
    }
    for (number, line) in lines.iter().enumerate() {
        for name in BARE_CONSTANTS {
            if line.contains(&format!("const {name}:")) || line.contains(&format!("static {name}:")) {
                found.push(Finding {
                    line: number + 1,
                    phrase: name,
                    instead: "a name with a noun: MAX_SECTIONS",
                });
            }
        }
        let numbered =
            line.split("fn item_").nth(1).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if numbered {
            let instead = "the behaviour in plain words";
            found.push(Finding { line: number + 1, phrase: "item_NN_", instead });
        }
    }
    found.sort_by_key(|finding| finding.line);
    found
}

/// The tracked files that hold text of the project's, with their texts.
fn tracked() -> Vec<(String, String)> {
    let listed = Command::new("git").arg("-C").arg(repository()).args(["ls-files", "-z"]).output().unwrap();
    assert!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let wanted = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_text = name.rsplit_once('.').map_or_else(
            || path.starts_with("scripts/") || path.starts_with(".ci/"),
            |(_, extension)| TEXTS.contains(&extension) || path.starts_with("scripts/"),
        );
        is_text && !NOT_READ.iter().any(|start| path.starts_with(start))
    };
    let read = |path: &str| {
        let text = std::fs::read_to_string(repository().join(path)).ok()?;
        Some((path.to_owned(), text))
    };
    listed.split('\0').filter(|path| !path.is_empty()).filter(wanted).filter_map(read).collect()
}

/// How often each phrase is in each top directory.
fn summary(found: &BTreeMap<(&'static str, String), usize>) -> String {
    let mut by_phrase: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for ((phrase, top), count) in found {
        let (sum, tops) = by_phrase.entry(phrase).or_default();
        *sum += count;
        write!(tops, " {top} {count}").unwrap();
    }
    by_phrase.iter().map(|(phrase, (sum, tops))| format!("{sum:>6} {phrase:<22}{tops}\n")).collect()
}

#[test]
fn no_tracked_text_has_a_phrase_that_the_language_has_replaced() {
    let files = tracked();
    assert!(files.len() > 1_000, "{} files", files.len());
    let mut used = vec![0; EXCEPTIONS.len()];
    let (mut lines, mut counts) = (String::new(), BTreeMap::new());
    for (path, text) in &files {
        for Finding { line, phrase, instead } in findings(path, text, &mut used) {
            writeln!(lines, "{path}:{line}: \"{phrase}\": use {instead}").unwrap();
            let top = path.split('/').next().unwrap_or_default().to_owned();
            *counts.entry((phrase, top)).or_insert(0) += 1;
        }
    }
    let sum: usize = counts.values().sum();
    assert!(sum == 0, "\n{lines}\n{}{sum:>6} in all\n", summary(&counts));
    let unused: Vec<_> = EXCEPTIONS.iter().zip(used).filter(|(_, used)| *used == 0).map(|(e, _)| e).collect();
    assert!(unused.is_empty(), "exceptions that no file needs: {unused:?}");
}

#[test]
fn no_tracked_text_has_marks_of_a_merge() {
    let is_mark = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    let marked: Vec<_> = tracked().into_iter().filter(|(_, text)| text.lines().any(is_mark)).collect();
    assert!(marked.is_empty(), "{:?}", marked.iter().map(|(path, _)| path).collect::<Vec<_>>());
}

#[test]
fn a_phrase_is_found_in_prose_names_and_across_lines() {
    let found = |text: &str| {
        let mut used = vec![0; EXCEPTIONS.len()];
        let all = findings("x.rs", text, &mut used);
        all.into_iter().map(|finding| (finding.line, finding.phrase)).collect::<Vec<_>>()
    };
    assert_eq!(found("/// What\n    /// looks\n    /// whether"), [(2, "looks whether")]);
    assert_eq!(found("let text = \"It is \\\n    none\";"), [(1, "is none")]);
    assert_eq!(found("fn a_panic_is_told_with_place()"), [(1, "told")]);
    assert_eq!(
        found("struct OwnFolder; mod stand_in; StandIn"),
        [(1, "folder"), (1, "stand-in"), (1, "stand-in")]
    );
    assert_eq!(found("Nobody's. Processors"), [(1, "processors")], "a possessive is another word");
    assert_eq!(found("a copy of main's stack"), []);
    assert_eq!(found("a copy of main's, a copy of\n// main's"), [(1, "of main's…"), (1, "of main's…")]);
    assert_eq!(found("this is. `trace_processor`, foreground, to stand in the way"), []);
    assert_eq!(found("const MOST: usize = 1;\nconst MOST_FILES: usize = 1;"), [(1, "MOST")]);
    assert_eq!(found("fn item_17_a_b() {}"), [(1, "item_NN_")]);
}
