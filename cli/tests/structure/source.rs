//! Which other items of its crate a source file names.

use std::collections::BTreeSet;

/// A path into the crate's own modules, by its segments from the root, and the line that names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) line: usize,
    pub(crate) path: Vec<String>,
    /// The name that a `use` gives it in the file.
    alias: Option<String>,
}

impl Named {
    /// The name that a `use` makes, and its path.
    pub(crate) fn import(&self) -> Option<(String, Vec<String>)> {
        Some((self.alias.clone()?, self.path.clone()))
    }
}

/// An item of a file, by its name, and the line at which it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) line: usize,
    /// Its definition, or one of its `impl` blocks.
    pub(crate) text: String,
}

impl Item {
    /// Returns true if a code in the same file uses the item. Of a function only a call counts, or that it is handed over as
    /// the only argument, because fields and variables often have the names of functions.
    pub(crate) fn is_used_in(&self, code: &str) -> bool {
        let is_function = self.name.starts_with(|c: char| c.is_ascii_lowercase());
        let is_called = |before: &str, after: &str| {
            !before.ends_with('.') && ["(", "::<"].iter().any(|call| after.starts_with(call))
                || before.ends_with('(') && after.starts_with(')')
        };
        code.match_indices(&self.name).any(|(at, name)| {
            let (before, after) = (&code[..at], &code[at + name.len()..]);
            let is_whole = !before.bytes().next_back().is_some_and(is_word)
                && !after.bytes().next().is_some_and(is_word);
            is_whole && (!is_function || is_called(before, after))
        })
    }
}

/// The code of a file: without comments, and without what only tests have. Lines keep their numbers.
pub(crate) fn code(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_test = line.starts_with("#[cfg(") && line.contains("test");
        let next_is_module = |next: &&str| next.contains("mod ");
        if is_test && lines.peek().is_some_and(next_is_module) {
            let module = lines.next().unwrap_or_default();
            out.push_str("\n\n");
            if module.ends_with('{') {
                // Inline modules of tests end with a brace in the first column.
                for line in lines.by_ref() {
                    out.push('\n');
                    if line == "}" {
                        break;
                    }
                }
            }
            continue;
        }
        let code = if line.trim_start().starts_with("//") { "" } else { line };
        out.push_str(code.split_once(" // ").map_or(code, |(code, _)| code));
        out.push('\n');
    }
    out
}

/// The modules that only tests have, which a file declares.
pub(crate) fn test_modules(file: &str) -> Vec<String> {
    let lines: Vec<_> = file.lines().collect();
    let pairs = lines.windows(2).filter(|pair| pair[0].starts_with("#[cfg(") && pair[0].contains("test"));
    pairs.filter_map(|pair| module(pair[1])).collect()
}

/// The module that a line declares.
fn module(line: &str) -> Option<String> {
    let (before, name) = line.split_once("mod ")?;
    (before.is_empty() || before.starts_with("pub"))
        .then(|| name.trim_end_matches([';', '{', ' ']).to_owned())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The words of a code.
pub(crate) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The items of a file's code: what stands from a line that begins in the first column up to the next such line.
pub(crate) fn items(code: &str) -> Vec<Item> {
    let begins =
        |line: &str| line.starts_with(|c: char| c.is_ascii_alphabetic()) && line.trim_end() != "where";
    let mut chunks: Vec<(usize, String)> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        match chunks.last_mut() {
            Some((_, chunk)) if !begins(line) => chunk.extend([line, "\n"]),
            _ => chunks.push((number + 1, format!("{line}\n"))),
        }
    }
    let names: Vec<Option<&str>> = chunks.iter().map(|(_, chunk)| defined(chunk)).collect();
    let is_own = |word: &&str| names.contains(&Some(*word));
    let items = chunks.iter().zip(&names).filter_map(|((line, chunk), name)| {
        let name = name.or_else(|| implemented(chunk)?.find(is_own))?;
        Some(Item { name: name.to_owned(), line: *line, text: chunk.clone() })
    });
    items.collect()
}

