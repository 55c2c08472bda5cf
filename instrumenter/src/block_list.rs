//! Block lists: Matrix's syntax without its quirks.
//!
//! ```text
//! # a comment
//! [package]
//! -keepclass   com/acme/Hot
//! -keeppackage com/acme/generated/
//! com.acme.util
//! ```
//!
//! | line | blocks |
//! | --- | --- |
//! | `-keepclass NAME` | the class and those nested in it |
//! | `-keeppackage NAME` | every class in the package and below it |
//! | `NAME` | both: the class and the package of that name |
//!
//! Dots and slashes are equivalent, and a trailing one is ignored, as are surrounding spaces and CRLF. `[...]` lines
//! are ignored. Any other line is an error, because a class in a silently ignored line would be traced by
//! mistake.
//!
//! Matrix, and `--compat matrix`, behave differently: an entry is a plain prefix, so that `-keepclass a/B` also
//! blocks `a.Bee`, and with a mapping the obfuscated name of the entry is compared with the original name of the
//! class. Here an entry ends where a name ends, and all names are the original ones.

use std::path::Path;

use crate::error::Error;
use crate::filter::{Entry, Filter, Scope};

impl Filter {
    /// Adds the entries of a block list.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or an invalid line.
    pub fn read_block_list(&mut self, path: &Path) -> Result<(), Error> {
        let text = std::fs::read_to_string(path).map_err(Error::reading(path))?;
        self.add_block_list(path, &text)
    }

    pub(crate) fn add_block_list(&mut self, path: &Path, text: &str) -> Result<(), Error> {
        for (index, line) in text.trim_start_matches('\u{FEFF}').lines().enumerate() {
            let number = index + 1;
            let failed = |what: String, cure| Error::Line { path: path.into(), line: number, what, cure };
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', '[']) {
                continue;
            }
            let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let (scope, name) = match keyword {
                "-keepclass" => (Scope::Class, rest.trim()),
                "-keeppackage" => (Scope::Package, rest.trim()),
                _ if keyword.starts_with('-') => {
                    return Err(failed(
                        format!("unknown keyword {keyword:?}"),
                        "write -keepclass NAME, -keeppackage NAME or just a name",
                    ));
                }
                _ => (Scope::Either, line),
            };
            let name = name.replace('.', "/");
            let name = name.trim_end_matches('/');
            if name.is_empty() {
                return Err(failed(format!("{keyword} without a name"), "name a class or package"));
            }
            if name.contains(char::is_whitespace) || name.contains('*') {
                return Err(failed(
                    format!("{name:?} is not a class or package"),
                    "write one name per line, like com/acme/util; wildcards belong in a rules file",
                ));
            }
            self.blocked.push(Entry { name: name.to_owned(), scope, origin: Some((path.into(), number)) });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filter(text: &str) -> Result<Filter, Error> {
        let mut filter = Filter::none();
        filter.add_block_list(Path::new("block.txt"), text)?;
        Ok(filter)
    }

    #[test]
    fn matrix_block_lists_are_read_without_its_quirks() {
        let text = "\u{FEFF}[package]\r\n#-keepclass off/A\r\n  -keepclass \t blk/Blocked  \r\n-keeppackage a.b\r\n\
                    -keeppackage c/d/\n\nplain.name";
        let filter = filter(text).unwrap();
        for (class, blocked) in [
            ("off/A", false),
            ("blk/Blocked", true),
            ("blk/Blocked$Inner", true),
            ("blk/BlockedToo", false),
            ("blk/Blocked/InPackage", false),
            ("a/b/C", true),
            ("a/b", false),
            ("a/b$C", false),
            ("a/bc/D", false),
            ("c/d/e/F", true),
            ("plain/name", true),
            ("plain/name/C", true),
            ("plain/names", false),
        ] {
            assert_eq!(filter.blocks(class), blocked, "{class}");
        }
    }

    #[test]
    fn invalid_lines_are_refused_with_their_number() {
        for (text, line, part) in [
            ("a.B\n-keepall x", 2, "-keepclass NAME"),
            ("-keepclass", 1, "without a name"),
            ("-keeppackage /", 1, "without a name"),
            ("\n\na.B c.D", 3, "one name per line"),
            ("-keepclass a.*", 1, "rules file"),
        ] {
            let error = filter(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("block.txt:{line}: ")), "{error}");
            assert!(error.contains(part), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(filter) = filter(&String::from_utf8_lossy(&bytes)) {
                let _ = filter.blocks("a/B");
            }
        }

        #[test]
        fn what_is_named_is_blocked(name in "[a-z]{1,5}(/[a-z]{1,5}){0,3}", class in "[A-Z][a-z]{0,4}") {
            let list = format!("-keeppackage {name}\n-keepclass {name}/{class}");
            let class = format!("{name}/{class}");
            prop_assert!(filter(&list).unwrap().blocks(&class));
            let other = format!("{name}x/{}", "Y");
            prop_assert!(!filter(&list).unwrap().blocks(&other));
        }
    }
}
