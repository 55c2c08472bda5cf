//! The method map: which method has which id in one build of the app.
//!
//! ```text
//! # comment
//! 1,1,com.example.Main onCreate (Landroid.os.Bundle;)V
//! 2,257,com.example.Native hash
//! ```
//! The columns are `id,access flags,class method descriptor`, the form of Matrix's methodMapping.txt; a method
//! without a descriptor is legal. The lines may come in any order. The map's identity
//! ([`MapId::from_lines`]) covers all lines in ascending order of id.
//!
//! A map that was written while a JVM loaded classes states its identity in its first line ([`MapId::first_line`]).
//! Its last line may be cut off, if the process was killed.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use answers::retrace::Mapping;
use trace_format::{MapId, ids, regular_file};

use crate::ExportError;
use crate::source_sites::SourceSites;

/// Maximum length of a map in bytes: fits a million methods with lines of 250 bytes.
const MAX_LENGTH: u64 = 256 << 20;

/// A parsed method map; may be empty.
///
/// ```
/// use std::path::Path;
/// use exporter::MethodMap;
///
/// let map = MethodMap::parse(Path::new("methodMapping.txt"), b"7,1,com.example.Main onCreate ()V".to_vec())?;
/// let method = map.get(7).unwrap();
/// assert_eq!((method.class, method.method, method.descriptor), ("com.example.Main", "onCreate", "()V"));
/// # Ok::<(), exporter::ExportError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MethodMap {
    text: String,
    /// By [`slot`]; ids are dense, so this is smaller than a hash table.
    lines: Vec<Line>,
    len: usize,
    id: Option<MapId>,
    sites: SourceSites,
}

/// Offsets of a line's parts in the text. A length of 0 means that the id does not exist.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    class_at: u32,
    class_len: u32,
    method_len: u32,
    descriptor_len: u32,
}

/// One method of the map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Method<'a> {
    /// The class, with dots.
    pub class: &'a str,
    /// The method's name.
    pub method: &'a str,
    /// The descriptor with its parentheses; empty if the map has none.
    pub descriptor: &'a str,
}

/// Whether a map belongs to a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// Both are of the same build.
    Same,
    /// The recording does not name its build, or there is no map.
    Unknown,
    /// A different build: its names would be plausible and wrong.
    OtherBuild,
}

