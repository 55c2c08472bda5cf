//! Categories of slices, by which a reader can filter.

use trace_format::event::WaitKind;

use answers::answer::{CauseId, CauseKind, of_recorded};
use answers::waited::Waited;

/// A wait for a lock, and what its owner holds.
pub(crate) const LOCK: &str = "lock";
/// A call to another process.
pub(crate) const BINDER: &str = "binder";
/// A disk, a database or the network.
pub(crate) const IO: &str = "io";
/// Any other wait.
pub(crate) const WAIT: &str = "wait";
/// A thread's scheduling state.
pub(crate) const THREAD_STATE: &str = "thread_state";

/// All categories.
pub(crate) const ALL: [&str; 5] = [LOCK, BINDER, IO, WAIT, THREAD_STATE];

/// The category of a wait.
pub(super) fn of_wait(wait: Waited<'_>) -> &'static str {
    match wait.kind {
        WaitKind::Monitor => LOCK,
        WaitKind::Blocking => match of_recorded(wait) {
            CauseId::BinderCall => BINDER,
            // Whatever a stream reads from.
            CauseId::BlockingCall if wait.call.name().is_some_and(|name| name.starts_with("java.io.")) => IO,
            CauseId::BlockingCall => WAIT,
            cause if cause.kind() == CauseKind::IoWait => IO,
            _ => WAIT,
        },
        _ => WAIT,
    }
}

#[cfg(test)]
mod tests {
    use trace_format::event::CallId;

    use super::*;

    #[test]
    fn calls_are_about_what_they_call() {
        let of = |kind, class, method| {
            of_wait(Waited { kind, call: CallId::of(class, method), class: Some("com.example.Feed") })
        };
        let blocking = |class, method| of(WaitKind::Blocking, class, method);
        assert_eq!(blocking("android.os.IBinder", "transact"), BINDER);
        assert_eq!(blocking("java.net.Socket", "connect"), IO);
        assert_eq!(blocking("java.io.InputStream", "read"), IO);
        assert_eq!(blocking("android.media.MediaPlayer", "prepare"), WAIT);
        assert_eq!(blocking("com.example.Bus", "call"), WAIT);
        assert_eq!(of(WaitKind::Park, "java.util.concurrent.Future", "get"), WAIT);
        assert_eq!(of(WaitKind::Monitor, "", ""), LOCK);
    }
}
