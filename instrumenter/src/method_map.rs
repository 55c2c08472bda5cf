//! Method ids, and the map files.
//!
//! | file | lines |
//! | --- | --- |
//! | `methodMapping.txt` | `id,access,class method (descriptor)` by id, dots for slashes, access flags in decimal; the last line is that of DISPATCH, one message of a Looper |
//! | `ignoreMethodMapping.txt` | `ignore methods:`, then `class method (descriptor)` in alphabetical order |
//! | `methodMapping.txt.lines` | `id,SourceFile,line` by id: the file and the first line of a method, if the class file has them |
//!
//! The first two are Matrix's formats and work with its tools.
//!
//! Ids start at 1, or after the highest id of the base map, and follow the methods sorted by class, name and
//! descriptor. They depend neither on the number of threads nor on the order of inputs. A class that is in several
//! inputs, or in several versions in a multi-release jar, has one id per method. If a method cannot be rewritten, its
//! id stays unused in the map.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use rayon::ThreadPool;
use trace_format::{MapHash, MapId, ids};

use crate::base_map::{BaseMap, dotted, push_method};
use crate::class_facts::{ClassFacts, MethodFacts, Verdict};
use crate::error::Error;
use crate::focus::Change;

/// The line of [`ids::DISPATCH`].
pub(crate) const DISPATCH: &str = "1,android.os.Handler dispatchMessage (Landroid.os.Message;)V";

/// The ids of a run, and the texts of its map files.
#[derive(Default)]
pub(crate) struct MethodMap {
    /// For each class, the ids of its methods; 0 for those that are not traced. Empty for a class whose facts are
    /// still packed: it keeps its ids, which [`Session::ids`] returns.
    ///
    /// [`Session::ids`]: crate::session::Session::ids
    pub(crate) ids: Vec<Vec<u32>>,
    /// For each class, the change for `at`.
    pub(crate) focus: Vec<Option<Change>>,
    /// For each class, whether it is rewritten.
    pub(crate) changed: Vec<bool>,
    /// Built while classes are rewritten, which needs only the ids.
    texts: Arc<OnceLock<Texts>>,
}

/// The texts of the map files.
#[derive(Default)]
pub(crate) struct Texts {
    pub(crate) id: MapId,
    /// `None` if the existing file does not change; so with the others.
    pub(crate) methods: Option<String>,
    pub(crate) ignored: Option<String>,
    pub(crate) lines: Option<String>,
    /// See [`states`].
    pub(crate) states: Vec<u64>,
}

impl MethodMap {
    /// Returns a map with texts that are already built.
    pub(crate) fn with(ids: Vec<Vec<u32>>, texts: Texts) -> Self {
        Self { ids, texts: Arc::new(texts.into()), ..Self::default() }
    }

    /// Waits until the texts are built. A thread of the pool that builds them must not call it.
    pub(crate) fn texts(&self) -> &Texts {
        self.texts.wait()
    }

    /// Returns the ids of the methods of class `number`.
    pub(crate) fn ids_of(&self, number: usize) -> &[u32] {
        self.ids.get(number).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the change of class `number` for `at`.
    pub(crate) fn change(&self, number: usize) -> Option<&Change> {
        self.focus.get(number).and_then(Option::as_ref)
    }

    /// Returns whether class `number` is rewritten.
    pub(crate) fn changes(&self, number: usize) -> bool {
        self.changed.get(number).copied().unwrap_or(false)
    }

    /// Sets [`Self::changed`] from the ids and the changes.
    pub(crate) fn note_changed(&mut self) {
        let ids = self.ids.iter().enumerate();
        let changed = ids.map(|(number, ids)| ids.iter().any(|&id| id != 0) || self.change(number).is_some());
        self.changed = changed.collect();
    }
}

/// Bytes of the method map between two saved states of the hash.
const STATE_EVERY: usize = 64 << 10;

/// Returns the id of a method map with this text, and the state of the hash after every 64 KiB. `known` are the
/// states of another map that is equal up to byte `same`.
pub(crate) fn states(text: &str, known: &[u64], same: usize) -> (MapId, Vec<u64>) {
    let known = known.get(..(same / STATE_EVERY).min(known.len())).unwrap_or_default();
    let mut states = known.to_vec();
    let mut hash = known.last().map_or_else(MapHash::default, |&state| MapHash::behind(state));
    let rest = text.as_bytes().get(known.len() * STATE_EVERY..).unwrap_or_default();
    for piece in rest.chunks(STATE_EVERY) {
        hash.add(piece);
        if piece.len() == STATE_EVERY {
            states.push(hash.state());
        }
    }
    (hash.id(), states)
}

/// A method and its position.
struct Row<'a> {
    class: &'a ClassFacts,
    method: &'a MethodFacts,
    /// Positions of the class in the run, and of the method in the class.
    at: (usize, usize),
}

