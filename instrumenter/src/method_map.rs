//! Numbers for methods, and the files that say whose they are.
//!
//! | file | lines |
//! | --- | --- |
//! | `methodMapping.txt` | `id,access,class method (descriptor)` by id, dots for slashes, access flags in decimal; the last line is that of DISPATCH, one message of a Looper |
//! | `ignoreMethodMapping.txt` | `ignore methods:`, then `class method (descriptor)` in alphabetical order |
//! | `methodMapping.txt.lines` | `id,SourceFile,line` by id: the file and the first line of a method, where the class file tells |
//!
//! The first two are Matrix's formats, and its tools read them.
//!
//! Ids count from 1 (or behind the highest of the base map) along the methods sorted by class, name
//! and descriptor, so that they depend neither on the number of threads nor on the order of inputs.
//! A class that lies in several inputs, or in several versions in a multi-release jar, has one id for
//! one method. An id whose method could not be rewritten after all stays in the map, unused.

use std::fmt::Write as _;

use trace_format::{MapId, ids};

use crate::base_map::{BaseMap, dotted, push_method};
use crate::collect::{ClassFacts, MethodFacts, Verdict};
use crate::error::Error;

/// The line of [`ids::DISPATCH`].
const DISPATCH: &str = "1,android.os.Handler dispatchMessage (Landroid.os.Message;)V";

/// The ids of a run, and the texts of its files.
pub(crate) struct MethodMap {
    /// For each class, an id for each of its methods; 0 where it is not traced.
    pub(crate) ids: Vec<Vec<u32>>,
    pub(crate) id: MapId,
    pub(crate) methods: String,
    pub(crate) ignored: String,
    pub(crate) lines: String,
}

/// A method, and where it is.
struct Row<'a> {
    class: &'a ClassFacts,
    method: &'a MethodFacts,
    /// Places of the class in the run, and of the method in the class.
    at: (usize, usize),
}

impl Row<'_> {
    fn key(&self) -> (&str, &str, &str) {
        (&self.class.name, &self.method.name, &self.method.descriptor)
    }

    fn push_to(&self, text: &mut String) {
        push_method(text, &self.class.name, &self.method.name, &self.method.descriptor);
    }
}

/// The methods that `wanted` picks, sorted by their keys; those of one key in the order of the inputs.
fn sorted(classes: &[ClassFacts], wanted: impl Fn(&Verdict) -> bool) -> Vec<Row<'_>> {
    let mut by_name: Vec<(usize, &ClassFacts)> = classes.iter().enumerate().collect();
    by_name.sort_by_key(|&(_, class)| class.name.as_str());
    let mut rows = Vec::with_capacity(classes.iter().map(|class| class.methods.len()).sum());
    // Class by class: comparing class names for each two methods would be most of the work.
    for group in by_name.chunk_by(|a, b| a.1.name == b.1.name) {
        let start = rows.len();
        for &(c, class) in group {
            let methods = class.methods.iter().enumerate().filter(|(_, method)| wanted(&method.verdict));
            rows.extend(methods.map(|(m, method)| Row { class, method, at: (c, m) }));
        }
        let group = rows.get_mut(start..).unwrap_or_default();
        group.sort_by(|a, b| {
            (&a.method.name, &a.method.descriptor).cmp(&(&b.method.name, &b.method.descriptor))
        });
    }
    rows
}

/// Numbers the methods of `classes`.
pub(crate) fn number(classes: &[ClassFacts], base: &BaseMap) -> Result<MethodMap, Error> {
    let rows = sorted(classes, |verdict| *verdict == Verdict::Trace);
    let mut numbered: Vec<Vec<u32>> = classes.iter().map(|class| vec![0; class.methods.len()]).collect();
    let mut traced = Vec::with_capacity(rows.len());
    let mut next = base.next_id();
    for group in rows.chunk_by(|a, b| a.key() == b.key()) {
        let Some(first) = group.first() else { continue };
        let (class, name, descriptor) = first.key();
        let id = base.id(class, name, descriptor).unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        for &Row { at: (c, m), .. } in group {
            if let Some(slot) = numbered.get_mut(c).and_then(|ids| ids.get_mut(m)) {
                *slot = id;
            }
        }
        traced.push((id, first));
    }
    let needed = (next - base.next_id()) as usize;
    let available = (ids::METHOD_LAST + 1 - base.next_id()) as usize;
    if needed > available {
        return Err(Error::TooManyMethods { needed, available });
    }
    // Only ids of the base map can be out of order.
    traced.sort_by_key(|&(id, _)| id);
    let ((methods, id), (lines, ignored)) = rayon::join(
        || {
            let methods = method_lines(&traced, base);
            let id = MapId::of_lines(methods.lines());
            (methods, id)
        },
        || (source_lines(&traced), ignored(classes)),
    );
    Ok(MethodMap { ids: numbered, id, methods, ignored, lines })
}

