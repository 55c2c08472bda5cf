//! Parser of the rules file.

use std::path::Path;

use super::pattern::Pattern;
use super::{Condition, Rule, Rules, Verb};
use crate::error::Error;

/// Far more than a handwritten file has, and few enough to check each one for each method.
const MAX_RULES: usize = 10_000;
/// The longest name in a class file, bytes.
const MAX_WORD: usize = 0xFFFF;

type Bad = (String, &'static str);

impl Rules {
    /// Parses the rules in `text`. `path` is for messages.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        let mut rules = Vec::new();
        for (index, line) in text.trim_start_matches('\u{FEFF}').lines().enumerate() {
            let failed = |(what, cure)| Error::Line { path: path.into(), line: index + 1, what, cure };
            // `a.B#c` is not a comment, but an error that is reported below.
            let line = line.split_once(" #").map_or(line, |(rule, _)| rule).trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if rules.len() == MAX_RULES {
                let what = format!("this would be rule {}", MAX_RULES + 1);
                return Err(failed((what, "combine rules with wildcards, such as `class com.acme.*`")));
            }
            let (verb, conditions) = rule(line).map_err(failed)?;
            rules.push(Rule { line: index + 1, verb, conditions });
        }
        Ok(Self { path: path.into(), rules })
    }
}

fn bad<T>(what: impl Into<String>, cure: &'static str) -> Result<T, Bad> {
    Err((what.into(), cure))
}

fn rule(line: &str) -> Result<(Verb, Vec<Condition>), Bad> {
    let mut words = line.split_whitespace();
    let verb = match words.next().unwrap_or_default() {
        "exclude" => Verb::Exclude,
        "include" => Verb::Include,
        "always" => Verb::Always,
        "-keepclass" | "-keeppackage" => {
            let cure = "use the file with --block-list, or write `exclude class` or `exclude package`";
            return bad("a line of a block list", cure);
        }
        other => {
            return bad(format!("unknown verb {other:?}"), "start the line with exclude, include or always");
        }
    };
    let mut conditions = Vec::new();
    while let Some(keyword) = words.next() {
        conditions.push(condition(keyword, &mut words)?);
    }
    if conditions.is_empty() {
        let cure = "add class, package, annotation, method or size; `class **` matches every class";
        return bad("a rule without a condition", cure);
    }
    Ok((verb, conditions))
}

fn condition<'a>(keyword: &str, words: &mut impl Iterator<Item = &'a str>) -> Result<Condition, Bad> {
    let mut next = |cure: &'static str| {
        let word = words.next().ok_or_else(|| (format!("{keyword} without a value"), cure))?;
        if word.len() > MAX_WORD {
            return bad(format!("a value of {} bytes", word.len()), "names have at most 65,535 bytes");
        }
        Ok(word)
    };
    match keyword {
        "package" => {
            let name = next("name the package, like `package com.acme.util`")?;
            if name == "-" {
                return Ok(Condition::UnnamedPackage);
            }
            if name.contains('*') {
                return bad(
                    format!("a wildcard in the package {name:?}"),
                    "write `class com.acme.**` instead",
                );
            }
            let name = name.replace('.', "/");
            let name = name.trim_end_matches('/');
            if name.is_empty() {
                return bad("an empty package name", "write `package -` for the unnamed package");
            }
            Ok(Condition::Package(name.to_owned()))
        }
        "class" => Ok(Condition::Class(Pattern::class(next("name the class, like `class com.acme.Main`")?))),
        "class-only" => {
            Ok(Condition::ClassOnly(Pattern::class(next("name the class, like `class-only com.acme.Main`")?)))
        }
        "annotation" => {
            let name = next("name the annotation, like `annotation androidx.annotation.Keep`")?;
            Ok(Condition::Annotation(Pattern::class(name.trim_start_matches('@'))))
        }
        "method" => {
            let name = next("name the method, like `method run` or `method run()V`")?;
            if name.contains('#') {
                return bad(format!("a class in the method {name:?}"), "write `class NAME method NAME`");
            }
            Ok(Condition::Method(Pattern::method(name), name.contains('(')))
        }
        "size" => size(next),
        other => {
            let cure = "the conditions are package, class, class-only, annotation, method and size";
            bad(format!("unknown condition {other:?}"), cure)
        }
    }
}

fn size<'a>(mut next: impl FnMut(&'static str) -> Result<&'a str, Bad>) -> Result<Condition, Bad> {
    const CURE: &str = "write a comparison and a number of bytes, like `size >= 40`";
    let word = next(CURE)?;
    let digits = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
    let (sign, number) = word.split_at(digits);
    let number = if number.is_empty() { next(CURE)? } else { number };
    let number: u32 = number.parse().map_err(|_| (format!("{number:?} is not a number of bytes"), CURE))?;
    let range = match sign {
        "<" => number.checked_sub(1).map(|most| (0, most)),
        "<=" => Some((0, number)),
        ">" => number.checked_add(1).map(|least| (least, u32::MAX)),
        ">=" => Some((number, u32::MAX)),
        _ => return bad(format!("{word:?} is not a comparison"), CURE),
    };
    let (least, most) = range.ok_or_else(|| ("a size that no method has".to_owned(), CURE))?;
    Ok(Condition::Size(least, most))
}
