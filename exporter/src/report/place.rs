//! What a thread does, by the method that it is in.

use super::frame::{Frame, FrameKind};

/// What a place in a stack says of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    /// The looper waits for the next message.
    Idle,
    /// A call to another process.
    Binder,
    /// A disk or the network.
    Io,
    /// Another thread, or a sleep.
    Waits,
    /// Native code that is none of these.
    Native,
    /// Java code.
    Java,
}

/// Methods that say what a thread waits for: the class's begin, the method's begin. The first that fits counts. Names of
/// AOSP's libcore, frameworks/base and of Dalvik.
const KNOWN: &[(&str, &str, Doing)] = &[
    ("android.os.MessageQueue", "nativePollOnce", Doing::Idle),
    ("android.os.MessageQueue", "next", Doing::Idle),
    ("android.os.BinderProxy", "transact", Doing::Binder),
    ("android.os.Binder", "transact", Doing::Binder),
    ("android.content.ContentResolver", "", Doing::Binder),
    ("android.content.ContentProvider", "", Doing::Binder),
    ("java.lang.Thread", "sleep", Doing::Waits),
    ("java.lang.VMThread", "sleep", Doing::Waits),
    ("java.lang.Object", "wait", Doing::Waits),
    ("java.lang.Thread", "join", Doing::Waits),
    ("java.lang.Thread", "parkFor", Doing::Waits),
    ("sun.misc.Unsafe", "park", Doing::Waits),
    ("jdk.internal.misc.Unsafe", "park", Doing::Waits),
    ("java.util.concurrent.locks.LockSupport", "park", Doing::Waits),
    ("java.net.", "", Doing::Io),
    ("java.io.", "read", Doing::Io),
    ("java.io.", "write", Doing::Io),
    ("java.io.", "sync", Doing::Io),
    ("java.io.UnixFileSystem", "", Doing::Io),
    ("sun.nio.", "", Doing::Io),
    ("java.nio.channels.", "", Doing::Io),
    ("libcore.io.", "", Doing::Io),
    ("com.android.org.conscrypt.NativeCrypto", "SSL_", Doing::Io),
    ("android.database.sqlite.", "", Doing::Io),
    ("android.app.SharedPreferencesImpl", "", Doing::Io),
    ("android.system.Os", "", Doing::Io),
];

/// What a thread does that is in this method.
pub(super) fn doing(class: &str, method: &str, native: bool) -> Doing {
    let fits = |(begin, name, _): &&(&str, &str, Doing)| class.starts_with(begin) && method.starts_with(name);
    match KNOWN.iter().find(fits) {
        Some((_, _, doing)) => *doing,
        None if native => Doing::Native,
        None => Doing::Java,
    }
}

/// Packages of the platform and of what every app carries: whose own method it was says more.
const PLATFORM: &[&str] = &[
    "android.",
    "androidx.",
    "java.",
    "javax.",
    "kotlin.",
    "kotlinx.",
    "dalvik.",
    "libcore.",
    "sun.",
    "jdk.",
    "com.android.",
    "org.json.",
    "org.apache.harmony.",
];

/// Whether a class is the app's own.
pub(super) fn is_own(class: &str) -> bool {
    !PLATFORM.iter().any(|package| class.starts_with(package))
}

/// The innermost method of the app's own.
pub(super) fn own_method(stack: &[Frame]) -> Option<&Frame> {
    stack.iter().rev().find(|f| f.kind == FrameKind::Method && is_own(parts(&f.name).0))
}

/// Class and method of `a.b.C.d`.
pub(super) fn parts(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_says_what_is_done_there() {
        let of = |name, native| {
            let (class, method) = parts(name);
            doing(class, method, native)
        };
        assert_eq!(of("android.os.BinderProxy.transactNative", true), Doing::Binder);
        assert_eq!(of("android.os.MessageQueue.nativePollOnce", true), Doing::Idle);
        assert_eq!(of("java.net.SocketInputStream.socketRead0", true), Doing::Io);
        assert_eq!(of("java.io.FileInputStream.readBytes", true), Doing::Io);
        assert_eq!(of("java.io.File.getName", false), Doing::Java);
        assert_eq!(of("com.acme.Map.nativeRender", true), Doing::Native);
        assert_eq!((of("com.acme.Map.render", false), parts("x")), (Doing::Java, ("", "x")));
        assert!(is_own("com.acme.A") && !is_own("java.util.List") && !is_own("com.android.internal.X"));
    }
}
