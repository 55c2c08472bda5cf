//! A recorded wait with its names, as pages and rules see it.

use serde::{Serialize, Serializer};
use trace_format::event::{CallId, WaitKind};

/// What is recorded of a wait.
///
/// A blocking call is named by what the program calls. The class of the object alone would not do: a reader may read from a file,
/// from a connection or from the console, and so may each of its methods. Calls that a user has added to the list have no name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waited<'a> {
    /// The kind of wait.
    pub kind: WaitKind,
    /// The blocking call, if it has a number.
    pub call: CallId,
    /// The class of the object that is waited for, or that is called.
    pub class: Option<&'a str>,
}

impl Waited<'_> {
    /// The blocking call, or the object of another wait: what follows the words of the kind.
    pub fn object(self) -> String {
        if self.kind != WaitKind::Blocking {
            return self.class.unwrap_or("an object of unknown class").to_owned();
        }
        let name = self.call.name();
        let is_of_call =
            |class: &&str| name.and_then(|name| name.rsplit_once('.')).is_some_and(|(of, _)| of == *class);
        let class = self.class.filter(|class| !is_of_call(class));
        let on = class.map_or_else(String::new, |class| format!(" on {class}"));
        format!("{}{on}", name.unwrap_or("a blocking call"))
    }

    /// The wait in a few words, which follow "waited", with the lock's identity if it has one.
    pub fn words(self, lock: u64) -> String {
        let phrases = self.kind.phrases();
        let object = if phrases.has_object { format!(" {}", self.object()) } else { String::new() };
        let is_lock = lock > 0 && self.kind.has_lock();
        let lock = if is_lock { format!(" (0x{lock:x})") } else { String::new() };
        format!("{}{object}{lock}", phrases.waited)
    }
}

/// Serializes the name of a call, null if it is not known.
pub fn serialize_call<S: Serializer>(call: &CallId, serializer: S) -> Result<S::Ok, S::Error> {
    call.name().serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_name_the_call_or_say_that_it_is_not_known() {
        let words = |kind: WaitKind, call: &str, class: Option<&str>| {
            let call = call.rsplit_once('.').map_or(CallId(0), |(of, method)| CallId::of(of, method));
            Waited { kind, call, class }.words(0x17)
        };
        let blocking = |call, class| words(WaitKind::Blocking, call, class);
        let reader = "java.io.BufferedReader";
        assert_eq!(
            blocking("java.io.BufferedReader.readLine", Some(reader)),
            "in java.io.BufferedReader.readLine"
        );
        assert_eq!(
            blocking("java.io.InputStream.read", Some("com.acme.Feed")),
            "in java.io.InputStream.read on com.acme.Feed"
        );
        assert_eq!(blocking("java.net.InetAddress.getByName", None), "in java.net.InetAddress.getByName");
        assert_eq!(blocking("", Some(reader)), "in a blocking call on java.io.BufferedReader");
        assert_eq!(blocking("", None), "in a blocking call");
        assert_eq!(words(WaitKind::Monitor, "", Some("com.acme.Db")), "for the lock of com.acme.Db (0x17)");
        assert_eq!(words(WaitKind::Park, "", None), "parked on an object of unknown class (0x17)");
        assert_eq!(words(WaitKind::Sleep, "java.lang.Thread.sleep", None), "in Thread.sleep");
    }
}
