//! Names of the framework's own messages.

/// The framework's handler for the system's requests to the app.
const ACTIVITY_THREAD: &str = "android.app.ActivityThread$H";

/// Its messages, as numbered by AOSP's `ActivityThread.H`; those of activities up to 112 and 126 are from
/// Android 8.1 and earlier.
const CODES: &[(i32, &str)] = &[
    (100, "LAUNCH_ACTIVITY"),
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
    (113, "RECEIVER"),
    (114, "CREATE_SERVICE"),
    (115, "SERVICE_ARGS"),
    (116, "STOP_SERVICE"),
    (118, "CONFIGURATION_CHANGED"),
    (121, "BIND_SERVICE"),
    (122, "UNBIND_SERVICE"),
    (126, "RELAUNCH_ACTIVITY"),
    (145, "INSTALL_PROVIDER"),
    (159, "EXECUTE_TRANSACTION"),
    (160, "RELAUNCH_ACTIVITY"),
];

/// The name of a message number of this handler, if it is one of the framework's.
pub(crate) fn code_name(target: &str, what: i32) -> Option<&'static str> {
    if target != ACTIVITY_THREAD {
        return None;
    }
    CODES.iter().find(|(code, _)| *code == what).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_frameworks_handler_has_its_codes() {
        assert_eq!(code_name(ACTIVITY_THREAD, 115), Some("SERVICE_ARGS"));
        assert_eq!(code_name(ACTIVITY_THREAD, 99), None);
        assert_eq!(code_name("com.example.Row$H", 115), None);
    }
}
