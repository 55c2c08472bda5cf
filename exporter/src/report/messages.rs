//! Names of messages on the page.

use trace_format::Texts;
use trace_format::event::Message;

use crate::model::message_name;

/// The name of a kind of messages.
pub(super) fn message_kind_name(texts: &Texts, message: &Message) -> String {
    if *message == Message::default() {
        // A message that is entered and left like a method has no other name.
        return "android.os.Handler.dispatchMessage".to_owned();
    }
    message_name(texts, message)
}
