//! Words in prose and in names of code.

/// Returns the words of a text. A possessive is one word: "main's".
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '_')).filter(|word| !word.is_empty())
}

/// Returns the name of the function that a line of code defines.
pub(crate) fn function(code: &str) -> Option<String> {
    let (before, name) = code.split_once("fn ")?;
    let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty() && !before.ends_with(char::is_alphanumeric)).then_some(name)
}

/// Returns the name of the field or item that a line of Rust defines, unless it may be public outside of its crate.
///
/// A field that is indented by more than one step is taken as one of a variant, which is as public as its type.
pub(crate) fn private_name(code: &str) -> Option<String> {
    let is_nested = code.starts_with("     ");
    let code = code.trim().trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
    let mut words = code.split_whitespace();
    let keywords =
        ["async", "const", "unsafe", "static", "mut", "struct", "enum", "fn", "type", "trait", "mod"];
    let (mut name, mut is_item) = (words.next()?, false);
    while keywords.contains(&name) {
        (name, is_item) = (words.next()?, true);
    }
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    let is_field = !is_nested && code[code.find(name)? + end..].starts_with(": ");
    ((is_item || is_field) && end > 0).then(|| name[..end].to_owned())
}

/// Returns the words in a name, in lower case and singular.
pub(crate) fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            parts.push(String::new());
        }
        if c != '_' {
            parts.last_mut().expect("a first part").extend(c.to_lowercase());
        }
    }
    parts.iter().map(|part| singular(part)).collect()
}

pub(crate) fn singular(word: &str) -> String {
    word.trim_end_matches("'s").trim_end_matches('s').to_owned()
}
