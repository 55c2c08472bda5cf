//! Retraces any text: frames anywhere in a line, classes elsewhere, and Matrix's lines of method ids.

use answers::retrace::{FrameName, Mapping};

use crate::method_map::MethodMap;

/// Maximum number of meanings written per frame; all but the first are marked `or`.
const MAX_MEANINGS: usize = 4;

/// The sources of names.
#[derive(Clone, Copy, Debug)]
pub struct MappedText<'a> {
    /// ProGuard's or R8's mapping.
    pub mapping: Option<&'a Mapping>,
    /// The instrumenter's method map.
    pub methods: Option<&'a MethodMap>,
}

impl MappedText<'_> {
    /// The line with original names; several lines if frames were inlined.
    #[must_use]
    pub fn line(&self, line: &str) -> Vec<String> {
        if let Some(named) = self.methods.and_then(|map| matrix_line(map, line)) {
            return vec![named];
        }
        let Some(mapping) = self.mapping else { return vec![line.to_owned()] };
        frame(mapping, line).unwrap_or_else(|| vec![classes(mapping, line)])
    }
}

/// `depth,methodId,count,costMs` followed by the method.
fn matrix_line(map: &MethodMap, line: &str) -> Option<String> {
    let numbers = line.trim().split(',').map(|part| part.parse::<i64>().ok());
    let [_, id, _, _] = numbers.collect::<Option<Vec<_>>>()?[..] else { return None };
    let name = match u32::try_from(id).ok().and_then(|id| map.get(id)) {
        Some(method) => format!("{}.{}", method.class, method.method),
        None if id == i64::from(trace_format::ids::DISPATCH) => {
            "android.os.Handler.dispatchMessage".to_owned()
        }
        None => "(no method of this map)".to_owned(),
    };
    Some(format!("{}  {name}", line.trim_end()))
}

/// The frames for a line with `at class.method(place)`.
fn frame(mapping: &Mapping, line: &str) -> Option<Vec<String>> {
    let at = line.find("at ").filter(|at| *at == 0 || line[..*at].ends_with([' ', '\t', '|']))?;
    let (before, rest) = (&line[..at], &line[at + 3..]);
    let open = rest.find('(')?;
    let close = open + rest[open..].find(')')?;
    let (class, method) = rest[..open].trim_end().rsplit_once('.')?;
    // `module/class`, as newer Java versions write it.
    let class_only = class.rsplit_once('/').map_or(class, |(_, class)| class);
    let (file, number) = match rest[open + 1..close].rsplit_once(':') {
        Some((file, number)) => (file, number.parse().ok()),
        None => (&rest[open + 1..close], None),
    };
    let meanings = mapping.frame(class_only, method, number, None);
    let (first, others) = meanings.split_first()?;
    let after = &rest[close + 1..];
    let place = |name: &FrameName| match (file, name.line) {
        ("Native Method" | "Native method", _) => file.to_owned(),
        (_, Some(line)) => format!("{}:{line}", name.file(Some(file))),
        (_, None) => name.file(Some(file)),
    };
    let mut lines: Vec<String> = first
        .iter()
        .map(|name| format!("{before}at {}.{}({})", name.class, name.method, place(name)))
        .collect();
    let others: Vec<String> = others
        .iter()
        .take(MAX_MEANINGS)
        .filter_map(|frames| frames.first())
        .map(|name| format!("{}.{}({})", name.class, name.method, place(name)))
        .collect();
    if let Some(last) = lines.last_mut() {
        if !others.is_empty() {
            last.push_str(&format!(" or {}", others.join(" or ")));
        }
        last.push_str(after);
    }
    Some(lines)
}

/// Renames the classes in a line. A word counts as a class only if the mapping has one of that name with a
/// package: `a` alone is a word in too many texts.
fn classes(mapping: &Mapping, line: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-');
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(begin) = rest.find(is_part) {
        let length = rest[begin..].find(|c| !is_part(c)).unwrap_or(rest.len() - begin);
        let word = &rest[begin..begin + length];
        // A full stop at the end belongs to the sentence.
        let name = word.trim_end_matches('.');
        out.push_str(&rest[..begin]);
        out.push_str(mapping.class(name).filter(|_| name.contains('.')).unwrap_or(name));
        out.push_str(&word[name.len()..]);
        rest = &rest[begin + length..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    const MAPPING: &str = "com.acme.Shop -> a.b:\n    1:1:void com.acme.Cart.add(int):20:20 -> c\n    1:1:void buy():7 -> c\n    \
        5:9:int price():40:44 -> d\ncom.acme.NoStock -> a.c:\n";

    fn text(line: &str) -> Vec<String> {
        let mapping = Mapping::parse(Path::new("m"), MAPPING.as_bytes()).unwrap();
        let map = MethodMap::parse(Path::new("m"), b"243,1,a.b d ()I".to_vec()).unwrap().retraced(&mapping);
        MappedText { mapping: Some(&mapping), methods: Some(&map) }.line(line)
    }

    #[test]
    fn frames_are_taken_apart_where_they_stand() {
        assert_eq!(
            text("  at a.b.c(SourceFile:1)"),
            ["  at com.acme.Cart.add(Cart.java:20)", "  at com.acme.Shop.buy(Shop.java:7)"]
        );
        assert_eq!(
            text("E/x: \tat a.b.d(R8:6) ~[1.0]"),
            ["E/x: \tat com.acme.Shop.price(Shop.java:41) ~[1.0]"]
        );
        assert_eq!(
            text("\tat java.lang.Thread.run(Thread.java:1)"),
            ["\tat java.lang.Thread.run(Thread.java:1)"]
        );
    }

    #[test]
    fn classes_are_renamed_and_words_are_not() {
        assert_eq!(
            text("Caused by: a.c: a b c a.c."),
            ["Caused by: com.acme.NoStock: a b c com.acme.NoStock."]
        );
        assert_eq!(text("what (a.b) was"), ["what (com.acme.Shop) was"]);
        assert_eq!(text("nothing at all, at (noon)"), ["nothing at all, at (noon)"]);
    }

    #[test]
    fn matrix_s_lines_get_their_method() {
        assert_eq!(text("0,1048574,1,1006"), ["0,1048574,1,1006  android.os.Handler.dispatchMessage"]);
        assert_eq!(text("1,243,1,1000"), ["1,243,1,1000  com.acme.Shop.price"]);
        assert_eq!(text("1,7,1,1000"), ["1,7,1,1000  (no method of this map)"]);
        assert_eq!(
            (text("1,2,3"), text("1,2,3,4,5")),
            (vec!["1,2,3".to_owned()], vec!["1,2,3,4,5".to_owned()])
        );
    }

    proptest! {
        #[test]
        fn any_line_stays_a_line(line in ".{0,80}", frame in "(at )?[a-c.]{0,6}\\([a-zA-Z:0-9]{0,9}\\)?.{0,9}") {
            prop_assert!(!text(&line).is_empty() && !text(&frame).is_empty());
        }
    }
}
