//! A Rust or Java source, taken apart into code and comments.

use crate::docs::language::comment::{Comment, Kind};
use crate::docs::language::reader::read;

/// A source whose comments and texts are taken out of its code.
pub(crate) struct Source {
    /// Lines of code, with `""` for each text. Comments leave nothing.
    pub(crate) code: Vec<String>,
    /// Length of each line as it is in the file, in characters.
    pub(crate) lengths: Vec<usize>,
    pub(crate) comments: Vec<Comment>,
}

impl Source {
    /// Reads `text`; the extension of `path` tells its language.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let (code, comments) = read(text, path.ends_with(".rs"));
        let lengths = text.split('\n').map(|line| line.chars().count()).collect();
        let mut source = Self { code, lengths, comments: Vec::new() };
        for comment in comments {
            source.add(comment);
        }
        source
    }

    /// Adds a comment, to the last one if it goes on there. A doc comment also goes on after attributes, as in rustdoc.
    fn add(&mut self, mut comment: Comment) {
        if let Some(last) = self.comments.last_mut() {
            let between = last.last_line() + 1..comment.first_line();
            let goes_on = match comment.kind {
                Kind::Trailing => false,
                Kind::Plain => between.is_empty(),
                Kind::Doc | Kind::InnerDoc => {
                    let mut between = self.code.get(between).into_iter().flatten();
                    between.all(|line| line.trim().is_empty() || is_attribute(line))
                }
            };
            if last.kind == comment.kind && goes_on {
                last.lines.append(&mut comment.lines);
                return;
            }
        }
        self.comments.push(comment);
    }

    /// Returns the line of code that a comment is about: the first one after it that is no attribute.
    pub(crate) fn item_after(&self, comment: &Comment) -> Option<&str> {
        let mut after = self.code[comment.last_line()..].iter();
        after.find(|line| !line.trim().is_empty() && !is_attribute(line)).map(String::as_str)
    }
}

/// Returns true if a line of code has an attribute of Rust's or an annotation of Java's and nothing else.
fn is_attribute(line: &str) -> bool {
    let line = line.trim();
    (line.starts_with("#[") && line.ends_with(']')) || (line.starts_with('@') && !line.ends_with(['{', ';']))
}

/// Returns the comments of a source: their kinds and the lines of their texts, joined.
fn comments(path: &str, text: &str) -> Vec<(Kind, String)> {
    let joined =
        |comment: &Comment| comment.lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("|");
    let source = Source::new(path, text);
    source.comments.iter().map(|comment| (comment.kind, joined(comment))).collect()
}

fn rust(text: &str) -> Vec<(Kind, String)> {
    comments("x.rs", text)
}

fn one(kind: Kind, text: &str) -> Vec<(Kind, String)> {
    vec![(kind, text.to_owned())]
}

#[test]
fn comments_have_kinds() {
    assert_eq!(rust("//! a\n//! b\n"), one(Kind::InnerDoc, "a|b"));
    assert_eq!(rust("    /// a\n    ///\n    /// b\nfn f();"), one(Kind::Doc, "a||b"));
    assert_eq!(rust("// a"), one(Kind::Plain, "a"));
    assert_eq!(rust("//// a"), one(Kind::Plain, "a"));
    assert_eq!(rust("f(); // a"), one(Kind::Trailing, "a"));
    assert_eq!(rust("/** a\n * b\n */"), one(Kind::Doc, "a|b|"));
    assert_eq!(rust("f(/* a /* b */ c */);"), one(Kind::Trailing, "a /* b */ c"));
    assert_eq!(rust("/**/"), one(Kind::Plain, ""));
}

#[test]
fn comments_of_one_item_are_joined() {
    assert_eq!(rust("/// a\n#[inline]\n\n/// b\nfn f();"), one(Kind::Doc, "a|b"));
    assert_eq!(rust("/** a */ /** b */\nfn f();"), one(Kind::Doc, "a|b"));
    assert_eq!(rust("/// a\nx: u8,\n/// b\ny: u8,").len(), 2);
    assert_eq!(rust("// a\n// b\n\n// c").len(), 2);
    assert_eq!(rust("f(); // a\n// b").len(), 2);
    assert_eq!(rust("//! a\n\n/// b\nfn f();").len(), 2);
}

#[test]
fn texts_hold_no_comments() {
    for text in [
        r#"let a = "// b";"#,
        r#"let a = "\\\"/// b";"#,
        "let a = \"c\n// b\n\";",
        "let a = r\"\\\"; let b = 1;",
        "let a = br##\"\"# // b\"##;",
        "let a = ['\"', '\\'', '/']; let b: &'static str = \"// c\";",
        "let for_ = a; let r#type = b;",
    ] {
        assert_eq!(rust(text), [], "{text}");
    }
    assert_eq!(rust("let a = r\"\\\"; // b"), one(Kind::Trailing, "b"));
    assert_eq!(rust("fn f<'a>(c: &'a u8) {} // b"), one(Kind::Trailing, "b"));
    assert_eq!(comments("x.java", "a = \"\"\"\n  \"// b\n\"\"\"; // c"), one(Kind::Trailing, "c"));
}

#[test]
fn macros_hold_doc_comments() {
    let text = "macro_rules! m {\n    ($(#[$a:meta])* $n:ident) => {\n        /// a\n        $(#[$a])*\n        fn $n() {}\n    };\n}";
    assert_eq!(rust(text), one(Kind::Doc, "a"));
}

#[test]
fn java_has_javadoc() {
    let text = "/**\n * a\n */\n@Override\npublic void f() {} // b\n/// c\n/* d */ char e = '\"';";
    let all = comments("x.java", text);
    let kinds: Vec<Kind> = all.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [Kind::Doc, Kind::Trailing, Kind::Plain], "{all:?}");
}

#[test]
fn lines_keep_their_numbers() {
    let source = Source::new("x.rs", "let a = \"b\nc\";\n/* d\ne */\n// f\nlet g;\n");
    assert_eq!(source.code, ["let a = \"\"", ";", "", "", "", "let g;", ""]);
    assert_eq!(source.comments[0].lines, [(2, "d".into()), (3, "e".into()), (4, "f".into())]);
    assert_eq!(source.item_after(&source.comments[0]), Some("let g;"));
}

#[test]
fn prose_leaves_out_examples_and_code() {
    let source = Source::new("x.rs", "/// a `b c\n/// d` e\n/// ```\n/// f\n/// ```\n///\n/// g");
    let prose: Vec<_> = source.comments[0].prose().into_iter().map(|(line, text)| (line + 1, text)).collect();
    assert_eq!(prose, [(1, "a X".into()), (2, "X e".into()), (6, String::new()), (7, "g".into())]);
}
