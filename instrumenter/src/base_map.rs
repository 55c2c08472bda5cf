//! The method map of a previous build, whose ids are kept.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use trace_format::ids;

use crate::error::Error;

/// A line of a method map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapLine {
    /// Access flags as in the class file.
    pub(crate) access: u32,
    /// `class method (descriptor)`, all with dots. Native methods in Matrix's maps have no descriptor.
    pub(crate) method: String,
}

/// The methods of a base map, by id and by name.
#[derive(Debug, Default)]
pub(crate) struct BaseMap {
    pub(crate) lines: BTreeMap<u32, MapLine>,
    ids: HashMap<String, u32>,
}

/// Appends `class method (descriptor)` with internal names, before [`dotted`].
pub(crate) fn push_method(text: &mut String, class: &str, name: &str, descriptor: &str) {
    for part in [class, " ", name, " ", descriptor] {
        text.push_str(part);
    }
}

/// Replaces slashes with dots. Doing this for a whole file at once is much faster than name by name.
pub(crate) fn dotted(text: String) -> String {
    let mut bytes = text.into_bytes();
    bytes.iter_mut().for_each(|byte| *byte = if *byte == b'/' { b'.' } else { *byte });
    String::from_utf8(bytes).unwrap_or_else(|_| unreachable!("one ASCII character for another"))
}

impl BaseMap {
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(Error::reading(path))?;
        Self::parse(&text).map_err(|(line, what, cure)| {
            let what = what.to_owned();
            Error::Line { path: path.into(), line, what, cure }
        })
    }

    pub(crate) fn parse(text: &str) -> Result<Self, (usize, &'static str, &'static str)> {
        let mut map = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = |what, cure| (index + 1, what, cure);
            let shape = || bad("not `id,access,class method (descriptor)`", "correct or remove the line");
            let mut fields = line.splitn(3, ',');
            let mut number = || fields.next().and_then(|field| field.trim().parse::<i64>().ok());
            let (id, access) = number().zip(number()).ok_or_else(shape)?;
            let access = u32::try_from(access).map_err(|_| shape())?;
            if id < 0 {
                let cure = "remove the line: activities get `at` without it";
                return Err(bad("a negative id, as old versions of Matrix wrote", cure));
            }
            // An id that does not fit is out of range anyway.
            let id = u32::try_from(id).unwrap_or(u32::MAX);
            let parts: Vec<&str> = fields.next().ok_or_else(shape)?.split_whitespace().collect();
            if !(2..=3).contains(&parts.len()) {
                return Err(shape());
            }
            if id == ids::DISPATCH {
                continue;
            }
            if !ids::is_method(id) {
                return Err(bad("an id outside 1 to 1,042,431", "remove the line to get a new id"));
            }
            let method = parts.join(" ").replace('/', ".");
            if map.ids.insert(method.clone(), id).is_some() {
                return Err(bad("a method that already has a line", "keep one of the two"));
            }
            if map.lines.insert(id, MapLine { access, method }).is_some() {
                return Err(bad("an id that is already used", "keep one of the two"));
            }
        }
        Ok(map)
    }

    /// Returns the id of a method given by internal names.
    pub(crate) fn id(&self, class: &str, name: &str, descriptor: &str) -> Option<u32> {
        // Without a base map, which is the usual case, no keys are built.
        if self.ids.is_empty() {
            return None;
        }
        let mut key = String::new();
        push_method(&mut key, class, name, descriptor);
        self.ids.get(&dotted(key)).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the first id after those of the map.
    pub(crate) fn next_id(&self) -> u32 {
        self.lines.last_key_value().map_or(ids::METHOD_FIRST, |(&last, _)| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_dots_or_slashes_are_parsed() {
        let text = "# from a build\r\n7,1,a.B run (Ljava.lang.String;)V\r\n\r\n 9 , 4106 , a/B lambda$0 ()V\n\
                    3,256,a.B nativeCall\n1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V\n";
        let map = BaseMap::parse(text).unwrap();
        assert_eq!(map.id("a/B", "run", "(Ljava/lang/String;)V"), Some(7));
        assert_eq!(map.id("a/B", "lambda$0", "()V"), Some(9));
        assert_eq!(map.id("a/B", "run", "()V"), None);
        assert_eq!((map.lines.len(), map.next_id()), (3, 10));
        assert_eq!(map.lines[&3], MapLine { access: 256, method: "a.B nativeCall".to_owned() });
    }

    #[test]
    fn an_error_names_the_invalid_line() {
        for (text, line) in [
            ("1,1,a.B c ()V\nx,1,a.B d ()V", 2),
            ("1,1", 1),
            ("1,1,lonely", 1),
            ("1,1,a b c d", 1),
            ("0,1,a.B c ()V", 1),
            ("1044480,1,a.B c ()V", 1),
            ("-1,1,a.B c ()V", 1),
            ("# x\n1048573,1,a.B c ()V", 2),
            ("99999999999999,1,a.B c ()V", 1),
            ("1,-1,a.B c ()V", 1),
            ("1,1,a.B c ()V\n1,1,a.B d ()V", 2),
            ("1,1,a.B c ()V\n2,1,a/B c ()V", 2),
        ] {
            assert_eq!(BaseMap::parse(text).unwrap_err().0, line, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            let _ = BaseMap::parse(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn lines_in_any_order_are_read_or_refused(
            lines in proptest::collection::vec("-?[0-9]{0,11},[0-9]{0,3},[a-b.]{0,4} [xy]{0,2}( \\(\\)V)?", 0..9),
        ) {
            if let Ok(map) = BaseMap::parse(&lines.join("\n")) {
                assert!(map.next_id() <= ids::METHOD_LAST + 1);
                assert_eq!(map.lines.len(), map.ids.len());
            }
        }
    }
}