fn method_lines(traced: &[(u32, &Row<'_>)], base: &BaseMap) -> String {
    let mut text = String::with_capacity(traced.len() * 96 + 128);
    let mut old = base.lines.iter().peekable();
    let mut push_old = |text: &mut String, below: u32, unless: Option<u32>| {
        while let Some((&id, line)) = old.next_if(|&(&id, _)| id < below) {
            if Some(id) != unless {
                let _ = writeln!(text, "{id},{},{}", line.access, line.method);
            }
        }
    };
    for &(id, row) in traced {
        // Those of the base map that no longer exist; and this one, which tells its access flags of now.
        push_old(&mut text, id + 1, Some(id));
        let _ = write!(text, "{id},{},", row.method.access);
        row.push_to(&mut text);
        text.push('\n');
    }
    push_old(&mut text, u32::MAX, None);
    let _ = writeln!(text, "{},{DISPATCH}", ids::DISPATCH);
    dotted(text)
}

fn source_lines(traced: &[(u32, &Row<'_>)]) -> String {
    let mut text = String::with_capacity(traced.len() * 32);
    for (id, row) in traced {
        let file = row.class.source_file.as_deref();
        let _ = match (file, row.method.first_line) {
            (None, None) => Ok(()),
            (file, Some(line)) => writeln!(text, "{id},{},{line}", file.unwrap_or_default()),
            (Some(file), None) => writeln!(text, "{id},{file},"),
        };
    }
    text
}

fn ignored(classes: &[ClassFacts]) -> String {
    let mut rows = sorted(classes, |verdict| matches!(verdict, Verdict::Ignore | Verdict::Block));
    rows.dedup_by(|a, b| a.key() == b.key());
    let mut text = String::from("ignore methods:\n");
    for row in rows {
        row.push_to(&mut text);
        text.push('\n');
    }
    dotted(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::MethodFacts;

    fn class(name: &str, methods: &[(&str, Verdict)]) -> ClassFacts {
        let method = |(name, verdict): &(&str, Verdict)| MethodFacts {
            access: 1,
            name: (*name).into(),
            descriptor: "(La/B;)V".into(),
            first_line: Some(12),
            verdict: verdict.clone(),
        };
        ClassFacts {
            name: name.to_owned(),
            source_file: Some("B.java".to_owned()),
            methods: methods.iter().map(method).collect(),
        }
    }

    #[test]
    fn ids_follow_names_and_duplicates_share_one() {
        let classes = [
            class("b/C", &[("z", Verdict::Trace), ("a", Verdict::Ignore)]),
            class("a/B", &[("y", Verdict::Trace), ("x", Verdict::Trace)]),
            class("b/C", &[("z", Verdict::Trace)]),
            class("android/X", &[("b", Verdict::Block), ("n", Verdict::NoCode)]),
        ];
        let map = number(&classes, &BaseMap::default()).unwrap();
        assert_eq!(map.ids, [vec![3, 0], vec![2, 1], vec![3], vec![0, 0]]);
        assert_eq!(
            map.methods,
            "1,1,a.B x (La.B;)V\n2,1,a.B y (La.B;)V\n3,1,b.C z (La.B;)V\n\
             1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V\n"
        );
        assert_eq!(map.ignored, "ignore methods:\nandroid.X b (La.B;)V\nb.C a (La.B;)V\n");
        assert_eq!(map.lines, "1,B.java,12\n2,B.java,12\n3,B.java,12\n");
        assert_eq!(map.id, MapId::of_lines(map.methods.lines()));
    }

    #[test]
    fn more_methods_than_ids_is_an_error() {
        let path = std::env::temp_dir().join(format!("anrscope-base-{}.txt", std::process::id()));
        std::fs::write(&path, "1044478,1,a.B old ()V\n").unwrap();
        let base = BaseMap::read(&path);
        std::fs::remove_file(&path).unwrap();
        let base = base.unwrap();
        let one = [class("a/B", &[("x", Verdict::Trace)])];
        assert_eq!(number(&one, &base).unwrap().ids, [[ids::METHOD_LAST]]);
        let two = [class("a/B", &[("x", Verdict::Trace), ("y", Verdict::Trace)])];
        assert!(matches!(number(&two, &base), Err(Error::TooManyMethods { needed: 2, available: 1 })));
    }
}
