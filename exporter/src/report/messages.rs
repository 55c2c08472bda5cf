//! What a message is called on the page.

use trace_format::Texts;
use trace_format::event::Message;

use crate::model::message_name;

/// The framework's handler for all that the system wants of the app.
const ACTIVITY_THREAD: &str = "android.app.ActivityThread$H";

/// Its messages, as AOSP's `ActivityThread.H` numbers them; those of activities up to 112 and 126 are of Android 8.1 and
/// older.
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

/// Its name in a trace, and for the framework's own what its number means.
pub(super) fn told_name(texts: &Texts, message: &Message) -> String {
    let mut name = message_name(texts, message);
    let framework = message.callback.0 == 0 && texts.get(message.target) == Some(ACTIVITY_THREAD);
    if let Some((_, code)) = CODES.iter().find(|(what, _)| framework && *what == message.what) {
        name.push(' ');
        name.push_str(code);
    }
    name
}

/// The name of a kind of messages.
pub(super) fn message_kind_name(texts: &Texts, message: &Message) -> String {
    if *message == Message::default() {
        // A message that is entered and left like a method has no other name.
        return "android.os.Handler.dispatchMessage".to_owned();
    }
    told_name(texts, message)
}
