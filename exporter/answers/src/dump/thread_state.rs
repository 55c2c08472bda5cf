//! The states of threads as dumps write them: of ART (art/runtime/thread_state.h), Dalvik, HotSpot, the JVM's `Thread.State`, and
//! coroutines.

/// What a thread's state shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StateKind {
    Running,
    Native,
    Suspended,
    Sleeping,
    /// Waits to be notified, or for another thread.
    Waiting,
    /// Waits to enter a monitor.
    Blocked,
    Gc,
    ClassLoading,
    /// Waits for something else within ART.
    WithinArt,
    WithinDalvik,
    NotStarted,
    Ended,
    Other,
}

/// In lower case.
const STATES: [(StateKind, &[&str]); 12] = [
    (StateKind::Running, &["runnable", "running"]),
    (StateKind::Native, &["native"]),
    (StateKind::Suspended, &["suspended"]),
    (StateKind::Sleeping, &["sleeping"]),
    (StateKind::Waiting, &["waiting", "timedwaiting", "timed_waiting", "timed_wait", "wait"]),
    (StateKind::Waiting, &["in object.wait()", "waiting on condition"]),
    (StateKind::Blocked, &["blocked", "monitor"]),
    (StateKind::Gc, &["waitingforgctocomplete", "waitingperforminggc", "waitingforgcthreadflip"]),
    (StateKind::ClassLoading, &["waitingforclassloading"]),
    (StateKind::WithinDalvik, &["vmwait"]),
    (StateKind::NotStarted, &["new", "created"]),
    (StateKind::Ended, &["terminated"]),
];

impl From<&str> for StateKind {
    /// A JVM's state may have details in parentheses: `TIMED_WAITING (sleeping)`.
    fn from(state: &str) -> Self {
        let state = state.to_ascii_lowercase();
        let word = state.split_once(" (").map_or(state.as_str(), |(word, _)| word);
        let known = STATES.iter().find(|(_, words)| words.contains(&word)).map(|(kind, _)| *kind);
        known.unwrap_or_else(|| match word {
            _ if word.starts_with("waiting for monitor entry") => Self::Blocked,
            _ if word.starts_with("waiting") => Self::WithinArt,
            _ => Self::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_virtual_machines_words_are_known() {
        for (state, kind) in [
            ("Runnable", StateKind::Running),
            ("RUNNABLE", StateKind::Running),
            ("TIMED_WAITING (sleeping)", StateKind::Waiting),
            ("WAITING (parking)", StateKind::Waiting),
            ("BLOCKED (on object monitor)", StateKind::Blocked),
            ("MONITOR", StateKind::Blocked),
            ("waiting for monitor entry", StateKind::Blocked),
            ("WaitingForGcToComplete", StateKind::Gc),
            ("WaitingForTaskProcessor", StateKind::WithinArt),
            ("VMWAIT", StateKind::WithinDalvik),
            ("SUSPENDED", StateKind::Suspended),
            ("", StateKind::Other),
            ("zombie", StateKind::Other),
        ] {
            assert_eq!(StateKind::from(state), kind, "{state}");
        }
    }
}
