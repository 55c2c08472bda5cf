//! What a thread is doing, in a few words: from its state and its innermost frames.

use trace_format::android::NATIVE_POLL_ONCE;

use super::frame::Frame;
use super::lock_line::LockKind;
use super::model::{Thread, ThreadForm};
use super::thread_state::StateKind;

/// Frames that are more specific than the state: the first one that is among the innermost frames applies.
const SPECIFIC_FRAMES: [(&str, &str); 16] = [
    (NATIVE_POLL_ONCE, "is idle: it waits for the next message"),
    ("android.os.BinderProxy.transactNative", "waits for another process to answer a binder call"),
    ("android.os.BinderProxy.transact", "waits for another process to answer a binder call"),
    ("IPCThreadState::waitForResponse", "waits for another process to answer a binder call"),
    ("IPCThreadState::joinThreadPool", "is idle: it waits for binder calls"),
    ("IPCThreadState14joinThreadPoolEb", "is idle: it waits for binder calls"),
    ("LockSupport.park", "is parked: it waits for a lock, condition or future of java.util.concurrent"),
    ("Unsafe.park", "is parked: it waits for a lock, condition or future of java.util.concurrent"),
    ("android.database.sqlite.SQLiteConnection.native", "is in SQLite"),
    ("java.lang.Thread.sleep", "sleeps"),
    ("java.net.SocketInputStream.", "reads from a socket"),
    ("sun.nio.ch.Net.poll", "waits for a socket"),
    ("sun.nio.ch.EPoll.wait", "waits for a socket of a selector"),
    ("jdk.internal.vm.Continuation.run", "carries a virtual thread"),
    ("libcore.io.Linux.", "is in a system call"),
    ("art::ConditionVariable::", "waits within ART"),
];
/// Number of frames of each kind examined; frames further out are only callers.
const MAX_FRAMES: usize = 12;

/// What the thread is doing; `channel` is where it waits in the kernel, if known.
pub fn in_words(thread: &Thread, channel: Option<&str>) -> String {
    if channel.is_some_and(|channel| channel.contains("freezer")) {
        return "is frozen by the system".to_owned();
    }
    let object = |class: Option<&str>, address: Option<u64>| match (class, address) {
        (Some(class), Some(address)) => format!("{class} (0x{address:08x})"),
        (Some(class), None) => class.to_owned(),
        (None, Some(address)) => format!("an object (0x{address:08x})"),
        (None, None) => "an object that the dump does not name".to_owned(),
    };
    if let Some(lock) = thread.awaited_lock() {
        return format!("waits for the lock of {}", object(lock.class.as_deref(), lock.address));
    }
    if thread.form == ThreadForm::HotSpot && !thread.attached {
        return "is a thread of the virtual machine".to_owned();
    }
    let has =
        |name: &str| SPECIFIC_FRAMES.iter().find(|(part, _)| name.contains(part)).map(|(_, words)| *words);
    let in_java = thread.frames.iter().filter_map(|frame| match frame {
        Frame::Java(java) => Some(has(&format!("{}.{}", java.class, java.method))),
        Frame::Native(_) | Frame::Kernel(_) => None,
    });
    let in_native = thread.frames.iter().filter_map(|frame| match frame {
        Frame::Native(native) => Some(native.symbol.as_deref().and_then(has)),
        Frame::Java(_) | Frame::Kernel(_) => None,
    });
    let specific =
        in_java.take(MAX_FRAMES).flatten().next().or_else(|| in_native.take(MAX_FRAMES).flatten().next());
    let state = thread.state.as_deref().map(str::to_ascii_lowercase);
    let state = state.as_deref();
    // A JVM's state has details in parentheses: `TIMED_WAITING (sleeping)`.
    let detail = |text: &str| state.is_some_and(|state| state.contains(text));
    let sleeps = thread.locks.iter().any(|lock| lock.kind == LockKind::SleepingOn) || detail("(sleeping)");
    let waits = thread.locks.iter().find(|lock| lock.kind == LockKind::WaitingOn);
    let mut words = if sleeps {
        "sleeps".to_owned()
    } else if let (Some(lock), None) = (waits, specific) {
        format!("waits to be notified on {}", object(lock.class.as_deref(), lock.address))
    } else if let Some(specific) = specific {
        specific.to_owned()
    } else {
        match state.map(StateKind::from) {
            // HotSpot also calls a thread in a system call runnable.
            Some(StateKind::Running) if in_native_method(thread) => "is in native code",
            Some(StateKind::Running) if thread.form == ThreadForm::HotSpot && thread.frames.is_empty() => {
                "has no Java frames"
            }
            Some(StateKind::Running) => "runs",
            Some(StateKind::Native) => "is in native code",
            Some(StateKind::Sleeping) => "sleeps",
            Some(StateKind::Suspended) if thread.form == ThreadForm::Coroutine => "is suspended",
            Some(StateKind::Suspended) => "was stopped while it ran",
            Some(StateKind::Waiting) => "waits",
            Some(StateKind::WithinArt | StateKind::Gc | StateKind::ClassLoading) => "waits within ART",
            Some(StateKind::WithinDalvik) => "waits within Dalvik",
            Some(StateKind::Blocked) => "waits for a lock that the dump does not name",
            Some(StateKind::NotStarted) => "was not started",
            Some(StateKind::Ended) => "has ended",
            Some(StateKind::Other) => "is in a state of its own",
            None if thread.frames.iter().any(|frame| !matches!(frame, Frame::Java(_))) => "is in native code",
            None => "says nothing of its state",
        }
        .to_owned()
    };
    if thread.native_state == Some('D') {
        words.push_str(", in the kernel where nothing interrupts it");
    }
    words
}

