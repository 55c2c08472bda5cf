//! Stack frames: Java and kernel frames, and what they share with native ones.

use serde::Serialize;

use super::native_frame::NativeFrame;

/// A stack frame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Frame {
    /// A frame of the virtual machine.
    Java(JavaFrame),
    /// A native frame.
    Native(NativeFrame),
    /// A kernel frame.
    Kernel(KernelFrame),
}

/// The source location of a Java frame, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Place {
    /// The file name as written.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// True for a native method, which has neither.
    pub native_method: bool,
}

impl Place {
    /// A place in a file.
    #[must_use]
    pub fn in_file(file: &str, line: Option<u32>) -> Self {
        Self { file: Some(file.to_owned()), line, native_method: false }
    }
}

/// A Java frame.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct JavaFrame {
    /// The class, with dots.
    pub class: String,
    /// The method's name.
    pub method: String,
    /// The source location.
    #[serde(flatten)]
    pub place: Place,
    /// How many more times the same frame follows (ART folds recursion).
    pub repeated: u32,
    /// Other methods that this frame may be: `class.method` each, with `(file:line)` if known. They come from
    /// retracing, here or elsewhere.
    pub or: Vec<String>,
    /// Whether this frame was inlined into the next one (only after retracing).
    pub inlined: bool,
    /// Whether the compiler generated this method (only after retracing).
    pub synthesized: bool,
}

/// A frame of the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct KernelFrame {
    /// The function, with its offset if given.
    pub symbol: String,
}

/// Parses `at com.example.Foo.bar(Foo.java:12)`, with or without a space before the parenthesis.
pub(crate) fn java(text: &str) -> Option<JavaFrame> {
    java_text(text.strip_prefix("at ")?.trim())
}

/// The same without the `at`.
pub fn java_text(text: &str) -> Option<JavaFrame> {
    let (name, place) = match text.split_once('(') {
        Some((name, place)) => (name.trim_end(), place.strip_suffix(')').unwrap_or(place)),
        None => (text, ""),
    };
    let (class, method) = without_module(name).rsplit_once('.')?;
    if class.is_empty() || method.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    // HotSpot writes the module before the file: `(java.base@25.0.3/Object.java:389)`.
    let place =
        place.split_once('/').filter(|(module, _)| module.contains('@')).map_or(place, |(_, file)| file);
    Some(JavaFrame {
        class: class.to_owned(),
        method: method.to_owned(),
        place: parse_place(place),
        ..JavaFrame::default()
    })
}

/// `java.lang.Object.wait` of `java.base@25/java.lang.Object.wait` or `app//a.B.c`
/// (`StackTraceElement.toString`, JDK 9 and later). A hidden class's name contains a slash:
/// `a.B$$Lambda/0x000000000c040210.run`, JDK 8 to 20 with a number.
fn without_module(name: &str) -> &str {
    let Some(slash) = name.rfind('/') else { return name };
    let behind = &name[slash + 1..];
    let id = behind.split('.').next().unwrap_or_default();
    let hidden = id.starts_with("0x") || (!id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()));
    if !hidden {
        return behind;
    }
    name[..slash].rfind('/').map_or(name, |module| &name[module + 1..])
}

fn parse_place(text: &str) -> Place {
    if text.eq_ignore_ascii_case("native method") {
        return Place { native_method: true, ..Place::default() };
    }
    if text.is_empty() || text == "Unknown Source" || text == "unavailable" {
        return Place::default();
    }
    // Some runtimes write `Foo.java:-1` for an unknown line.
    match text.rsplit_once(':') {
        Some((file, line)) if line.parse::<i64>().is_ok() => {
            let line = line.parse().ok().filter(|&line| line > 0);
            if file == "unavailable" && line.is_none() {
                return Place::default();
            }
            Place::in_file(file, line)
        }
        _ => Place::in_file(text, None),
    }
}

/// Parses `... repeated 12 times`.
pub(crate) fn repeated(text: &str) -> Option<u32> {
    text.strip_prefix("... repeated ")?.strip_suffix(" times")?.trim().parse().ok()
}

/// Parses `or          .instance (JobManager.java)`: an alternative for the previous frame.
pub(crate) fn alternative(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("or ")?.trim();
    let name = rest.split_once('(').map_or(rest, |(name, _)| name.trim_end());
    (name.contains('.') && !name.contains(char::is_whitespace)).then_some(name)
}

