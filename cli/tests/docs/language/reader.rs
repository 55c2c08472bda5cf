//! Tells code, comments and texts of a Rust or Java source apart.
//!
//! For example, `let url = "http://x"; // by now` is the code `let url = ""; ` and a comment. A text's contents are neither.

use crate::docs::language::comment::{Comment, Kind};

/// Returns the lines of code, with `""` for each text, and the comments, one for each `//`.
pub(crate) fn read(text: &str, is_rust: bool) -> (Vec<String>, Vec<Comment>) {
    let (text, code) = (text.chars().collect(), vec![String::new()]);
    let mut reader = Reader { text, at: 0, is_rust, code, comments: Vec::new() };
    reader.read();
    (reader.code, reader.comments)
}

struct Reader {
    text: Vec<char>,
    at: usize,
    is_rust: bool,
    code: Vec<String>,
    comments: Vec<Comment>,
}

impl Reader {
    fn read(&mut self) {
        while let Some(c) = self.peek(0) {
            match c {
                '/' if self.peek(1) == Some('/') => self.line_comment(),
                '/' if self.peek(1) == Some('*') => self.block_comment(),
                '"' if !self.is_rust && self.starts_with("\"\"\"") => self.string("\"\"\"", true),
                '"' => self.string("\"", true),
                '\'' if self.is_char() => self.string("'", true),
                'r' if self.is_rust && self.is_raw_string() => self.raw_string(),
                _ => self.take(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(n, c)| self.peek(n) == Some(c))
    }

    /// Takes one character as code.
    fn take(&mut self) {
        match self.text[self.at] {
            '\n' => self.code.push(String::new()),
            c => self.code.last_mut().expect("a first line").push(c),
        }
        self.at += 1;
    }

    /// Skips one character, but keeps count of lines.
    fn skip(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        if c == '\n' {
            self.code.push(String::new());
        }
        self.at += 1;
        Some(c)
    }

    /// Returns true if the quote at this place begins a character, false if it begins a lifetime.
    fn is_char(&self) -> bool {
        self.peek(1) == Some('\\') || self.peek(2) == Some('\'')
    }

    /// Skips a text with escapes, up to and with its `end`; its delimiters stay in the code.
    fn string(&mut self, end: &str, has_escapes: bool) {
        let line = self.code.len() - 1;
        self.at += end.chars().count();
        while !self.starts_with(end) {
            if has_escapes && self.peek(0) == Some('\\') {
                self.skip();
            }
            if self.skip().is_none() {
                break;
            }
        }
        self.at += end.chars().count();
        self.code[line].push_str("\"\"");
    }

    /// Returns true at `r"` or `r#"`, after at most a `b` or `c` of the same word. `for"` and `r#type` are no texts.
    fn is_raw_string(&self) -> bool {
        let hashes = self.text[self.at + 1..].iter().take_while(|c| **c == '#').count();
        let mut before = self.text[..self.at].iter().rev().take_while(|c| c.is_alphanumeric() || **c == '_');
        let is_word = match before.next() {
            None => true,
            Some('b' | 'c') => before.next().is_none(),
            Some(_) => false,
        };
        self.peek(hashes + 1) == Some('"') && is_word
    }

    fn raw_string(&mut self) {
        self.at += 1;
        let hashes = self.text[self.at..].iter().take_while(|c| **c == '#').count();
        self.string(&format!("\"{}", "#".repeat(hashes)), false);
    }

    fn line_comment(&mut self) {
        let end = self.text[self.at..].iter().position(|c| *c == '\n').unwrap_or(self.text.len() - self.at);
        let text: String = self.text[self.at + 2..self.at + end].iter().collect();
        self.at += end;
        let (kind, text) = match text.strip_prefix('/') {
            Some(doc) if self.is_rust && !doc.starts_with('/') => (Kind::Doc, doc),
            _ => match text.strip_prefix('!') {
                Some(doc) if self.is_rust => (Kind::InnerDoc, doc),
                _ => (self.plain(), text.trim_start_matches('/')),
            },
        };
        self.comments.push(Comment { kind, lines: vec![(self.code.len() - 1, text.trim().to_owned())] });
    }

    fn block_comment(&mut self) {
        let (start, first, plain) = (self.at, self.code.len() - 1, self.plain());
        let mut depth = 0;
        while self.at < self.text.len() {
            if self.starts_with("/*") && (self.is_rust || depth == 0) {
                (self.at, depth) = (self.at + 2, depth + 1);
            } else if self.starts_with("*/") {
                (self.at, depth) = (self.at + 2, depth - 1);
                if depth == 0 {
                    break;
                }
            } else {
                self.skip();
            }
        }
        let whole: String = self.text[start..self.at].iter().collect();
        let text = whole.strip_prefix("/*").and_then(|rest| rest.strip_suffix("*/")).unwrap_or_default();
        let kind = match text.chars().next() {
            Some('*') if !text.starts_with("**") => Kind::Doc,
            Some('!') if self.is_rust => Kind::InnerDoc,
            _ => plain,
        };
        let lines = text.trim_start_matches(['*', '!']).split('\n');
        let lines = lines.map(|line| line.trim().trim_matches('*').trim().to_owned());
        self.comments.push(Comment { kind, lines: (first..).zip(lines).collect() });
    }

    /// Returns the kind of a comment at this place that is no documentation.
    fn plain(&self) -> Kind {
        if self.code[self.code.len() - 1].trim().is_empty() { Kind::Plain } else { Kind::Trailing }
    }
}
