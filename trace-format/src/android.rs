//! Facts about Android that more than one crate relies on: method names, message codes and time limits of AOSP.

use crate::time::MS;

/// The limit for input in the foreground, from which on the system declares an ANR, ms (AOSP `ActivityManagerService`, API 21
/// to 34). A main thread that is in one message for this long is an ANR by our rule, too.
pub const ANR_LIMIT_MS: u64 = 5_000;
/// [`ANR_LIMIT_MS`] in ns.
pub const ANR_LIMIT_NS: u64 = ANR_LIMIT_MS * MS;

/// The class of a thread's message queue.
pub const MESSAGE_QUEUE: &str = "android.os.MessageQueue";
/// The interface of the handlers that run while a queue is empty.
pub const IDLE_HANDLER: &str = "android.os.MessageQueue$IdleHandler";
/// The methods of [`MESSAGE_QUEUE`] that are, or call, the wait for the next message.
pub const POLL_METHODS: &[&str] = &["nativePollOnce", "next", "nextLegacy", "nextConcurrent"];
/// The method in which a thread waits for its next message.
pub const NATIVE_POLL_ONCE: &str = "android.os.MessageQueue.nativePollOnce";

/// Whether `method` (class and method, without what follows) is the wait for the next message: a thread whose *innermost* Java
/// frame it is, is idle. Further out it says nothing, since native code calls input and descriptor listeners from within it.
///
/// ```
/// use trace_format::android::is_idle_poll;
///
/// assert!(is_idle_poll("android.os.MessageQueue.nativePollOnce"));
/// assert!(!is_idle_poll("android.os.MessageQueue.next"));
/// ```
#[must_use]
pub fn is_idle_poll(method: &str) -> bool {
    method == NATIVE_POLL_ONCE
}

/// The framework's handler for the system's requests to the app.
pub const ACTIVITY_THREAD_H: &str = "android.app.ActivityThread$H";

/// Codes (`Message.what`) of [`ACTIVITY_THREAD_H`], by their names in AOSP's `ActivityThread.H`.
pub mod h {
    /// Launches an activity (to Android 8.1).
    pub const LAUNCH_ACTIVITY: i32 = 100;
    /// Delivers a broadcast.
    pub const RECEIVER: i32 = 113;
    /// Creates a service.
    pub const CREATE_SERVICE: i32 = 114;
    /// Relaunches an activity (to Android 8.1).
    pub const RELAUNCH_ACTIVITY_8: i32 = 126;
    /// Runs the steps of an activity's life cycle (from Android 9 on).
    pub const EXECUTE_TRANSACTION: i32 = 159;
    /// Relaunches an activity (from Android 9 on).
    pub const RELAUNCH_ACTIVITY: i32 = 160;

    /// All codes that have a name here; those of activities up to 112 and 126 are of Android 8.1 and older.
    pub const NAMES: &[(i32, &str)] = &[
        (LAUNCH_ACTIVITY, "LAUNCH_ACTIVITY"),
        (101, "PAUSE_ACTIVITY"),
        (102, "PAUSE_ACTIVITY_FINISHING"),
        (103, "STOP_ACTIVITY_SHOW"),
        (104, "STOP_ACTIVITY_HIDE"),
        (105, "SHOW_WINDOW"),
        (106, "HIDE_WINDOW"),
        (107, "RESUME_ACTIVITY"),
        (108, "SEND_RESULT"),
        (109, "DESTROY_ACTIVITY"),
        (110, "BIND_APPLICATION"),
        (111, "EXIT_APPLICATION"),
        (112, "NEW_INTENT"),
        (RECEIVER, "RECEIVER"),
        (CREATE_SERVICE, "CREATE_SERVICE"),
        (115, "SERVICE_ARGS"),
        (116, "STOP_SERVICE"),
        (118, "CONFIGURATION_CHANGED"),
        (121, "BIND_SERVICE"),
        (122, "UNBIND_SERVICE"),
        (RELAUNCH_ACTIVITY_8, "RELAUNCH_ACTIVITY"),
        (145, "INSTALL_PROVIDER"),
        (EXECUTE_TRANSACTION, "EXECUTE_TRANSACTION"),
        (RELAUNCH_ACTIVITY, "RELAUNCH_ACTIVITY"),
    ];
}

/// The name of a message of this handler (`target`), if it is one of [`ACTIVITY_THREAD_H`]'s.
///
/// ```
/// use trace_format::android::message_name;
///
/// assert_eq!(message_name("android.app.ActivityThread$H", 115), Some("SERVICE_ARGS"));
/// assert_eq!(message_name("com.example.Row$H", 115), None);
/// ```
#[must_use]
pub fn message_name(target: &str, what: i32) -> Option<&'static str> {
    if target != ACTIVITY_THREAD_H {
        return None;
    }
    h::NAMES.iter().find(|(code, _)| *code == what).map(|(_, name)| *name)
}

/// The recorder's counter of frames whose metrics the system dropped, because the app's thread did not take them in time
/// (`dropCountSinceLastInvocation` of `Window.OnFrameMetricsAvailableListener`, API 24).
pub const FRAME_METRICS_DROPPED: &str = "FrameMetrics dropped";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_frameworks_handler_has_its_codes() {
        assert_eq!(message_name(ACTIVITY_THREAD_H, 115), Some("SERVICE_ARGS"));
        assert_eq!(message_name(ACTIVITY_THREAD_H, 99), None);
        assert_eq!(message_name("com.example.Row$H", 115), None);
    }
}
