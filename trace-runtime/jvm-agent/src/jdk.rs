//! Which of the JDK's own classes are traced: none unless they are chosen by name.

use thiserror::Error;

/// Makes the error of a refused package, from its name.
type ErrorOf = fn(String) -> JdkError;

/// Names that cannot be chosen, and why. Internal ones; each is a package with those below it, or a class with those nested in it.
const REFUSED: [(&str, ErrorOf); 10] = [
    ("java/lang", JdkError::Recorder),
    ("java/util/concurrent/atomic", JdkError::Recorder),
    ("java/util/concurrent/locks", JdkError::Recorder),
    ("java/util/concurrent/CountDownLatch", JdkError::Recorder),
    ("java/util/concurrent/FutureTask", JdkError::Recorder),
    ("java/util/concurrent/Semaphore", JdkError::Recorder),
    ("jdk/internal", JdkError::Jvm),
    ("sun/invoke", JdkError::Jvm),
    ("sun/misc", JdkError::Recorder),
    ("sun/reflect", JdkError::Jvm),
];

/// Why a name is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JdkError {
    /// It is no name of a package or class.
    #[error("{0:?} is no name of a package or class, such as java.util.concurrent")]
    NoName(String),
    /// The recorder calls these classes itself: a call in there would record itself, without an end.
    #[error("{0} cannot be traced, since the recorder itself calls it: choose another package")]
    Recorder(String),
    /// The JVM needs these classes as they are: it generates them, or calls them at points where no other code may run.
    #[error("{0} cannot be traced, since the JVM relies on it: choose another package")]
    Jvm(String),
}

/// The classes of the JDK that are traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JdkClasses {
    /// Internal names of packages and classes.
    chosen: Vec<String>,
}

impl JdkClasses {
    /// Adds a package with those below it, or a class with those nested in it.
    ///
    /// # Errors
    /// If none of them can be traced.
    pub fn add(&mut self, name: &str) -> Result<(), JdkError> {
        let internal = name.trim().replace('.', "/");
        let is_part =
            |part: &str| !part.is_empty() && !part.contains([';', '[', ',', '*', '\n', '\r', ' ', '=']);
        if !internal.split('/').all(is_part) {
            return Err(JdkError::NoName(name.to_owned()));
        }
        match refused(&internal) {
            Some(why) => Err(why(name.to_owned())),
            None => {
                self.chosen.push(internal);
                Ok(())
            }
        }
    }

    /// Whether none is traced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// Internal names of the packages and classes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.chosen.iter().map(String::as_str)
    }

    /// Whether the class with this internal name is traced.
    #[must_use]
    pub fn has(&self, class: &str) -> bool {
        self.chosen.iter().any(|chosen| covers(chosen, class)) && refused(class).is_none()
    }
}

fn refused(class: &str) -> Option<fn(String) -> JdkError> {
    REFUSED.into_iter().find(|(name, _)| covers(name, class)).map(|(_, why)| why)
}

fn covers(name: &str, class: &str) -> bool {
    class.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '$']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str]) -> JdkClasses {
        let mut classes = JdkClasses::default();
        names.iter().for_each(|name| classes.add(name).unwrap());
        classes
    }

    #[test]
    fn a_package_has_those_below_it_but_for_what_the_recorder_calls() {
        let classes = chosen(&["java.util", "java/net/Socket"]);
        for (class, expected) in [
            ("java/util/concurrent/ThreadPoolExecutor$Worker", true),
            ("java/util/ArrayList", true),
            ("java/net/Socket", true),
            ("java/net/Socket$1", true),
            ("java/net/SocketImpl", false),
            ("java/utility/A", false),
            ("java/util/concurrent/locks/ReentrantLock", false),
            ("java/util/concurrent/FutureTask$WaitNode", false),
            ("java/lang/Thread", false),
        ] {
            assert_eq!(classes.has(class), expected, "{class}");
        }
        let all = chosen(&["java", "jdk", "sun"]);
        assert!(all.has("java/io/File") && all.has("sun/nio/ch/Net") && all.has("jdk/net/Sockets"));
        assert!(!all.has("java/lang/invoke/MethodHandle") && !all.has("jdk/internal/misc/VM"));
    }

    #[test]
    fn what_cannot_be_traced_is_refused_with_the_reason() {
        let error = |name: &str| JdkClasses::default().add(name).unwrap_err().to_string();
        assert!(
            error("java.lang.String").contains("the recorder itself calls it"),
            "{}",
            error("java.lang.String")
        );
        assert!(error("jdk.internal.misc").contains("the JVM relies on it"));
        for bad in ["", "java..net", "java.net.*", "java.net;", "a b"] {
            assert!(error(bad).contains("no name of a package"), "{bad}");
        }
    }

    /// The constant pools of the recorder's Java classes name the classes that they call.
    #[test]
    #[cfg(target_os = "linux")]
    fn no_class_that_the_recorder_calls_can_be_chosen() {
        let all = chosen(&["java", "javax", "jdk", "sun", "com"]);
        let mut seen = Vec::new();
        for (_, bytes) in crate::CLASSES {
            let u2 = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
            let (mut at, mut index, mut texts, mut classes) =
                (10, 1, std::collections::BTreeMap::new(), Vec::new());
            while index < u2(8) {
                // JVMS 4.4: sizes of the entries by their tags.
                let size = match bytes[at] {
                    1 => {
                        let length = u2(at + 1);
                        texts.insert(
                            index,
                            String::from_utf8_lossy(&bytes[at + 3..at + 3 + length]).into_owned(),
                        );
                        3 + length
                    }
                    7 => {
                        classes.push(u2(at + 1));
                        3
                    }
                    8 | 16 => 3,
                    15 => 4,
                    5 | 6 => 9,
                    _ => 5,
                };
                index += if matches!(bytes[at], 5 | 6) { 2 } else { 1 };
                at += size;
            }
            seen.extend(classes.into_iter().map(|name| texts[&name].clone()));
        }
        assert!(seen.iter().any(|class| class == "java/util/concurrent/Semaphore"), "{seen:?}");
        for class in seen {
            // It prints why nothing is recorded.
            assert!(!all.has(&class) || class == "java/io/PrintStream", "{class}");
        }
    }
}