/// Whether the innermost frame is a native method.
fn in_native_method(thread: &Thread) -> bool {
    matches!(thread.frames.first(), Some(Frame::Java(java)) if java.place.native_method)
        && thread.form.is_of_hotspot()
}

/// The state as written in the dump.
pub fn name(thread: &Thread) -> &str {
    match (&thread.state, thread.attached) {
        (Some(state), _) => state,
        (None, false) => "not attached",
        (None, true) => "state unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::{frame, lock_line};

    fn thread(state: &str, lines: &[&str]) -> Thread {
        let mut thread = Thread::new(Some("x".into()), ThreadForm::Art);
        thread.state = Some(state.into());
        for line in lines {
            if let Some(java) = frame::java(line) {
                thread.frames.push(Frame::Java(java));
            }
            thread.locks.extend(lock_line::parse(line));
        }
        thread
    }

    #[test]
    fn states_in_words() {
        let poll = "at android.os.MessageQueue.nativePollOnce(Native method)";
        for (state, lines, expected) in [
            (
                "Blocked",
                &["- waiting to lock <0x1a> (a a.B) held by thread 3"][..],
                "waits for the lock of a.B (0x0000001a)",
            ),
            (
                "Blocked",
                &["- waiting to lock an unknown object"],
                "waits for the lock of an object that the dump does not name",
            ),
            ("Native", &[poll], "is idle: it waits for the next message"),
            ("Native", &["at a.b.C(X.java:1)"], "is in native code"),
            ("Sleeping", &["- sleeping on <0x1> (a java.lang.Object)"], "sleeps"),
            ("Waiting", &["- waiting on <0x1> (a a.B)"], "waits to be notified on a.B (0x00000001)"),
            ("TIMED_WAIT", &[], "waits"),
            ("WaitingForTaskProcessor", &[], "waits within ART"),
            ("Runnable", &[], "runs"),
            ("TIMED_WAITING (sleeping)", &[], "sleeps"),
            ("TIMED_WAITING (on object monitor)", &[], "waits"),
            (
                "BLOCKED (on object monitor)",
                &["- waiting to lock <0x1a> (a a.B)"],
                "waits for the lock of a.B (0x0000001a)",
            ),
            ("RUNNABLE", &[], "runs"),
        ] {
            assert_eq!(in_words(&thread(state, lines), None), expected, "{state} {lines:?}");
        }
        let mut stuck = thread("Native", &[]);
        stuck.native_state = Some('D');
        assert_eq!(in_words(&stuck, None), "is in native code, in the kernel where nothing interrupts it");
        assert_eq!(in_words(&stuck, Some("do_freezer_trap")), "is frozen by the system");
    }
}
