//! A comment of a source, and its prose.

/// A comment, or several in lines that follow each other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) kind: Kind,
    /// Lines of text without the marks of a comment, by their indices in the source.
    pub(crate) lines: Vec<(usize, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `///` or `/** */`.
    Doc,
    /// `//!` or `/*! */`.
    InnerDoc,
    /// `//` or `/* */` with only blanks before it.
    Plain,
    /// The same after code.
    Trailing,
}

impl Comment {
    /// Returns the lines of text outside of fenced examples, with `X` for code between backticks.
    pub(crate) fn prose(&self) -> Vec<(usize, String)> {
        let mut is_example = false;
        let mut in_code = false;
        let mut prose = Vec::new();
        for (line, text) in &self.lines {
            let text = text.trim();
            if text.starts_with("```") {
                is_example = !is_example;
                continue;
            }
            if is_example {
                continue;
            }
            // Code may go over the end of a line, but not of a paragraph.
            in_code &= !text.is_empty();
            let mut plain = String::new();
            for (n, piece) in text.split('`').enumerate() {
                in_code ^= n > 0;
                plain.push_str(if in_code { "X" } else { piece });
            }
            prose.push((*line, plain));
        }
        prose
    }

    pub(crate) fn first_line(&self) -> usize {
        self.lines[0].0
    }

    pub(crate) fn last_line(&self) -> usize {
        self.lines[self.lines.len() - 1].0
    }
}