impl MethodMap {
    /// A map without methods.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The identity of the map at `path`.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn id_of(path: &Path) -> Result<MapId, ExportError> {
        Ok(Self::read(path)?.map_id())
    }

    /// Reads the map at `path`, and the source files and lines of its methods at `path.lines` if that exists.
    ///
    /// # Errors
    /// If it cannot be read, or one of its lines is invalid.
    pub fn load(path: &Path) -> Result<Self, ExportError> {
        let mut map = Self::read(path)?;
        // It only adds to names: names are shorter if it is missing or not a text.
        let mut name = path.as_os_str().to_owned();
        name.push(".lines");
        let lines = regular_file::open(Path::new(&name));
        let mut text = String::new();
        if let Ok((file, _)) = lines
            && file.take(MAX_LENGTH).read_to_string(&mut text).is_ok()
        {
            map.set_source_lines(text);
        }
        Ok(map)
    }

    fn read(path: &Path) -> Result<Self, ExportError> {
        let open = |source| ExportError::Open { file: path.to_owned(), source };
        let (file, _) = regular_file::open(path).map_err(open)?;
        let mut bytes = Vec::new();
        // By content, not by metadata: the file may grow.
        file.take(MAX_LENGTH + 1).read_to_end(&mut bytes).map_err(open)?;
        Self::parse(path, bytes)
    }

    /// Takes the source files and lines of the methods from the text of the instrumenter's `.lines` file.
    /// Invalid lines are ignored.
    pub fn set_source_lines(&mut self, text: String) {
        self.sites = SourceSites::parse(text);
    }

    /// The source file of a method, empty if unknown, and its first line there, 0 if unknown.
    #[must_use]
    pub fn source_line(&self, id: u32) -> Option<(&str, u32)> {
        self.sites.get(id)
    }

    /// Parses the bytes of a map; `file` is used in errors only.
    ///
    /// # Errors
    /// If a line is invalid, or the text is not UTF-8.
    pub fn parse(file: &Path, bytes: Vec<u8>) -> Result<Self, ExportError> {
        let bad = |line: usize, what| ExportError::MapLine { file: file.to_owned(), line, what };
        let length = bytes.len() as u64;
        if length > MAX_LENGTH {
            return Err(ExportError::MapTooLarge { file: file.to_owned(), length, limit: MAX_LENGTH });
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            let upto = e.utf8_error().valid_up_to();
            let line = 1 + memchr::memchr_iter(b'\n', &e.as_bytes()[..upto]).count();
            bad(line, "not UTF-8")
        })?;
        let mut map = Self { text, lines: Vec::new(), len: 0, id: None, sites: SourceSites::default() };
        let mut whole: Vec<(u32, Range<usize>)> = Vec::new();
        let stated = map.text.lines().next().and_then(MapId::of_first_line);
        let mut at = 0;
        for (number, raw) in map.text.split_inclusive('\n').enumerate() {
            let start = at;
            at += raw.len();
            let line = raw.strip_suffix('\n').unwrap_or(raw);
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if stated.is_some() && !raw.ends_with('\n') {
                // Cut off, so its id was never used: a class runs after its lines are complete.
                continue;
            }
            let (id, parsed) = parse_line(line, start).map_err(|what| bad(number + 1, what))?;
            let index = slot(id);
            if map.lines.len() <= index {
                map.lines.resize(index + 1, Line::default());
            }
            if map.lines[index].class_len != 0 {
                return Err(bad(number + 1, "this id is given twice"));
            }
            map.lines[index] = parsed;
            whole.push((id, start..start + line.len()));
        }
        whole.sort_unstable_by_key(|(id, _)| *id);
        map.len = whole.len();
        map.id = stated;
        if stated.is_none() && !whole.is_empty() {
            map.id = Some(MapId::from_lines(whole.iter().map(|(_, range)| &map.text[range.clone()])));
        }
        Ok(map)
    }

    /// This map with the original names from before ProGuard or R8, for a build that was instrumented after
    /// them. The identity stays that of the build. Methods that the mapping does not know, or that are
    /// ambiguous, keep their names.
    #[must_use]
    pub fn retraced(&self, mapping: &Mapping) -> Self {
        let mut out =
            Self { text: String::new(), lines: vec![Line::default(); self.lines.len()], ..self.clone() };
        for (slot, line) in self.lines.iter().enumerate() {
            let Some(Method { class, method, descriptor }) = self.at(slot) else { continue };
            // Maps write class names in descriptors with dots or slashes.
            let found = mapping.method(class, method, &descriptor.replace('.', "/"));
            let (new_class, new_method) = match &found {
                Some((class, method)) => (class.as_str(), method.as_str()),
                None => (mapping.class(class).unwrap_or(class), method),
            };
            let lengths = [new_class.len(), new_method.len(), out.text.len()].map(u32::try_from);
            let [Ok(class_len), Ok(method_len), Ok(class_at)] = lengths else { break };
            out.lines[slot] = Line { class_at, class_len, method_len, descriptor_len: line.descriptor_len };
            out.text.push_str(&format!("{new_class} {new_method} {descriptor}\n"));
        }
        out
    }

    /// The identity of this map; [`MapId::UNKNOWN`] for an empty one.
    #[must_use]
    pub fn map_id(&self) -> MapId {
        self.id.unwrap_or(MapId::UNKNOWN)
    }

    /// Whether this map belongs to a recording with the map id `recorded`.
    #[must_use]
    pub fn fit(&self, recorded: MapId) -> Fit {
        match (self.map_id(), recorded) {
            (MapId::UNKNOWN, _) | (_, MapId::UNKNOWN) => Fit::Unknown,
            (a, b) if a == b => Fit::Same,
            _ => Fit::OtherBuild,
        }
    }

    /// The method with this id.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<Method<'_>> {
        if id == 0 { None } else { self.at(slot(id)) }
    }

    fn at(&self, slot: usize) -> Option<Method<'_>> {
        let line = self.lines.get(slot).filter(|l| l.class_len > 0)?;
        let class_at = line.class_at as usize;
        let method_at = class_at + line.class_len as usize + 1;
        let descriptor_at = method_at + line.method_len as usize + 1;
        Some(Method {
            class: &self.text[class_at..class_at + line.class_len as usize],
            method: &self.text[method_at..method_at + line.method_len as usize],
            descriptor: match line.descriptor_len as usize {
                0 => "",
                n => &self.text[descriptor_at..descriptor_at + n],
            },
        })
    }

    /// All methods, by id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Method<'_>)> {
        (1..self.lines.len() as u32).chain([ids::DISPATCH]).filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Number of methods.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no methods.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Where a method's line is kept: by its id, but for that of `DISPATCH`, which is far above all others, and would take 16 MB for one