/// Parses `kernel: futex_wait+0x1/0x2`, `kernel: (couldn't read /proc/self/task/12/stack)`, which is not a
/// frame, or `[<ffffffc000086>] __switch_to+0x70/0xdc from [<0>]`.
pub(crate) fn kernel(text: &str) -> Option<Result<KernelFrame, String>> {
    if let Some(rest) = text.strip_prefix("kernel: ") {
        let rest = rest.trim();
        if rest.starts_with('(') {
            return Some(Err(rest.trim_start_matches('(').trim_end_matches(')').to_owned()));
        }
        return Some(Ok(KernelFrame { symbol: rest.to_owned() }));
    }
    let (_, rest) = text.strip_prefix("[<")?.split_once(">] ")?;
    let symbol = rest.split_once(" from [<").map_or(rest, |(symbol, _)| symbol).trim();
    (!symbol.is_empty()).then(|| Ok(KernelFrame { symbol: symbol.to_owned() }))
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "({file}:{line})"),
            (Some(file), None) => write!(f, "({file})"),
            (None, _) if self.native_method => f.write_str("(Native method)"),
            (None, _) => f.write_str("(Unknown Source)"),
        }
    }
}

impl std::fmt::Display for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Java(java) => write!(f, "at {}.{}{}", java.class, java.method, java.place),
            Self::Native(native) => write!(f, "{native}"),
            Self::Kernel(kernel) => write!(f, "kernel: {}", kernel.symbol),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_frames_with_every_kind_of_place() {
        let native = Place { native_method: true, ..Place::default() };
        for (text, class, method, place) in [
            ("at a.b.C.d(C.java:12)", "a.b.C", "d", Place::in_file("C.java", Some(12))),
            ("at a.b.C.<init> (C.kt)", "a.b.C", "<init>", Place::in_file("C.kt", None)),
            ("at a.C.d(Native method)", "a.C", "d", native.clone()),
            ("at a.C.d(Native Method)", "a.C", "d", native.clone()),
            ("at a.C.$r8$lambda$x(unavailable:0)", "a.C", "$r8$lambda$x", Place::default()),
            ("at a.C.d(C.java:-1)", "a.C", "d", Place::in_file("C.java", None)),
            (
                "at p.x.run(:com.google.android.gms@1@1.2.3 (0-1):2)",
                "p.x",
                "run",
                Place::in_file(":com.google.android.gms@1@1.2.3 (0-1)", Some(2)),
            ),
            (
                "at a.-$$Lambda$C$x.accept (lambda)",
                "a.-$$Lambda$C$x",
                "accept",
                Place::in_file("lambda", None),
            ),
            ("at a.C.d", "a.C", "d", Place::default()),
            ("at java.base@25.0.3/a.C.d(C.java:3)", "a.C", "d", Place::in_file("C.java", Some(3))),
            ("at app//a.C.d(C.java:3)", "a.C", "d", Place::in_file("C.java", Some(3))),
            ("at a.C.d(java.base@17.0.15/Native Method)", "a.C", "d", native.clone()),
            ("at a.C.d(java.base@25.0.3/C.java:389)", "a.C", "d", Place::in_file("C.java", Some(389))),
            (
                "at a.C$$Lambda/0x0c04.run(java.base@25/Unknown Source)",
                "a.C$$Lambda/0x0c04",
                "run",
                Place::default(),
            ),
            (
                "at a.b@1/a.C$$Lambda$1/791452441.run(Unknown Source)",
                "a.C$$Lambda$1/791452441",
                "run",
                Place::default(),
            ),
        ] {
            let frame = java(text).unwrap();
            assert_eq!(
                (frame.class.as_str(), frame.method.as_str(), frame.place),
                (class, method, place),
                "{text}"
            );
        }
        for text in ["at ", "at x", "at .x(a)", "at a.(b)", "at home it is warm. (x)", "atx.y(z)"] {
            assert_eq!(java(text), None, "{text:?}");
        }
        assert_eq!(repeated("... repeated 12 times"), Some(12));
        assert_eq!(repeated("... repeated x times"), None);
        assert_eq!(alternative("or                     .getJob (JobManager.java)"), Some(".getJob"));
        assert_eq!(alternative("or not"), None);
    }

    #[test]
    fn kernel_frames_and_why_they_are_missing() {
        let frame = |symbol: &str| Some(Ok(KernelFrame { symbol: symbol.into() }));
        assert_eq!(kernel("kernel: futex_wait+0x11c/0x290"), frame("futex_wait+0x11c/0x290"));
        assert_eq!(
            kernel("[<ffffffc00008628c>] __switch_to+0x70/0xdc from [<0>] "),
            frame("__switch_to+0x70/0xdc")
        );
        assert_eq!(
            kernel("kernel: (couldn't read /proc/self/task/1/stack)"),
            Some(Err("couldn't read /proc/self/task/1/stack".into()))
        );
        assert_eq!(kernel("[<x"), None);
    }
}
