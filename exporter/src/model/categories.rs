//! Categories of slices, by which a reader can filter.

use trace_format::event::WaitKind;

/// A wait for a lock, and what its owner holds.
pub(crate) const LOCK: &str = "lock";
/// A call to another process.
pub(crate) const BINDER: &str = "binder";
/// A disk, a database or the network.
pub(crate) const IO: &str = "io";
/// An explicit garbage collection.
pub(crate) const GC: &str = "gc";
/// Any other wait.
pub(crate) const WAIT: &str = "wait";
/// A thread's scheduling state.
pub(crate) const THREAD_STATE: &str = "thread_state";

/// All categories.
pub(crate) const ALL: [&str; 6] = [LOCK, BINDER, IO, GC, WAIT, THREAD_STATE];

/// Blocking calls by name prefix. The first match counts.
const CALLS: [(&str, &str); 16] = [
    ("android.os.BinderProxy.", BINDER),
    ("android.os.IBinder.", BINDER),
    ("android.os.Binder.", BINDER),
    ("java.lang.System.gc", GC),
    ("java.lang.Runtime.gc", GC),
    ("dalvik.system.VMRuntime.", GC),
    ("java.io.", IO),
    ("java.nio.", IO),
    ("java.net.", IO),
    ("javax.net.", IO),
    ("libcore.io.", IO),
    ("sun.nio.", IO),
    ("android.system.Os.", IO),
    ("android.database.", IO),
    ("android.content.SharedPreferences$Editor.", IO),
    ("android.net.", IO),
];

/// The category of a wait. `call` is the function called, if it is a blocking call.
pub(super) fn of_wait(kind: WaitKind, call: Option<&str>) -> &'static str {
    match (kind, call) {
        (WaitKind::Monitor, _) => LOCK,
        (WaitKind::Blocking, Some(call)) => {
            CALLS.iter().find(|(begin, _)| call.starts_with(begin)).map_or(WAIT, |(_, category)| *category)
        }
        _ => WAIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_about_what_they_call() {
        let of = |call| of_wait(WaitKind::Blocking, Some(call));
        assert_eq!(of("android.os.BinderProxy.transact"), BINDER);
        assert_eq!(of("java.io.FileInputStream.read"), IO);
        assert_eq!(of("java.lang.Runtime.gc"), GC);
        assert_eq!((of("com.example.Wait.for"), of_wait(WaitKind::Park, None)), (WAIT, WAIT));
        assert_eq!(of_wait(WaitKind::Monitor, Some("java.io.File")), LOCK);
    }
}