impl Row<'_> {
    fn key(&self) -> (&str, &str, &str) {
        (&self.class.name, &self.method.name, &self.method.descriptor)
    }
}

/// Returns the methods that `wanted` selects, sorted by their keys; those with equal keys in the order of the inputs.
fn sorted(classes: &[ClassFacts], wanted: impl Fn(&Verdict) -> bool) -> Vec<Row<'_>> {
    let mut by_name: Vec<(usize, &ClassFacts)> = classes.iter().enumerate().collect();
    by_name.sort_by_key(|&(_, class)| class.name.as_str());
    let mut rows = Vec::with_capacity(classes.iter().map(|class| class.methods.len()).sum());
    // Sorting class by class avoids comparing class names for each pair of methods.
    for group in by_name.chunk_by(|a, b| a.1.name == b.1.name) {
        let start = rows.len();
        for &(c, class) in group {
            let methods = class.methods.iter().enumerate().filter(|(_, method)| wanted(&method.verdict));
            rows.extend(methods.map(|(m, method)| Row { class, method, at: (c, m) }));
        }
        let group = rows.get_mut(start..).unwrap_or_default();
        group.sort_by(|a, b| a.method.key().cmp(&b.method.key()));
    }
    rows
}

/// Returns the ids that all methods keep if nothing in the maps has changed. Builds no texts.
pub(crate) fn kept(classes: &[ClassFacts], id: MapId, states: Vec<u64>) -> MethodMap {
    let ids = |class: &ClassFacts| class.methods.iter().map(|method| method.kept_id).collect();
    MethodMap::with(classes.iter().map(ids).collect(), Texts { id, states, ..Texts::default() })
}

/// Assigns ids to the methods of `classes`. The threads of `pool` build the texts.
pub(crate) fn assign_ids(
    classes: &Arc<Vec<ClassFacts>>,
    base: &Arc<BaseMap>,
    pool: &ThreadPool,
) -> Result<MethodMap, Error> {
    let (ids, traced) = pool.install(|| ids_of(classes, base))?;
    let map = MethodMap { ids, ..MethodMap::default() };
    let (classes, base, texts) = (Arc::clone(classes), Arc::clone(base), Arc::clone(&map.texts));
    // A panic there ends the program, so nothing waits forever.
    pool.spawn(move || drop(texts.set(Texts::new(&classes, &base, &traced))));
    Ok(map)
}

/// An id, and the position of the first method that has it.
type Traced = Vec<(u32, (usize, usize))>;

/// Returns the ids of all methods, and the traced methods by id.
fn ids_of(classes: &[ClassFacts], base: &BaseMap) -> Result<(Vec<Vec<u32>>, Traced), Error> {
    let rows = sorted(classes, |verdict| *verdict == Verdict::Trace);
    let mut numbered: Vec<Vec<u32>> = classes.iter().map(|class| vec![0; class.methods.len()]).collect();
    let mut traced = Vec::with_capacity(rows.len());
    // Methods of a previous run keep their ids; new ids follow those and the ids of the base map.
    let kept = rows.iter().map(|row| row.method.kept_id + 1).max().unwrap_or(0);
    let first_new = base.next_id().max(kept);
    let mut next = first_new;
    for group in rows.chunk_by(|a, b| a.key() == b.key()) {
        let Some(first) = group.first() else { continue };
        let (class, name, descriptor) = first.key();
        let kept = || group.iter().map(|row| row.method.kept_id).find(|&id| id != 0);
        let id = base.id(class, name, descriptor).or_else(kept).unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        for &Row { at: (c, m), .. } in group {
            if let Some(slot) = numbered.get_mut(c).and_then(|ids| ids.get_mut(m)) {
                *slot = id;
            }
        }
        traced.push((id, first.at));
    }
    let needed = (next - first_new) as usize;
    let available = (ids::METHOD_LAST + 1 - first_new) as usize;
    if needed > available {
        return Err(Error::TooManyMethods { needed, available });
    }
    // Only ids of the base map can be out of order.
    traced.sort_by_key(|&(id, _)| id);
    Ok((numbered, traced))
}

