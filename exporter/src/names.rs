//! Names of methods and texts, cleaned for display.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use answers::descriptor::take_type;
use answers::text::clean;
use trace_format::event::CallId;
use trace_format::{Recording, Source, ids};

use crate::method_map::{Fit, Method, MethodMap};
use crate::warning::Warning;

/// The names of a recording's methods.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    map: Option<&'a MethodMap>,
}

/// The names to use for a recording, and warnings: first if they are not those of `map`, then of the recording itself.
pub(crate) fn names_of<'a, S: Source + ?Sized>(
    path: &Path,
    recording: &Recording<S>,
    map: &'a MethodMap,
) -> (Names<'a>, Vec<Warning>) {
    let file = path.to_owned();
    let recorded = recording.header().map_id;
    let warning = match map.fit(recorded) {
        Fit::Same => None,
        Fit::Unknown if map.is_empty() => Some(Warning::NoMap { file }),
        Fit::Unknown => Some(Warning::UnverifiedMap { file, map: map.map_id() }),
        Fit::OtherBuild => Some(Warning::MapOfOtherBuild { file, recorded, map: map.map_id() }),
    };
    let warnings = warning.into_iter().chain(Warning::of_recording(path, recording));
    (Names::of(recording, map), warnings.collect())
}

impl<'a> Names<'a> {
    /// Takes names from `map`; without one, methods are named by number.
    #[must_use]
    pub fn new(map: Option<&'a MethodMap>) -> Self {
        Self { map }
    }

    /// Takes names from `map` unless it is of another build than the recording.
    pub(crate) fn of<S: Source + ?Sized>(recording: &Recording<S>, map: &'a MethodMap) -> Self {
        Self::new(Some(map).filter(|map| map.fit(recording.header().map_id) != Fit::OtherBuild))
    }

    /// `com.example.Foo.bar`, or `method 123` if the map does not have it.
    #[must_use]
    pub fn method(&self, id: u32) -> Cow<'a, str> {
        match self.map.and_then(|map| map.get(id)) {
            Some(m) => clean(&format!("{}.{}", m.class, m.method)).into_owned().into(),
            None if id == ids::DISPATCH => Cow::Borrowed("android.os.Handler.dispatchMessage"),
            None => match CallId::of_word(id).map(CallId::name) {
                Some(call) => Cow::Borrowed(call.unwrap_or("a blocking call")),
                None => Cow::Owned(format!("method {id}")),
            },
        }
    }

    /// The methods of the map, with their ids; none without a map.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, Method<'a>)> {
        self.map.into_iter().flat_map(MethodMap::iter)
    }

    /// The method's class, name and descriptor, as the map has them.
    pub(crate) fn parts(&self, id: u32) -> Option<Method<'a>> {
        self.map?.get(id)
    }

    /// The source file of a method, and the line of its first instruction.
    pub(crate) fn source(&self, id: u32) -> Option<(String, u32)> {
        let (file, line) = self.map?.source_line(id)?;
        Some((clean(file).into_owned(), line))
    }

    /// Where a call is, by its method and line: `Cart.kt:88`, without a file `Cart.refresh:88`; `None` if either is 0, unknown.
    pub(crate) fn call_site(&self, method: u32, line: u16) -> Option<String> {
        if method == 0 || line == 0 {
            return None;
        }
        let file = self.source(method).map(|(file, _)| file).filter(|file| !file.is_empty());
        Some(format!("{}:{line}", file.unwrap_or_else(|| self.method(method).into_owned())))
    }

    /// The method as ART writes it: `void com.example.Foo.bar(int, java.lang.String)`. Unknown parts are `?`,
    /// since readers of that form expect a word before the name.
    pub(crate) fn pretty(&self, id: Option<u32>) -> String {
        let Some(id) = id else { return "? unknown()".to_owned() };
        match self.map.and_then(|map| map.get(id)) {
            Some(m) => clean(&pretty(&m)).into_owned(),
            None => format!("? {}()", self.method(id).replace(' ', "-")),
        }
    }

    /// A source location as ART writes it: `Foo.java:12`, the method's first line. Unknown parts are as in
    /// Java: `Unknown Source:0`.
    pub(crate) fn place(&self, id: Option<u32>) -> String {
        let site = id.and_then(|id| self.map?.source_line(id));
        let (file, line) = site.unwrap_or_default();
        // Readers of that form split at these characters.
        let file = clean(file).replace(['(', ')', ':'], "_");
        format!("{}:{line}", if file.is_empty() { "Unknown Source" } else { &file })
    }
}

fn pretty(m: &Method<'_>) -> String {
    let mut rest = m.descriptor.strip_prefix('(').unwrap_or_default();
    let mut parameters = String::new();
    while !rest.is_empty() && !rest.starts_with(')') {
        let Some(ty) = take_type(&mut rest, |class| class) else { break };
        let _ = write!(parameters, "{}{ty}", if parameters.is_empty() { "" } else { ", " });
    }
    rest = rest.strip_prefix(')').unwrap_or_default();
    let returns = take_type(&mut rest, |class| class).unwrap_or_else(|| "?".to_owned());
    format!("{returns} {}.{}({parameters})", m.class, m.method.replace(' ', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn methods_are_named_as_people_and_as_art_write_them() {
        let text = "1,1,com.example.Foo bar (I[[JLjava.lang.String;)V\n2,1,a.B c\n3,1,a.B d (";
        let map = MethodMap::parse(Path::new("m"), text.into()).unwrap();
        let names = Names::new(Some(&map));
        assert_eq!(names.method(1), "com.example.Foo.bar");
        assert_eq!(names.method(9), "method 9");
        assert_eq!(names.method(ids::DISPATCH), "android.os.Handler.dispatchMessage");
        assert_eq!(names.pretty(Some(1)), "void com.example.Foo.bar(int, long[][], java.lang.String)");
        assert_eq!(names.pretty(Some(2)), "? a.B.c()");
        assert_eq!(names.pretty(Some(3)), "? a.B.d()");
        assert_eq!(names.pretty(Some(9)), "? method-9()");
        assert_eq!(names.pretty(None), "? unknown()");
        assert_eq!(names.place(Some(1)), "Unknown Source:0");
        let mut map = map.clone();
        map.set_source_lines("1,Foo.java,12\n2,a (b):c.kt,".to_owned());
        let names = Names::new(Some(&map));
        assert_eq!(
            (names.place(Some(1)), names.place(Some(2))),
            ("Foo.java:12".into(), "a _b__c.kt:0".into())
        );
        assert_eq!(
            (names.place(Some(3)), names.place(None)),
            ("Unknown Source:0".into(), "Unknown Source:0".into())
        );
    }
}