/// The name of the item that a text defines; `None` for `use`, `mod` and `impl`.
fn defined(item: &str) -> Option<&str> {
    let item = item.strip_prefix("pub(").and_then(|rest| rest.split_once(')')).map_or(item, |(_, rest)| rest);
    let mut words = words(item).peekable();
    while let Some(word) = words.next() {
        match word {
            "pub" | "unsafe" | "async" | "extern" | "C" => {}
            "const" if words.peek().is_some_and(|next| ["fn", "unsafe"].contains(next)) => {}
            "const" | "static" => return words.find(|word| *word != "mut"),
            "fn" | "struct" | "enum" | "union" | "trait" | "type" | "macro_rules" => return words.next(),
            _ => return None,
        }
    }
    None
}

/// The words of the type that an `impl` is for.
fn implemented(item: &str) -> Option<impl Iterator<Item = &str>> {
    let head = item.trim_start_matches("unsafe ").strip_prefix("impl")?.split('{').next()?;
    let of = match head.split_once(" for ") {
        Some((_, of)) => of,
        None => {
            let mut depth = 0;
            let end = head.find(|c| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                depth == 0
            });
            head.get(end?..)?
        }
    };
    Some(words(of))
}

/// The module in which a path goes on that begins here, and the rest of the path; `None` for paths into other crates.
fn start<'a>(text: &'a str, place: &[String], children: &BTreeSet<String>) -> Option<(Vec<String>, &'a str)> {
    let length = text.bytes().take_while(|byte| is_word(*byte)).count();
    let (word, rest) = text.split_at(length);
    let mut rest = rest.strip_prefix("::")?;
    let mut base = match word {
        "crate" => Vec::new(),
        "self" => place.to_vec(),
        "super" => place[..place.len().saturating_sub(1)].to_vec(),
        child if children.contains(child) => [place, &[child.to_owned()]].concat(),
        _ => return None,
    };
    while let Some(behind) = rest.strip_prefix("super::") {
        base.pop();
        rest = behind;
    }
    Some((base, rest))
}

/// The paths into the crate in the code of a file: the module at `place`, with these `children`.
pub(crate) fn named(code: &str, place: &[String], children: &BTreeSet<String>) -> Vec<Named> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let rest = &code[at..];
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        let is_use = rest.starts_with("use ");
        let path = if is_use { &rest["use ".len()..] } else { rest };
        if (is_use || !code[..at].ends_with("::"))
            && let Some((base, path)) = start(path, place, children)
        {
            let mut paths = Vec::new();
            tree(path, &base, &mut paths);
            let line = code[..at].matches('\n').count() + 1;
            let named = |(path, alias)| Named { line, path, alias: is_use.then_some(alias) };
            all.extend(paths.into_iter().map(named));
        }
        // A `use` of another crate may have segments that are named like a child.
        at += if is_use { rest.find(';').unwrap_or(length) } else { length.max(1) };
        while !code.is_char_boundary(at) {
            at += 1;
        }
    }
    all
}