impl Texts {
    fn new(classes: &[ClassFacts], base: &BaseMap, traced: &[(u32, (usize, usize))]) -> Self {
        let rows = || {
            traced.iter().filter_map(|&(id, (c, m))| {
                let class = classes.get(c)?;
                Some((id, class, class.methods.get(m)?))
            })
        };
        let ((methods, (id, states)), (lines, ignored)) = rayon::join(
            || {
                let methods = method_lines(rows(), traced.len(), base);
                let states = states(&methods, &[], 0);
                (methods, states)
            },
            || (source_lines(rows()), format!("{IGNORED_HEADER}{}", ignored_lines(classes))),
        );
        Self { id, states, methods: Some(methods), ignored: Some(ignored), lines: Some(lines) }
    }
}

/// Appends a line of the method map, before [`dotted`].
pub(crate) fn push_method_line(text: &mut String, id: u32, class: &ClassFacts, method: &MethodFacts) {
    push_number(text, id);
    text.push(',');
    push_number(text, method.access.into());
    text.push(',');
    push_method(text, &class.name, &method.name, &method.descriptor);
    text.push('\n');
}

fn method_lines<'a>(
    traced: impl Iterator<Item = (u32, &'a ClassFacts, &'a MethodFacts)>,
    count: usize,
    base: &BaseMap,
) -> String {
    let mut text = String::with_capacity(count * 128 + 128);
    let mut old = base.lines.iter().peekable();
    let mut push_old = |text: &mut String, below: u32, unless: Option<u32>| {
        while let Some((&id, line)) = old.next_if(|&(&id, _)| id < below) {
            if Some(id) != unless {
                let _ = writeln!(text, "{id},{},{}", line.access, line.method);
            }
        }
    };
    for (id, class, method) in traced {
        // Lines of the base map whose methods do not exist any more. The line of this method has its current access
        // flags.
        push_old(&mut text, id + 1, Some(id));
        push_method_line(&mut text, id, class, method);
    }
    push_old(&mut text, u32::MAX, None);
    let _ = writeln!(text, "{},{DISPATCH}", ids::DISPATCH);
    dotted(text)
}

/// Returns the file of source lines. The rows are sorted by id.
pub(crate) fn source_lines<'a>(rows: impl Iterator<Item = (u32, &'a ClassFacts, &'a MethodFacts)>) -> String {
    let mut text = String::new();
    for (id, class, method) in rows {
        let (file, line) = (class.source_file.as_deref(), method.first_line);
        if file.is_none() && line.is_none() {
            continue;
        }
        push_number(&mut text, id);
        text.push(',');
        text.push_str(file.unwrap_or_default());
        text.push(',');
        if let Some(line) = line {
            push_number(&mut text, line.into());
        }
        text.push('\n');
    }
    text
}

/// Appends a number in decimal, much faster than a formatter, because a map has hundreds of thousands of numbers.
fn push_number(text: &mut String, mut number: u32) {
    let mut digits = [b'0'; 10];
    let mut start = digits.len();
    for (at, digit) in digits.iter_mut().enumerate().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
        start = at;
        if number == 0 {
            break;
        }
    }
    let digits = digits.get(start..).unwrap_or_default();
    text.push_str(core::str::from_utf8(digits).unwrap_or_default());
}

/// The first line of the list of methods that are not traced.
pub(crate) const IGNORED_HEADER: &str = "ignore methods:\n";

