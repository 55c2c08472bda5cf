//! Source locations of methods, from the file that the instrumenter writes beside its map.
//!
//! ```text
//! 1,Main.java,12
//! 2,Main.java,
//! 3,,40
//! ```
//! The columns are `id,SourceFile,line`, with the line of the method's first instruction; either may be
//! missing. The file only adds to names, so invalid lines are ignored.

use trace_format::ids;

/// The text and the offsets of its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceSites {
    text: String,
    /// By id.
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    id: u32,
    file_at: u32,
    file_len: u32,
    line: u32,
}

impl SourceSites {
    /// Parses the valid lines of `text`, which is shorter than 4 GiB. Of a repeated id, one row is used.
    pub(crate) fn parse(text: String) -> Self {
        let mut rows = Vec::new();
        let mut at = 0;
        for raw in text.split_inclusive('\n') {
            let start = at;
            at += raw.len();
            let Some((number, rest)) = raw.trim_end().split_once(',') else { continue };
            let Some((file, line)) = rest.rsplit_once(',') else { continue };
            let Some(id) = number.parse().ok().filter(|id| ids::is_method(*id)) else { continue };
            let file_at = (start + number.len() + 1) as u32;
            rows.push(Row { id, file_at, file_len: file.len() as u32, line: line.parse().unwrap_or(0) });
        }
        rows.sort_by_key(|row| row.id);
        Self { text, rows }
    }

    /// File, empty if unknown, and line, 0 if unknown.
    pub(crate) fn get(&self, id: u32) -> Option<(&str, u32)> {
        let row = self.rows[self.rows.binary_search_by_key(&id, |row| row.id).ok()?];
        let at = row.file_at as usize;
        Some((&self.text[at..at + row.file_len as usize], row.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_there_is_found_and_the_rest_is_passed_over() {
        let text = "7,B,ü.java,9\r\n1,Main.java,12\nnonsense\n2,Main.java,\n3,,40\n0,A.java,1\nx,A.java,1\n4,A.java,x";
        let sites = SourceSites::parse(text.to_owned());
        let all: Vec<_> = (0..9).map(|id| sites.get(id)).collect();
        assert_eq!(
            all,
            [
                None,
                Some(("Main.java", 12)),
                Some(("Main.java", 0)),
                Some(("", 40)),
                Some(("A.java", 0)),
                None,
                None,
                Some(("B,ü.java", 9)),
                None
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_gives_files_of_its_own(text in "([0-9]{0,7},?[^\n]{0,6},?[0-9]{0,12}\n?){0,12}") {
            let sites = SourceSites::parse(text.clone());
            for row in &sites.rows {
                prop_assert!(text.contains(sites.get(row.id).unwrap().0));
            }
        }
    }
}
