//! The rules of CONTRIBUTING.md that a script can check.

use crate::docs::language::comment::{Comment, Kind};
use crate::docs::language::source::Source;
use crate::docs::language::words::{function, parts, private_name, singular, words};

/// A rule, with a function that finds its offenders.
pub(crate) struct Rule {
    /// One word, as in `offenders.txt`.
    pub(crate) name: &'static str,
    /// Tells what to write instead.
    pub(crate) advice: &'static str,
    pub(crate) find: fn(&Source) -> Vec<Offender>,
}

/// A place in a source that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Offender {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
}

pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "first-word",
        advice: "begin a doc comment with a verb or the thing itself (a boolean's: \"True if …\")",
        find: first_words,
    },
    Rule {
        name: "repeated-name",
        advice: "remove a comment that only repeats the name, or say what the name does not",
        find: repeated_names,
    },
    Rule {
        name: "relative-phrase",
        advice: "name the thing again for \"that of\"; \"from now on\", \"already\", \"except\"",
        find: relative_phrases,
    },
    Rule {
        name: "test-name",
        advice: "name a test by subject, verb, object: arbitrary_bytes_never_panic",
        find: test_names,
    },
    Rule { name: "long-line", advice: "break a comment's line after 130 characters", find: long_lines },
];

const MAX_COMMENT_LINE: usize = 130;

/// First words of doc comments that make the reader ask for the noun.
const QUESTION_WORDS_AND_PRONOUNS: &[&str] = &[
    "what", "which", "when", "why", "how", "whether", "who", "whose", "where", "it", "its", "that", "this",
    "they", "these", "those",
];

const RELATIVE_PHRASES: &[&str] = &["those of", "that of", "from here on", "by now", "but for"];

/// First words of names that begin no subject: articles, pronouns, question words and prepositions.
const NO_SUBJECTS: &[&str] = &[
    "a", "an", "the", "any", "no", "it", "its", "this", "that", "these", "those", "they", "what", "which",
    "when", "why", "how", "whether", "who", "whose", "where", "if", "as", "at", "by", "for", "from", "in",
    "of", "on", "to", "with", "without",
];

fn first_words(source: &Source) -> Vec<Offender> {
    let docs = source.comments.iter().filter(|comment| matches!(comment.kind, Kind::Doc | Kind::InnerDoc));
    let firsts = docs.filter_map(|comment| {
        let (line, text) = comment.prose().into_iter().find(|(_, text)| !text.is_empty())?;
        let first = words(&text).next()?.to_lowercase();
        // "It's" begins with "it".
        QUESTION_WORDS_AND_PRONOUNS.contains(&first.split('\'').next()?).then(|| offender(line, &text))
    });
    firsts.collect()
}

/// Finds comments of at most three words on private fields and items whose words are all in the name.
///
/// For example, "The open calls." says nothing above `open_calls: Vec<Call>`. Public items are left out, because the lint
/// `missing_docs` asks for a text there; so are variants, whose visibility is the type's.
fn repeated_names(source: &Source) -> Vec<Offender> {
    let own_lines = source.comments.iter().filter(|comment| matches!(comment.kind, Kind::Doc | Kind::Plain));
    let repeated = own_lines.filter(|comment| {
        let words: Vec<String> =
            comment.lines.iter().flat_map(|(_, line)| words(line)).map(str::to_lowercase).collect();
        let name = source.item_after(comment).and_then(private_name).unwrap_or_default();
        let named = parts(&name);
        let mut telling =
            words.iter().filter(|word| !matches!(word.as_str(), "a" | "an" | "the" | "its" | "of"));
        !words.is_empty() && words.len() <= 3 && telling.all(|word| named.contains(&singular(word)))
    });
    repeated.map(|comment| offender(comment.first_line(), &comment.lines[0].1)).collect()
}

fn relative_phrases(source: &Source) -> Vec<Offender> {
    source.comments.iter().flat_map(phrases_of).collect()
}

/// Finds phrases in a comment, also across the ends of its lines but not of its sentences: after "that." a capital follows.
fn phrases_of(comment: &Comment) -> Vec<Offender> {
    let prose = comment.prose();
    let words: Vec<(usize, &str)> =
        prose.iter().flat_map(|(line, text)| words(text).map(|word| (*line, word))).collect();
    let mut found = Vec::new();
    for at in 0..words.len() {
        for phrase in RELATIVE_PHRASES {
            let (line, first) = words[at];
            let (head, rest) = phrase.split_once(' ').expect("two words or more");
            let mut following = words[at + 1..].iter().map(|(_, word)| *word);
            if first.eq_ignore_ascii_case(head) && rest.split(' ').all(|part| following.next() == Some(part))
            {
                found.push(offender(line, phrase));
            }
        }
    }
    found
}

