//! Which class loaders find the class that rewritten code calls.
//!
//! A loader that asks its parents first, up to the boot loader, finds it. `java.lang.ClassLoader` does so, and loaders that
//! do not override `loadClass`. Others may not: those of OSGi give only some packages to their parents. A class with calls
//! that its loader cannot resolve would fail at its first call, so each such loader is asked before the first of its classes
//! is changed.
//!
//! We ask every loader, and not one of each class of loaders, because two loaders of one class may answer differently: two
//! bundles of OSGi with different imports, for example. The answer of the loader itself is certain. With a yes the JVM has
//! recorded that this loader has found the class (JVMS 5.3), and resolves the inserted calls without asking again. So the
//! question takes no time that the first call would not take.
//!
//! The question runs Java code while a class is being defined, on the thread that defines it. This is safe because the JVM
//! does the same a moment later: it asks the same loader for the superclass, on the same thread, with the same locks held
//! (JVMS 5.3.5). For a loader's first class that is a question for `java.lang.Object` at least, which goes to the boot loader
//! as ours does. A class that is defined in the course of a question is left alone until it is linked, and is retransformed
//! then, before it runs: so no question leads to another one. We do not leave every class to that moment, because a
//! retransformation visits all classes of the JVM. After 8,000 loaders it took 14 ms, and each further loader had one.

use std::cell::Cell;
use std::collections::HashSet;
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jni::sys::{jlong, jobject, jvalue};

use crate::environment::{Environment, MethodId};
use crate::java::{Global, Java};
use crate::threads::Helper;

/// The deepest chain of parents that is followed.
const MAX_DEPTH: i32 = 100;

/// How long a loader may take to answer. It loads one small class, or does not find it.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

const LOAD_CLASS: [(&CStr, &CStr); 2] = [
    (c"loadClass", c"(Ljava/lang/String;Z)Ljava/lang/Class;"),
    (c"loadClass", c"(Ljava/lang/String;)Ljava/lang/Class;"),
];

/// What is known about a loader; its number is the tag of the loader's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loader {
    /// It finds the class.
    Finds = 1,
    /// It does not find the class: its classes stay as they are.
    Blind,
    /// It has to be asked.
    Unasked,
    /// It belongs to the JDK: its classes stay as they are.
    Jdk,
    /// It was asked, and has not answered yet: another thread has its lock, and may have it for ever.
    Silent,
}

impl Loader {
    fn tag(self) -> jlong {
        self as jlong
    }

    /// Why its classes stay as they are.
    pub(crate) fn why_unchanged(self) -> &'static str {
        match self {
            Self::Silent => "another thread holds the lock of its class loader",
            _ => "its class loader does not find dev.anrscope.MethodBeat",
        }
    }

    fn of_tag(tag: jlong) -> Option<Self> {
        [Self::Finds, Self::Blind, Self::Unasked, Self::Jdk, Self::Silent]
            .into_iter()
            .find(|loader| loader.tag() == tag)
    }
}

/// The loaders of this JVM.
#[derive(Debug)]
pub(crate) struct Loaders {
    /// The methods `loadClass` of `java.lang.ClassLoader`.
    by_default: [MethodId; 2],
    question: Question,
    /// Names of classes that were left alone because their loader had not been asked.
    left: Mutex<HashSet<Box<CStr>>>,
}

impl Loaders {
    /// Learns which loaders belong to the JDK, and tags them. `None` if the JVM's class loaders are unlike OpenJDK's.
    pub(crate) fn new(java: Java, jvmti: Environment, method_beat: Global) -> Option<Self> {
        let base = java.class(c"java/lang/ClassLoader")?;
        let mut by_default = [MethodId(std::ptr::null_mut()); 2];
        for (slot, (name, descriptor)) in by_default.iter_mut().zip(LOAD_CLASS) {
            *slot = MethodId(java.method(base, name, descriptor)?);
        }
        let descriptor = c"()Ljava/lang/ClassLoader;";
        let app = java.call_static(base, c"getSystemClassLoader", descriptor, &[])?;
        // The loader of extensions before Java 9, then that of the platform. A custom system loader has the JDK's below it.
        let platform = java.call_static(base, c"getPlatformClassLoader", descriptor, &[]);
        if let Some(platform) = platform.or_else(|| java.call(app, c"getParent", descriptor)) {
            jvmti.set_tag(platform, Loader::Jdk.tag());
        }
        // `start` has found the class through it.
        jvmti.set_tag(app, Loader::Finds.tag());
        let question = Question::new(java, method_beat)?;
        Some(Self { by_default, question, left: Mutex::default() })
    }

    /// What is known about a loader. Runs no Java code.
    pub(crate) fn of(&self, java: Java, jvmti: Environment, loader: jobject) -> Loader {
        if loader.is_null() {
            return Loader::Jdk;
        }
        if let Some(known) = Loader::of_tag(jvmti.tag(loader)) {
            return known;
        }
        let known = if self.asks_its_parents(java, jvmti, loader) { Loader::Finds } else { Loader::Unasked };
        jvmti.set_tag(loader, known.tag());
        known
    }

