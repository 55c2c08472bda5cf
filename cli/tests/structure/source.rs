//! Which other items of its crate a source file names.

/// A path into the crate's own modules, by its segments from the root, and the line that names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) line: usize,
    pub(crate) path: Vec<String>,
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

/// The modules that only tests have, which a root declares.
pub(crate) fn test_modules(root: &str) -> Vec<String> {
    let lines: Vec<_> = root.lines().collect();
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

/// The paths that begin with `crate::` or `super::` in the code of a file whose module is at `place`, and those behind
/// `use` in the root, whose place is empty.
pub(crate) fn named(code: &str, place: &[String]) -> Vec<Named> {
    let mut all = Vec::new();
    let starts: &[&str] = if place.is_empty() { &["crate::", "use "] } else { &["crate::", "super::"] };
    for start in starts {
        for (at, _) in code.match_indices(start) {
            let before = code.as_bytes()[..at].last().copied();
            // `super::super::`: the first one reads them all.
            if before.is_some_and(is_word) || code[..at].ends_with("super::") {
                continue;
            }
            let mut base = if *start == "super::" { place[..place.len() - 1].to_vec() } else { Vec::new() };
            let mut rest = &code[at + start.len()..];
            while let Some(behind) = rest.strip_prefix("super::") {
                base.pop();
                rest = behind;
            }
            let line = code[..at].matches('\n').count() + 1;
            let mut paths = Vec::new();
            tree(rest, &base, &mut paths);
            all.extend(paths.into_iter().map(|path| Named { line, path }));
        }
    }
    all
}

/// Reads `a::b`, or `a::{b, c::d}`, at the start of `text`; gives what stands behind it.
fn tree<'a>(text: &'a str, base: &[String], into: &mut Vec<Vec<String>>) -> &'a str {
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
        if !segment.is_empty() {
            path.push(segment.to_owned());
        }
        match behind.strip_prefix("::") {
            Some(behind) if length > 0 => rest = behind,
            _ => {
                // The name in the file is the one behind `as`; the one in front says which item it is.
                let behind = behind.strip_prefix(" as ").map_or(behind, |renamed| {
                    let length = renamed.bytes().take_while(|byte| is_word(*byte)).count();
                    path.push(format!("as {}", &renamed[..length]));
                    &renamed[length..]
                });
                into.push(path);
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
        named(code, &place).into_iter().map(|named| named.path.join("::")).collect()
    }

    #[test]
    fn paths_are_read_with_groups_and_supers() {
        assert_eq!(paths("use crate::a::{b, c::{d, E}};", &["x"]), ["a::b", "a::c::d", "a::c::E"]);
        assert_eq!(paths("use super::b;\nuse super::super::c::D;", &["x", "y"]), ["x::b", "c::D"]);
        assert_eq!(paths("let f = crate::a::f(super::g());", &["x", "y"]), ["a::f", "x::g"]);
        assert_eq!(paths("pub use a::{B as C, d};", &[]), ["a::B::as C", "a::d"]);
        assert!(paths("mycrate::a; xsuper::b", &["x"]).is_empty());
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