fn test_names(source: &Source) -> Vec<Offender> {
    let mut found = Vec::new();
    let mut is_test = false;
    for (line, code) in source.code.iter().enumerate() {
        is_test |= code.trim().starts_with("#[test]");
        let Some(name) = function(code).filter(|_| is_test) else { continue };
        is_test = false;
        let mut words = name.split('_');
        let first = words.next().unwrap_or_default();
        // An item of which list? Only its writer knows.
        let is_numbered = first == "item" && words.next().is_some_and(|next| next.parse::<u32>().is_ok());
        if NO_SUBJECTS.contains(&first) || is_numbered {
            found.push(offender(line, &name));
        }
    }
    found
}

/// Finds comments in lines that are too long. Rows of tables and addresses cannot be broken.
fn long_lines(source: &Source) -> Vec<Offender> {
    let lines = source.comments.iter().flat_map(|comment| &comment.lines);
    let long = lines.filter(|(line, text)| {
        source.lengths[*line] > MAX_COMMENT_LINE && !text.starts_with('|') && !text.contains("://")
    });
    long.map(|(line, text)| offender(*line, text)).collect()
}

fn offender(index: usize, text: &str) -> Offender {
    Offender { line: index + 1, text: text.to_owned() }
}

/// No line breaks a rule.
const NONE: [usize; 0] = [];

/// Returns the lines at which a Rust source breaks a rule.
fn broken(rule: &str, text: &str) -> Vec<usize> {
    let rule = RULES.iter().find(|known| known.name == rule).unwrap();
    (rule.find)(&Source::new("x.rs", text)).into_iter().map(|offender| offender.line).collect()
}

#[test]
fn question_words_and_pronouns_begin_no_doc_comment() {
    assert_eq!(broken("first-word", "/// Whether it holds.\nfn a();\n\n/// True if it holds.\nfn b();"), [1]);
    assert_eq!(broken("first-word", "//! # What this is\n\n///\n/// **Its** name.\nx: u8,"), [1, 4]);
    assert_eq!(broken("first-word", "/// It's full.\nfn a();\n/** Who. */\nfn b();"), [1, 3]);
    assert_eq!(broken("first-word", "// What follows is plain.\n/// Whatever. `What`\nfn a();"), NONE);
    assert_eq!(
        broken("first-word", "/// Sends.\n#[inline]\n/// What goes on after an attribute.\nfn a();"),
        NONE
    );
    assert_eq!(
        broken("first-word", "/// ```\n/// // What an example says.\n/// ```\n/// Sends.\nfn a();"),
        NONE
    );
}

#[test]
fn short_comments_add_to_private_names() {
    let repeats = |text: &str| !broken("repeated-name", text).is_empty();
    assert!(repeats("    /// The open calls.\n    open_calls: u8,"));
    assert!(repeats("// A string pool.\n#[derive(Debug)]\npub(crate) struct StringPool {"));
    assert!(!repeats("    /// In ms.\n    time: u8,"));
    assert!(!repeats("    /// The open calls of it all.\n    open_calls: u8,"));
    assert!(!repeats("/// The calls.\npub fn calls() {"), "a public item needs a doc comment");
    assert!(
        !repeats("    /// A lock.\n    Lock,\n        /// The path.\n        path: u8,"),
        "so does a variant"
    );
}

#[test]
fn relative_phrases_are_found_across_lines() {
    let text = "let a = 1; // by now\n// the name is that\n// of main\n/// `but for` a\n/// but format. Take that. Of main";
    assert_eq!(broken("relative-phrase", text), [1, 2]);
}

#[test]
fn test_names_begin_with_a_subject() {
    let text = |name: &str| format!("#[test]\n#[ignore]\nfn {name}() {{}}\nfn a_helper() {{}}");
    for name in ["a_lock_waits", "what_is_read", "no_header_is_too_wild", "in_a_table", "item_17_works"] {
        assert_eq!(broken("test-name", &text(name)), [3], "{name}");
    }
    for name in ["arbitrary_bytes_never_panic", "another_lock_waits", "item_order_is_kept"] {
        assert_eq!(broken("test-name", &text(name)), NONE, "{name}");
    }
    assert_eq!(broken("test-name", "proptest! {\n    #[test]\n    fn any_x(x in 0..9) {}\n}"), [3]);
}

#[test]
fn long_lines_count_in_comments_alone() {
    let long = "ä".repeat(MAX_COMMENT_LINE - 3);
    assert_eq!(broken("long-line", &format!("// {long}\n// {long}x\nlet a = \"// {long}x\";")), [2]);
    assert_eq!(broken("long-line", &format!("/// | {long} |\n/// https://x/{long}\nfn f();")), NONE);
}