/// Reads `a::b`, or `a::{b, c::d}`, at the start of `text`; gives what stands behind it.
fn tree<'a>(text: &'a str, base: &[String], into: &mut Vec<(Vec<String>, String)>) -> &'a str {
    let mut path = base.to_vec();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(['\n', ' ']);
        if let Some(mut group) = rest.strip_prefix('{') {
            loop {
                group = group.trim_start_matches(['\n', ' ', ',']);
                if let Some(behind) = group.strip_prefix('}') {
                    return behind;
                }
                let behind = tree(group, &path, into);
                if behind.len() == group.len() {
                    return behind;
                }
                group = behind;
            }
        }
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        let (segment, behind) = rest.split_at(length);
        if !segment.is_empty() && segment != "self" {
            path.push(segment.to_owned());
        }
        match behind.strip_prefix("::") {
            Some(behind) if length > 0 => rest = behind,
            _ => {
                let mut alias = path.last().cloned().unwrap_or_default();
                let behind = behind.strip_prefix(" as ").map_or(behind, |renamed| {
                    let length = renamed.bytes().take_while(|byte| is_word(*byte)).count();
                    renamed[..length].clone_into(&mut alias);
                    &renamed[length..]
                });
                into.push((path, alias));
                return behind;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str, place: &[&str]) -> Vec<String> {
        let place: Vec<_> = place.iter().map(|part| (*part).to_owned()).collect();
        let named = named(code, &place, &BTreeSet::from(["a".to_owned()]));
        named.into_iter().map(|named| named.path.join("::")).collect()
    }

    #[test]
    fn paths_are_read_with_groups_and_supers() {
        assert_eq!(paths("use crate::a::{b, c::{d, E}};", &["x"]), ["a::b", "a::c::d", "a::c::E"]);
        assert_eq!(paths("use super::b;\nuse super::super::c::D;", &["x", "y"]), ["x::b", "c::D"]);
        assert_eq!(paths("let f = crate::a::f(super::g());", &["x", "y"]), ["a::f", "x::g"]);
        assert_eq!(paths("pub use a::{B as C, d};", &[]), ["a::B", "a::d"]);
        assert_eq!(paths("use self::a::{self, B};\na::f(é)", &["x"]), ["x::a", "x::a::B", "x::a::f"]);
        assert!(paths("mycrate::a; xsuper::b; other::a::b; use std::{a::b, c};", &["x"]).is_empty());
    }

    #[test]
    fn imports_make_names() {
        let named = named("use a::{B as C, d};\na::e();", &[], &BTreeSet::from(["a".to_owned()]));
        let imports: Vec<_> = named.iter().filter_map(Named::import).collect();
        let path = |segments: [&str; 2]| segments.map(str::to_owned).to_vec();
        assert_eq!(imports, [("C".to_owned(), path(["a", "B"])), ("d".to_owned(), path(["a", "d"]))]);
    }

    #[test]
    fn an_item_has_its_definition_and_impls() {
        let code = "use a::b;\n\npub(in crate::x) const fn f(\n    n: u8,\n) -> u8 {\n    n\n}\n\nconst LIMIT: u8 = 3;\nstruct S<T>(T);\n\n\
                    impl<T: Into<u8>> S<T>\nwhere\n    T: Copy,\n{\n}\n\nimpl From<u8> for S<u8> {\n}\nimpl From<S<u8>> for u8 {\n}\n";
        let items = items(code);
        let found: Vec<_> = items.iter().map(|item| (item.name.as_str(), item.line)).collect();
        assert_eq!(found, [("f", 3), ("LIMIT", 9), ("S", 10), ("S", 12), ("S", 18)]);
        assert!(items[0].text.contains("    n\n}"));
        let uses = |code: &str| items[0].is_used_in(code);
        assert!(uses("f(3)") && uses("map(f)") && uses("f::<u8>()"));
        assert!(!uses("of(3)") && !uses("x.f(3)") && !uses("S { f: 3 }") && !uses("let f = f.max(3);"));
        assert!(items[1].is_used_in("3 + LIMIT") && !items[1].is_used_in("MY_LIMIT"));
    }

    #[test]
    fn comments_and_tests_are_no_code() {
        let text = "use crate::a; // crate::b\n//! [crate::c]\n#[cfg(all(test, not(loom)))]\nmod tests {\n    \
                    use crate::d;\n}\nuse crate::e;\n";
        let code = code(text);
        assert_eq!(paths(&code, &["x"]), ["a", "e"]);
        assert_eq!(code.lines().count(), text.lines().count());
        assert_eq!(test_modules("#[cfg(all(test, loom))]\nmod models;\npub mod a;\n"), ["models"]);
    }
}
