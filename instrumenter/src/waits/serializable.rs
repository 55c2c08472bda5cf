//! Which types may be `java.io.Serializable`, as far as waits need to know.

use crate::hierarchy::Hierarchy;

const SERIALIZABLE: &str = "java/io/Serializable";

/// Types that are certainly not `java.io.Serializable`, by full name. A longer list only allows more waits for locks
/// to be recorded: an unlisted type counts as serializable.
const NOT_SERIALIZABLE: [&str; 44] = [
    "java/lang/Object",
    "java/lang/Record",
    "java/lang/AutoCloseable",
    "java/lang/Cloneable",
    "java/lang/CharSequence",
    "java/lang/Comparable",
    "java/lang/Iterable",
    "java/lang/Runnable",
    "java/lang/Thread",
    "java/lang/ThreadLocal",
    "java/lang/InheritableThreadLocal",
    "java/lang/ClassLoader",
    "java/lang/Thread$UncaughtExceptionHandler",
    "java/io/Closeable",
    "java/io/Flushable",
    "java/io/InputStream",
    "java/io/OutputStream",
    "java/io/FilterInputStream",
    "java/io/FilterOutputStream",
    "java/io/BufferedInputStream",
    "java/io/BufferedOutputStream",
    "java/io/ByteArrayOutputStream",
    "java/io/PrintStream",
    "java/io/Reader",
    "java/io/Writer",
    "java/lang/reflect/InvocationHandler",
    "java/net/URLClassLoader",
    "java/util/AbstractCollection",
    "java/util/AbstractList",
    "java/util/AbstractMap",
    "java/util/AbstractQueue",
    "java/util/AbstractSet",
    "java/util/Collection",
    "java/util/Enumeration",
    "java/util/Iterator",
    "java/util/List",
    "java/util/Map",
    "java/util/Observable",
    "java/util/Queue",
    "java/util/Set",
    "java/util/TimerTask",
    "java/util/concurrent/Callable",
    "java/util/concurrent/Executor",
    "java/util/concurrent/ExecutorService",
];

/// Packages whose types, except for exceptions, are not `java.io.Serializable`: Android passes `Parcelable` objects
/// between processes.
const NOT_SERIALIZABLE_BELOW: [&str; 5] =
    ["android/", "androidx/", "java/util/function/", "java/lang/invoke/", "kotlin/coroutines/"];

fn known_not_serializable(name: &str) -> bool {
    let throwable = name.ends_with("Exception") || name.ends_with("Error") || name.ends_with("Throwable");
    NOT_SERIALIZABLE.contains(&name)
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
