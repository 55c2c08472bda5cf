//! Converts HTML to text: tags and entities, as in the Play Console's page, issue trackers and mail.
//!
//! Dumps contain `<` themselves: `<0x0b7a434d>`, `<init>`, `java.lang.Class<a.b>`. So only HTML's own tags are
//! removed.

use crate::dump::limits::cut;

/// Tags that end a line.
const BLOCK_TAGS: [&str; 16] = [
    "br", "p", "div", "pre", "li", "ul", "ol", "tr", "td", "table", "body", "html", "head", "h1", "h2", "h3",
];
/// Tags within a line, or without a line of their own.
const INLINE_TAGS: [&[&str]; 2] = [
    &["span", "code", "b", "i", "a", "font", "strong", "em", "u", "tt", "small"],
    &["meta", "title", "tbody", "th", "style", "script", "blockquote", "doctype"],
];
/// Signs that a text is HTML.
const SIGNS: [&str; 10] =
    ["<br", "</p>", "</div>", "</span>", "</pre>", "<!doctype html", "<html", "&lt;", "&quot;", "&nbsp;"];

/// Maximum length of a tag or comment, in bytes.
const MAX_TAG: usize = 1 << 10;

/// Whether a text is HTML or a fragment of it.
pub(in crate::dump) fn is_in(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    SIGNS.iter().any(|sign| lower.contains(sign))
}

/// The text as a browser displays it.
pub(in crate::dump) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (taken, shown) = if from.starts_with('<') { tag(from, before) } else { entity(from) };
        rest = &from[taken..];
        match shown {
            Some(Rendered::Line) if !out.ends_with('\n') || from[..taken].starts_with("<br") => {
                out.push('\n');
                // The source's line end after it is the same one.
                let behind = rest.strip_prefix('\r').unwrap_or(rest);
                rest = behind.strip_prefix('\n').unwrap_or(rest);
            }
            Some(Rendered::Character(c)) => out.push(c),
            Some(Rendered::Line | Rendered::Nothing) => {}
            None => out.push_str(&from[..taken]),
        }
    }
    out.push_str(rest);
    out
}

/// What a tag or entity displays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rendered {
    Line,
    Nothing,
    Character(char),
}

/// The length of the tag at the start of a text, and what it displays; 1 and `None` if there is no tag.
fn tag(from: &str, before: &str) -> (usize, Option<Rendered>) {
    if from.starts_with("<!--") {
        return (cut(from, MAX_TAG).find("-->").map_or(4, |end| end + 3), Some(Rendered::Nothing));
    }
    let name = from[1..].trim_start_matches(['/', '!']);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let name = name[..end].to_ascii_lowercase();
    // `Class<b>` is the monitor of the class b.
    if before.ends_with("Class") || from[1..].starts_with(char::is_whitespace) {
        return (1, None);
    }
    let shown = if BLOCK_TAGS.contains(&name.as_str()) {
        Rendered::Line
    } else if INLINE_TAGS.iter().any(|tags| tags.contains(&name.as_str())) {
        Rendered::Nothing
    } else {
        return (1, None);
    };
    // A tag ends on its line; otherwise the `<` is not a tag.
    match cut(from, MAX_TAG).find(['>', '\n']) {
        Some(end) if from[end..].starts_with('>') => (end + 1, Some(shown)),
        _ => (1, None),
    }
}

/// The length of the entity at the start of a text, and its character; 1 and `None` if there is no entity.
fn entity(from: &str) -> (usize, Option<Rendered>) {
    let end = from.bytes().take(12).position(|byte| byte == b';');
    let Some(name) = end.and_then(|end| from.get(1..end)) else { return (1, None) };
    let number = |text: &str, radix| u32::from_str_radix(text, radix).ok().and_then(char::from_u32);
    let character = match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => match name.strip_prefix('#') {
            Some(hex) if hex.starts_with(['x', 'X']) => number(&hex[1..], 16),
            Some(decimal) => number(decimal, 10),
            None => None,
        },
    };
    let character = character.map(|c| if c == '\u{a0}' { ' ' } else { c });
    character.map_or((1, None), |c| (name.len() + 2, Some(Rendered::Character(c))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tags_and_entities_become_text() {
        for (html, text) in [
            ("a<br/>b<br>c<BR />d", "a\nb\nc\nd"),
            ("<div class=\"x\">a</div><p>b</p>", "\na\nb\n"),
            ("<span>&quot;main&quot;</span> prio=5", "\"main\" prio=5"),
            ("- waiting to lock &lt;0x0b7a434d&gt; (a a.B)", "- waiting to lock <0x0b7a434d> (a a.B)"),
            ("- locked <0x1> (a java.lang.Class<b>)<br>", "- locked <0x1> (a java.lang.Class<b>)\n"),
            (
                "at a.B.<init>(B.java:1)<br>at a.B.&lt;clinit&gt;()",
                "at a.B.<init>(B.java:1)\nat a.B.<clinit>()",
            ),
            ("&#34;x&#x22;&nbsp;&amp;lt;", "\"x\" &lt;"),
            ("a & b &unknown; < c &", "a & b &unknown; < c &"),
            ("a<br>\nb<br>\n<br>\nc", "a\nb\n\nc"),
            ("<div>a</div>\n<div></div>\n<div>b</div>\n", "\na\n\nb\n"),
            ("<!-- x --><b>b</b", "b</b"),
        ] {
            assert_eq!(plain(html), text, "{html}");
        }
        assert!(is_in("x<br/>") && is_in("&lt;0x1&gt;") && !is_in("- locked <0x1> (a java.lang.Class<b>)"));
    }

    proptest! {
        #[test]
        fn what_was_escaped_comes_back(text in "[ -~\n]{0,80}") {
            let html = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
            prop_assert_eq!(plain(&html), text);
        }

        #[test]
        fn any_text_is_taken(text: String) {
            prop_assert!(plain(&text).len() <= text.len() + 1);
        }
    }
}
