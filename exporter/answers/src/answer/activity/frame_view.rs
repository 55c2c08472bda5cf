//! A stack frame in the terms of the classification, independent of its source.

/// Calls of one package: its name, the starts of its classes' names, and the starts of their methods' names.
/// For example, `("java.util.concurrent.", &["Semaphore"], &["acquire", "tryAcquire"])`.
pub(crate) type Calls = (&'static str, &'static [&'static str], &'static [&'static str]);

/// All classes of a package, or all methods of a class.
pub(crate) const ANY: &[&str] = &[""];

/// A frame of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameView<'a> {
    /// Java or Kotlin code.
    Java {
        /// The class with its package.
        class: &'a str,
        /// The method's name.
        method: &'a str,
        /// True if it is implemented in native code.
        native: bool,
    },
    /// Native code.
    Native {
        /// The function; empty if unknown.
        symbol: &'a str,
        /// The mapped file, with its path.
        library: &'a str,
    },
    /// A function of the kernel.
    Kernel(&'a str),
}

impl<'a> FrameView<'a> {
    /// Reads `a.b.C.d(C.java:7)`, as Java's `StackTraceElement` writes it; a recorded method's name has no parenthesis.
    pub fn java(line: &'a str) -> Self {
        let (name, place) = line.split_once('(').unwrap_or((line, ""));
        let (class, method) = parts(name);
        Self::Java { class, method, native: place.starts_with("Native") }
    }

    /// True for one of these calls.
    pub(crate) fn is_one_of(&self, (package, classes, methods): &Calls) -> bool {
        let Self::Java { class, method, .. } = self else { return false };
        let of_classes = |name: &str| classes.iter().any(|start| behind(name, start).is_some());
        behind(class, package).is_some_and(of_classes)
            && methods.iter().any(|start| method.starts_with(start))
    }

    /// True for a call of the method `a.b.C.d`.
    pub fn is_call_of(&self, name: &str) -> bool {
        matches!(self, Self::Java { class, method, .. } if (*class, *method) == parts(name))
    }
}

/// As `str::strip_prefix`, but looks at the last letter before the dot first: names of packages begin alike, and the tables are
/// searched for each frame of each stack.
fn behind<'n>(name: &'n str, start: &str) -> Option<&'n str> {
    let last = start.len().wrapping_sub(2);
    if name.as_bytes().get(last) == start.as_bytes().get(last) { name.strip_prefix(start) } else { None }
}

/// Class and method of `a.b.C.d`.
pub fn parts(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}
