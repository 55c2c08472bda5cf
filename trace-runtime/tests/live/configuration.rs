//! `docs/configuration.md` has the library's table of options.

use std::path::Path;

use trace_runtime::monitors::options::{NUMBERS, NumberOption, TEXTS};

const BEGIN: &str = "<!-- The table is made from trace-runtime/src/monitors/config/options.rs. -->\n";
const END: &str = "<!-- The table ends. -->\n";

/// The name of the setter in `Config.Builder`.
fn setter(key: &str) -> String {
    let mut name = String::new();
    for (n, part) in key.split('_').enumerate() {
        let (first, rest) = part.split_at(1);
        name += &if n == 0 { part.to_owned() } else { first.to_uppercase() + rest };
    }
    name
}

/// 10,000 for 10000.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn matrix(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("`{name}`") }
}

fn row(option: &NumberOption) -> String {
    let NumberOption { key, default, least, greatest, what, .. } = *option;
    let (range, default) = match (least, greatest) {
        (0, 1) => ("off, on".to_owned(), if default == 1 { "on".to_owned() } else { "off".to_owned() }),
        _ => (format!("{} to {}", grouped(least), grouped(greatest)), grouped(default)),
    };
    format!("| `{key}` | `{}` | {default} | {range} | {what} | {} |\n", setter(key), matrix(option.matrix))
}

fn table() -> String {
    let mut table =
        "| key | setter | default | range | what | Matrix |\n| --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    NUMBERS.iter().for_each(|option| table += &row(option));
    for option in TEXTS {
        let (key, what) = (option.key, option.what);
        table +=
            &format!("| `{key}` | `{}` | none | texts | {what} | {} |\n", setter(key), matrix(option.matrix));
    }
    table
}

#[test]
fn the_page_has_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let begin = page.find(BEGIN).expect("the mark in front of the table") + BEGIN.len();
    let end = page.find(END).expect("the mark behind it");
    if page[begin..end] != table() && std::env::var_os("ANRSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(&path, [&page[..begin], &table(), &page[end..]].concat()).unwrap();
        return;
    }
    assert_eq!(
        &page[begin..end],
        table(),
        "ANRSCOPE_WRITE_DOCS=1 cargo test -p anrscope-runtime --test configuration"
    );
}

#[test]
fn setters_and_numbers_are_formatted() {
    assert_eq!(setter("keep_kib"), "keepKib");
    assert_eq!(setter("fps"), "fps");
    assert_eq!(
        [grouped(0), grouped(999), grouped(1_000), grouped(262_144)],
        ["0", "999", "1,000", "262,144"]
    );
}

/// The source of the tests and cases that show what an option changes: all but those that only set every
/// key.
fn tests_of_options() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = String::new();
    for directory in ["trace-runtime/tests/live/android_host", "android/tests/app"] {
        for entry in std::fs::read_dir(here.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && path.file_stem().is_some_and(|name| name != "AppOptions") {
                all += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    all
}

#[test]
fn each_key_is_tested_through_the_shims() {
    let tests = tests_of_options();
    // As a word of a case (`key=VALUE`), by its name, by its setter, or as a tracer that is started and stopped.
    let exercised = |key: &str| {
        let forms = [
            format!("{key}="),
            format!("\"{key}\""),
            format!(".{}(", setter(key)),
            format!("Tracer.{}", key.to_uppercase()),
        ];
        let is_word = |at: usize| !tests[..at].ends_with(|c: char| c == '_' || c.is_alphanumeric());
        forms.iter().any(|form| tests.match_indices(form).any(|(at, _)| is_word(at)))
    };
    let missing: Vec<_> = NUMBERS
        .iter()
        .map(|option| option.key)
        .chain(TEXTS.iter().map(|option| option.key))
        .filter(|key| !exercised(key))
        .collect();
    // The manifest, the code and the provider set it, where the events of the clock's change are checked.
    assert_eq!(missing, ["coarse_clock"], "without a test of what they change");
}
