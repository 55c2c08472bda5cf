//! The words of the docs and of the help are English, or in the project's list (`words.txt`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

use crate::docs::markdown::pages;
use crate::docs::names::helps;
use crate::docs::repository;

/// The words of a text; what has digits, signs or capitals inside is a name of something.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split(|c: char| c.is_whitespace() || "(){}[]|,;:!?\"*+=“”".contains(c));
    // .json, $HOME and @file are names.
    let pieces = pieces.filter(|word| !word.starts_with(['.', '$', '@', '~', '/']));
    let pieces = pieces.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let plain = |word: &&str| {
        word.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-'))
            && !word.chars().skip(1).any(char::is_uppercase)
    };
    pieces
        .filter(plain)
        .flat_map(|word| word.split('-'))
        .map(|word| word.trim_end_matches("'s"))
        .filter(|word| word.len() > 1)
}

/// A line without code and the targets of links.
fn prose(line: &str) -> String {
    let plain = line.split('`').enumerate().map(|(n, text)| if n % 2 == 0 { text } else { " X " });
    let mut text: String = plain.collect();
    while let Some(at) = text.find("](") {
        let end = text[at..].find(')').map_or(text.len(), |n| at + n + 1);
        text.replace_range(at..end, " ");
    }
    while let Some(at) = text.find("<http") {
        let end = text[at..].find('>').map_or(text.len(), |n| at + n + 1);
        text.replace_range(at..end, " ");
    }
    text
}

#[test]
fn every_word_is_spelled_right_or_in_the_list() {
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    for page in pages() {
        // Code goes over the ends of lines; so do its backticks.
        let mut inside = false;
        for (number, line) in page.prose() {
            inside &= !line.trim().is_empty();
            let whole = if inside { format!("`{line}") } else { line.to_owned() };
            inside = whole.matches('`').count() % 2 == 1;
            for word in words(&prose(&whole)) {
                places.entry(word.to_owned()).or_insert_with(|| format!("{}:{number}", page.path));
            }
        }
    }
    for (path, help) in helps() {
        let mut examples = false;
        for line in help
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with(['-', '[']) && !line.starts_with("Usage:"))
        {
            match line {
                "Examples:" => examples = true,
                // A blank line separates examples, and what follows them begins with a capital.
                _ if examples && line.starts_with(char::is_uppercase) => examples = false,
                _ => {}
            }
            // Of examples the comments are prose.
            for word in words(line).filter(|_| !examples || line.starts_with('#')) {
                places.entry(word.to_owned()).or_insert_with(|| format!("anrscope {path} --help"));
            }
        }
    }
    assert!(places.len() > 1_000, "{} words", places.len());
    // At run time: a new word needs no compiler.
    let own = std::fs::read_to_string(repository().join("cli/tests/docs/words.txt")).unwrap();
    let own: BTreeSet<&str> = own.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let wrong: BTreeSet<String> = unknown(places.keys());
    let strange: Vec<String> = wrong
        .iter()
        .filter(|word| !own.contains(word.as_str()) && !own.contains(word.to_lowercase().as_str()))
        .map(|word| format!("{word}    ({})", places[word]))
        .collect();
    assert!(strange.is_empty(), "spelled wrong, or new for words.txt:\n{}", strange.join("\n"));
    let used: BTreeSet<String> = wrong.iter().flat_map(|word| [word.clone(), word.to_lowercase()]).collect();
    let stale: Vec<_> = own.iter().filter(|word| !used.contains(**word)).collect();
    assert!(stale.is_empty(), "in words.txt for nothing: {stale:?}");
}

/// The words that are in neither dictionary.
fn unknown<'a>(words: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let mut checker = Command::new("hunspell")
        .args(["-d", "en_US,en_GB", "-i", "utf-8", "-l"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("hunspell: {e}: run scripts/install-test-needs"));
    let mut input = checker.stdin.take().unwrap();
    let text: String = words.map(|word| format!("{word}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = checker.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "hunspell with en_US and en_GB: run scripts/install-test-needs");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_wrong_word_is_found() {
    let text = "A [ling](gone.md) `xyzzy` of Recrodings, MethodBeat's";
    let found: Vec<String> = words(&prose(text)).map(str::to_owned).collect();
    assert_eq!(found, ["ling", "of", "Recrodings"]);
    assert_eq!(unknown(found.iter()).into_iter().collect::<Vec<_>>(), ["Recrodings"]);
}
