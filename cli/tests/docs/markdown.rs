//! A parser for the part of Markdown that the pages use.

use std::fs;
use std::path::Path;

use crate::docs::repository;

/// A page of the repository.
#[derive(Debug)]
pub(crate) struct Page {
    /// Its path from the top.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A block between fences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The language of the opening fence, such as `sh`.
    pub(crate) language: String,
    /// The line of the opening fence, from 1 on.
    pub(crate) line: usize,
    pub(crate) lines: Vec<String>,
    /// The number of headings above it.
    pub(crate) section: usize,
}

/// README and the pages beside it, and all in `docs/`, `docs/evidence/` and `docs/queries/`.
pub(crate) fn pages() -> Vec<Page> {
    let root = repository();
    let mut paths = Vec::new();
    for directory in ["", "docs", "docs/evidence", "docs/queries"] {
        for entry in fs::read_dir(root.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "md") {
                paths.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    paths.sort();
    assert!(paths.iter().any(|path| path == "README.md") && paths.len() > 15, "{paths:?}");
    let page = |path: String| Page { text: fs::read_to_string(root.join(&path)).unwrap(), path };
    paths.into_iter().map(page).collect()
}

impl Page {
    /// Its blocks, in order.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        let mut section = 0;
        for (number, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(language), None) => {
                    let language = language.trim().to_owned();
                    open = Some(Block { language, line: number + 1, lines: Vec::new(), section });
                }
                (None, Some(block)) => block.lines.push(line.to_owned()),
                (None, None) => section += usize::from(line.starts_with('#')),
            }
        }
        assert!(open.is_none(), "{}: a block does not end", self.path);
        blocks
    }

    /// The lines outside of blocks and HTML comments, with their numbers.
    pub(crate) fn prose(&self) -> Vec<(usize, &str)> {
        let mut inside = false;
        let mut lines = Vec::new();
        for (number, line) in self.text.lines().enumerate() {
            if line.starts_with("```") {
                inside = !inside;
            } else if !inside && !line.starts_with("<!--") {
                lines.push((number + 1, line));
            }
        }
        lines
    }

    /// The pieces of its prose between backticks, with their lines. A piece may span two lines.
    pub(crate) fn code_spans(&self) -> Vec<(usize, String)> {
        let mut spans = Vec::new();
        let mut open: Option<(usize, String)> = None;
        for (number, line) in self.prose() {
            // A span does not go beyond its paragraph.
            if line.trim().is_empty() {
                open = None;
            }
            for (n, piece) in line.split('`').enumerate() {
                match (&mut open, n) {
                    (Some((_, text)), 0) => {
                        text.push(' ');
                        text.push_str(piece.trim_start());
                    }
                    (_, 0) => {}
                    (Some(_), _) => spans.extend(open.take()),
                    (None, _) => open = Some((number, piece.to_owned())),
                }
            }
        }
        spans
    }

    /// The anchors of its headings, as GitHub makes them.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let headings = self.prose().into_iter().filter(|(_, line)| line.starts_with('#'));
        headings.map(|(_, line)| anchor(line.trim_start_matches('#'))).collect()
    }
}

/// Letters and digits in lower case, `-` for each blank; other signs except `-` and `_` are removed.
fn anchor(heading: &str) -> String {
    let keep = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim().to_lowercase().chars().filter(keep).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The path that a link on `page` leads to.
pub(crate) fn beside(page: &str, link: &str) -> std::path::PathBuf {
    repository().join(Path::new(page).parent().unwrap()).join(link)
}

#[test]
fn a_page_is_taken_apart() {
    let text =
        "# A `b`: c--d\n\nSee `x y` and `z\nw`, [l](m#n).\n\n```sh\nls\n```\n\n## E\n\n```\nout\n```\n";
    let page = Page { path: "p.md".into(), text: text.into() };
    assert_eq!(page.anchors(), ["a-b-c--d", "e"]);
    assert_eq!(page.code_spans(), [(1, "b".into()), (3, "x y".into()), (3, "z w".into())]);
    let blocks = page.blocks();
    assert_eq!((blocks[0].language.as_str(), blocks[0].section, blocks[0].line), ("sh", 1, 6));
    assert_eq!((blocks[1].lines.as_slice(), blocks[1].section), (&["out".to_owned()][..], 2));
}