/// line. No method has the id 0.
fn slot(id: u32) -> usize {
    if id == ids::DISPATCH { 0 } else { id as usize }
}

fn parse_line(line: &str, start: usize) -> Result<(u32, Line), &'static str> {
    let mut parts = line.splitn(3, ',');
    let id = parts.next().unwrap_or_default();
    let id: u32 = id.trim().parse().map_err(|_| "a line begins with the method's id, a number")?;
    if !ids::is_method(id) && id != ids::DISPATCH {
        return Err("the id is outside of 1 to 1042431 and is not DISPATCH (1048574)");
    }
    let access = parts.next().ok_or("the access flags are missing")?;
    access.trim().parse::<i64>().map_err(|_| "the access flags are no number")?;
    let name = parts.next().ok_or("class and method are missing")?;
    let (class, rest) = name.split_once(' ').ok_or("the method's name is missing")?;
    // Kotlin allows spaces in a name, so the descriptor starts at the last parenthesis.
    let (method, descriptor) = rest.rsplit_once(" (").map_or((rest, 0), |(m, d)| (m, d.len() + 1));
    if class.is_empty() || method.is_empty() {
        return Err("class or method is empty");
    }
    // MAX_LENGTH keeps all offsets within 32 bits.
    let class_at = start + line.len() - name.len();
    Ok((
        id,
        Line {
            class_at: class_at as u32,
            class_len: class.len() as u32,
            method_len: method.len() as u32,
            descriptor_len: descriptor as u32,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAP: &str = "# made by a test\n2,9,a.B native\r\n\n\
        1,1,com.example.Main onCreate (Landroid.os.Bundle;)V\n3,1,a.B my name (I)V";

    fn parse(text: &str) -> Result<MethodMap, String> {
        MethodMap::parse(Path::new("m.txt"), text.into()).map_err(|e| e.to_string())
    }

    #[cfg(unix)]
    #[test]
    fn loading_refuses_devices() {
        let error = MethodMap::load(Path::new("/dev/zero")).unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(format!("{error}: {cause}").contains("not a regular file"), "{error}: {cause}");
    }

    #[test]
    fn names_are_read_and_the_identity_is_that_of_the_sorted_lines() {
        let map = parse(MAP).unwrap();
        let m = |class, method, descriptor| Some(Method { class, method, descriptor });
        assert_eq!(map.get(1), m("com.example.Main", "onCreate", "(Landroid.os.Bundle;)V"));
        assert_eq!(map.get(2), m("a.B", "native", ""));
        assert_eq!(map.get(3), m("a.B", "my name", "(I)V"));
        assert_eq!((map.get(0), map.get(4), map.len()), (None, None, 3));
        let lines = [
            "1,1,com.example.Main onCreate (Landroid.os.Bundle;)V",
            "2,9,a.B native",
            "3,1,a.B my name (I)V",
        ];
        assert_eq!(map.map_id(), MapId::from_lines(lines));
        assert_eq!(map.fit(map.map_id()), Fit::Same);
        assert_eq!(map.fit(MapId::UNKNOWN), Fit::Unknown);
        assert_eq!(map.fit(MapId(7)), Fit::OtherBuild);
        assert_eq!(MethodMap::empty().fit(MapId(7)), Fit::Unknown);
    }

    #[test]
    fn a_map_of_a_running_program_states_its_identity_and_may_be_cut_off() {
        let text = format!("{}\n1,1,a.B c ()V\n2,1,a.B d ()V\n", MapId(7).first_line());
        let whole = parse(&text).unwrap();
        assert_eq!((whole.map_id(), whole.len(), whole.fit(MapId(7))), (MapId(7), 2, Fit::Same));
        for cut in text.len() - 14..text.len() {
            let map = parse(&text[..cut]).unwrap();
            assert_eq!((map.map_id(), map.len()), (MapId(7), 1), "{:?}", &text[..cut]);
        }
        assert_eq!(parse(&MapId(7).first_line()).unwrap().fit(MapId(7)), Fit::Same, "no class was loaded");
        let elsewhere = format!("1,1,a.B c ()V\n{}\n", MapId(7).first_line());
        assert_ne!(parse(&elsewhere).unwrap().map_id(), MapId(7));
    }

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        for (text, line) in [
            ("1,1,a b\nx,1,a b", "m.txt:2: a line begins with"),
            ("0,1,a b", "m.txt:1: the id is outside"),
            ("1044480,1,a b", "m.txt:1: the id is outside"),
            ("99999999999,1,a b", "m.txt:1:"),
            ("1,,a b", "m.txt:1: the access flags are no number"),
            ("1", "m.txt:1: the access flags are missing"),
            ("1,1", "m.txt:1: class and method"),
            ("1,1,ab", "m.txt:1: the method's name"),
            ("1,1, b", "m.txt:1: class or method is empty"),
            ("1,1,a b\n1,1,a c", "m.txt:2: this id is given twice"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(&format!("cannot read {line}")), "{text:?}: {error}");
        }
        let error = MethodMap::parse(Path::new("m.txt"), b"#\n1,1,a \xff".to_vec()).unwrap_err();
        assert!(error.to_string().starts_with("cannot read m.txt:2: not UTF-8"), "{error}");
        assert!(parse("1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V").is_ok());
    }

    #[test]
    fn obfuscated_names_are_retraced_and_the_identity_stays() {
        let text = "1,1,a.b c (I)V\n2,1,a.b c (La.b;)V\n3,1,a.b x ()V\n4,1,o.K c (I)V\n5,9,a.b d";
        let map = parse(text).unwrap();
        let mapping = "com.acme.Main -> a.b:\n    1:2:void one(int):3:4 -> c\n    void two(com.acme.Main) -> c\n    \
            void three() -> d\n";
        let mapping = Mapping::parse(Path::new("mapping.txt"), mapping.as_bytes()).unwrap();
        let retraced = map.retraced(&mapping);
        let name =
            |id| retraced.get(id).map(|m| format!("{} {} {}", m.class, m.method, m.descriptor)).unwrap();
        assert_eq!(name(1), "com.acme.Main one (I)V");
        assert_eq!(name(2), "com.acme.Main two (La.b;)V");
        assert_eq!(name(3), "com.acme.Main x ()V");
        assert_eq!(name(4), "o.K c (I)V");
        assert_eq!(name(5), "com.acme.Main three ");
        assert_eq!((retraced.map_id(), retraced.len(), retraced.get(6)), (map.map_id(), 5, None));
    }

    #[test]
    fn every_prefix_is_a_map_or_an_error() {
        for n in 0..MAP.len() {
            if let Ok(map) = parse(&MAP[..n]) {
                for id in 0..5 {
                    let _ = map.get(id);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_map_or_an_error(bytes: Vec<u8>) {
            let _ = MethodMap::parse(Path::new("m"), bytes);
        }

        #[test]
        fn anything_like_a_map_is_a_map_or_an_error(text in "([0-9]{0,3},?-?[0-9]{0,2},?[a-c .(#\n\r)]{0,8}\n?){0,8}") {
            if let Ok(map) = MethodMap::parse(Path::new("m"), text.into()) {
                for id in 0..1000 {
                    let _ = map.get(id);
                }
            }
        }
    }
}
