//! Which types may be `java.io.Serializable`, as far as waits need to know.

use crate::hierarchy::Hierarchy;

const SERIALIZABLE: &str = "java/io/Serializable";

/// Types that are certainly not `java.io.Serializable`, by package. A longer list only allows more waits for locks
/// to be recorded: an unlisted type counts as serializable.
const NOT_SERIALIZABLE: [(&str, &str); 6] = [
    (
        "java/lang",
        "Object Record AutoCloseable Cloneable CharSequence Comparable Iterable Runnable Thread \
         ThreadLocal InheritableThreadLocal ClassLoader Thread$UncaughtExceptionHandler",
    ),
    (
        "java/io",
        "Closeable Flushable InputStream OutputStream FilterInputStream FilterOutputStream \
         BufferedInputStream BufferedOutputStream ByteArrayOutputStream PrintStream Reader Writer",
    ),
    ("java/lang/reflect", "InvocationHandler"),
    ("java/net", "URLClassLoader"),
    (
        "java/util",
        "AbstractCollection AbstractList AbstractMap AbstractQueue AbstractSet Collection Enumeration \
         Iterator List Map Observable Queue Set TimerTask",
    ),
    ("java/util/concurrent", "Callable Executor ExecutorService"),
];

/// Packages whose types, except for exceptions, are not `java.io.Serializable`: Android passes `Parcelable` objects
/// between processes.
const NOT_SERIALIZABLE_BELOW: [&str; 5] =
    ["android/", "androidx/", "java/util/function/", "java/lang/invoke/", "kotlin/coroutines/"];

fn known_not_serializable(name: &str) -> bool {
    let throwable = name.ends_with("Exception") || name.ends_with("Error") || name.ends_with("Throwable");
    let is_listed = |(package, types): &(&str, &str)| {
        let of_package = name.rsplit_once('/').filter(|(of, _)| of == package);
        of_package.is_some_and(|(_, name)| types.split_whitespace().any(|listed| listed == name))
    };
    NOT_SERIALIZABLE.iter().any(is_listed)
        || !throwable && NOT_SERIALIZABLE_BELOW.iter().any(|package| name.starts_with(package))
}

/// Returns whether a class with these direct super types may be `java.io.Serializable`.
pub(crate) fn may_be_serializable(hierarchy: &Hierarchy, direct: &[&str]) -> bool {
    hierarchy.any(direct, |name, known| name == SERIALIZABLE || !known && !known_not_serializable(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_types_may_be_serializable() {
        let hierarchy = Hierarchy::from_pairs(&[
            ("a/Base", &["java/lang/Object", "java/lang/Runnable"]),
            ("a/Saved", &["a/Base", "java/io/Serializable"]),
            ("a/Screen", &["android/app/Activity"]),
            ("a/Loop", &["a/Loop"]),
            // On a class path with the platform's classes it is itself known.
            ("java/io/Serializable", &["java/lang/Object"]),
        ]);
        for (direct, expected) in [
            (&["java/lang/Object"][..], false),
            (&["a/Base"], false),
            (&["a/Screen", "a/Base"], false),
            (&["a/Saved"], true),
            (&["a/Unknown"], true),
            (&["a/Loop"], false),
            (&["android/util/AndroidException"], true),
            (&["java/util/ArrayList"], true),
        ] {
            assert_eq!(may_be_serializable(&hierarchy, direct), expected, "{direct:?}");
        }
    }
}