/// Returns the lines of these classes in the list of methods that are not traced.
pub(crate) fn ignored_lines(classes: &[ClassFacts]) -> String {
    let mut rows = sorted(classes, |verdict| {
        matches!(verdict, Verdict::Ignore | Verdict::Short | Verdict::Block | Verdict::Exclude)
    });
    rows.dedup_by(|a, b| a.key() == b.key());
    let mut text = String::new();
    for row in rows {
        let (class, name, descriptor) = row.key();
        push_method(&mut text, class, name, descriptor);
        text.push('\n');
    }
    dotted(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class_facts::tests::any_class;

    fn class(name: &str, methods: &[(&str, Verdict)]) -> ClassFacts {
        let names: Vec<&str> = methods.iter().map(|&(name, _)| name).collect();
        let mut class = any_class(name, &names);
        for (method, (_, verdict)) in class.methods.iter_mut().zip(methods) {
            method.verdict = verdict.clone();
        }
        class
    }

    fn numbered(classes: &[ClassFacts], base: BaseMap) -> Result<MethodMap, Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assign_ids(&Arc::new(classes.to_vec()), &Arc::new(base), &pool)
    }

    #[test]
    fn ids_follow_names_and_duplicates_share_one() {
        let classes = [
            class("b/C", &[("z", Verdict::Trace), ("a", Verdict::Ignore)]),
            class("a/B", &[("y", Verdict::Trace), ("x", Verdict::Trace)]),
            class("b/C", &[("z", Verdict::Trace)]),
            class("android/X", &[("b", Verdict::Block), ("n", Verdict::NoCode)]),
        ];
        let map = numbered(&classes, BaseMap::default()).unwrap();
        let texts = map.texts();
        assert_eq!(map.ids, [vec![3, 0], vec![2, 1], vec![3], vec![0, 0]]);
        assert_eq!(
            texts.methods.as_deref().unwrap(),
            "1,1,a.B x (La.B;)V\n2,1,a.B y (La.B;)V\n3,1,b.C z (La.B;)V\n\
             1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V\n"
        );
        assert_eq!(
            texts.ignored.as_deref().unwrap(),
            "ignore methods:\nandroid.X b (La.B;)V\nb.C a (La.B;)V\n"
        );
        assert_eq!(texts.lines.as_deref().unwrap(), "1,B.java,12\n2,B.java,12\n3,B.java,12\n");
        assert_eq!(texts.id, MapId::from_lines(texts.methods.as_deref().unwrap().lines()));
    }

    #[test]
    fn numbers_are_written_as_by_a_formatter() {
        for number in [0, 7, 10, 99, 100, 65_535, 1_048_574, u32::MAX] {
            let mut text = "x".to_owned();
            push_number(&mut text, number);
            assert_eq!(text, format!("x{number}"));
        }
    }

    #[test]
    fn a_map_id_is_computed_from_a_saved_state() {
        let text = "1048574,1,a.B c ()V\n".repeat(20_000);
        let (id, all) = states(&text, &[], 0);
        assert_eq!((id, all.len()), (MapId::from_lines(text.lines()), text.len() / STATE_EVERY));
        for same in [0, 1, STATE_EVERY - 1, STATE_EVERY, 3 * STATE_EVERY + 5, text.len()] {
            let mut other = text.clone();
            other.replace_range(same.min(other.len() - 1).., "x\n");
            let (id, new) = states(&other, &all, same.min(text.len() - 1));
            assert_eq!((id, &new), (MapId::from_lines(other.lines()), &states(&other, &[], 0).1), "{same}");
        }
    }

    #[test]
    fn more_methods_than_ids_is_an_error() {
        let base = || BaseMap::parse("1042430,1,a.B old ()V\n").unwrap();
        let one = [class("a/B", &[("x", Verdict::Trace)])];
        assert_eq!(numbered(&one, base()).unwrap().ids, [[ids::METHOD_LAST]]);
        let two = [class("a/B", &[("x", Verdict::Trace), ("y", Verdict::Trace)])];
        assert!(matches!(numbered(&two, base()), Err(Error::TooManyMethods { needed: 2, available: 1 })));
    }
}