    /// Whether a loader and all its parents leave `loadClass` as it is, up to one that is known to find the class.
    fn asks_its_parents(&self, java: Java, jvmti: Environment, loader: jobject) -> bool {
        let mut here = loader;
        // The class and the parent of each.
        let _frame = java.frame(2 * MAX_DEPTH + 16);
        for _ in 0..MAX_DEPTH {
            match Loader::of_tag(jvmti.tag(here)) {
                Some(Loader::Finds | Loader::Jdk) => return true,
                Some(Loader::Blind | Loader::Unasked | Loader::Silent) => return false,
                None => {}
            }
            let class = java.class_of(here);
            let is_default =
                LOAD_CLASS.into_iter().zip(self.by_default).all(|((name, descriptor), default)| {
                    java.method(class, name, descriptor).is_some_and(|method| MethodId(method) == default)
                });
            if !is_default {
                return false;
            }
            let Some(parent) = java.field(here, c"parent", c"Ljava/lang/ClassLoader;") else { return false };
            if parent.is_null() {
                return true;
            }
            here = parent;
        }
        false
    }

    /// Notes a class whose loader has to be asked before it is changed. Returns whether it is the first.
    pub(crate) fn leave(&self, name: &CStr) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = left.is_empty();
        left.insert(name.into());
        is_first
    }

    /// Whether the class with this name was left alone; it is forgotten.
    pub(crate) fn take(&self, name: &CStr) -> bool {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    /// What is known about a loader, which is asked if it has not answered yet. Runs Java code on this thread, which must be
    /// one of the program's that would load the class next. In the course of another question nothing is asked.
    pub(crate) fn ask(&self, java: Java, jvmti: Environment, loader: jobject) -> Loader {
        thread_local! {
            static IS_ASKING: Cell<bool> = const { Cell::new(false) };
        }
        match self.of(java, jvmti, loader) {
            // A silent one answers here: it loads a class on this thread, so no lock of another thread stops it.
            Loader::Unasked | Loader::Silent if !IS_ASKING.replace(true) => {
                let answer = self.question.put(java, jvmti, loader);
                IS_ASKING.set(false);
                answer
            }
            known => known,
        }
    }

    /// As [`ask`](Self::ask), but on the thread of `asker` and for a limited time: this thread is one that the JVM needs, such
    /// as the one that tools attach by, and the loader's lock may be part of a deadlock.
    pub(crate) fn ask_elsewhere(
        &self,
        java: Java,
        jvmti: Environment,
        asker: &mut Asker,
        loader: jobject,
    ) -> Loader {
        let known = self.of(java, jvmti, loader);
        if known != Loader::Unasked {
            return known;
        }
        let Some((vm, kept)) = java.vm().zip(java.global(loader)) else { return known };
        jvmti.set_tag(loader, Loader::Silent.tag());
        let question = self.question;
        let helper = asker.0.take().or_else(|| {
            Helper::start(vm, move |java, loader: Global| {
                // The answer counts also if it comes later.
                let answer = question.put(java, jvmti, loader.0);
                java.forget_global(loader);
                answer
            })
        });
        let Some((helper, answer)) = helper.and_then(|helper| helper.within(ANSWERS_WITHIN, kept)) else {
            return Loader::Silent;
        };
        asker.0 = Some(helper);
        answer
    }
}

/// A thread that asks one loader after the other. One that is not answered in time is left to itself, and the next question
/// has another one.
#[derive(Default)]
pub(crate) struct Asker(Option<Helper<Global, Loader>>);

/// What a loader is asked: whether it finds `method_beat`.
#[derive(Clone, Copy, Debug)]
struct Question {
    class: Global,
    for_name: MethodId,
    name: Global,
    method_beat: Global,
}

impl Question {
    fn new(java: Java, method_beat: Global) -> Option<Self> {
        let class = java.global(java.class(c"java/lang/Class")?)?;
        let descriptor = c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
        let for_name = MethodId(java.static_method(class.0, c"forName", descriptor)?);
        let name = java.global(java.string("dev.anrscope.MethodBeat")?)?;
        Some(Self { class, for_name, name, method_beat })
    }

    /// Asks a loader. Runs Java code.
    fn put(self, java: Java, jvmti: Environment, loader: jobject) -> Loader {
        let _frame = java.frame(16);
        let arguments = [jvalue { l: self.name.0 }, jvalue { z: false }, jvalue { l: loader }];
        let found = java.call_static_method(self.class.0, self.for_name.0, &arguments);
        let finds = found.is_some_and(|found| java.is_same(found, self.method_beat.0));
        let known = if finds { Loader::Finds } else { Loader::Blind };
        jvmti.set_tag(loader, known.tag());
        known
    }
}

/// True if a loader is known to be one of the JDK's, besides the boot loader.
pub(crate) fn is_jdks(jvmti: Environment, loader: jobject) -> bool {
    Loader::of_tag(jvmti.tag(loader)) == Some(Loader::Jdk)
}

/// Whether a class of the program's own loaders belongs to the JDK all the same: its tools, such as the compiler, and what
/// it generates (proxies, accessors).
pub(crate) fn is_of_jdk(name: &[u8]) -> bool {
    [&b"java/"[..], b"jdk/", b"sun/", b"com/sun/proxy/", b"com/sun/tools/"]
        .into_iter()
        .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_stand_for_loaders_and_none_for_a_new_one() {
        for loader in [Loader::Jdk, Loader::Finds, Loader::Blind, Loader::Unasked, Loader::Silent] {
            assert_eq!(Loader::of_tag(loader.tag()), Some(loader));
        }
        assert_eq!(Loader::of_tag(0), None);
    }

    #[test]
    fn names_of_the_jdk_are_whole_packages() {
        for (name, expected) in [
            (&b"jdk/proxy1/$Proxy7"[..], true),
            (b"com/sun/tools/javac/Main", true),
            (b"com/sun/xml/bind/Util", false),
            (b"sunny/Day", false),
            (b"Main", false),
        ] {
            assert_eq!(is_of_jdk(name), expected);
        }
    }
}
