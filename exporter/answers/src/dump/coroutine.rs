//! Coroutines as `DebugProbes.dumpCoroutines` of kotlinx-coroutines-debug prints them (`DebugProbesImpl`, 1.2 to 1.10):
//!
//! ```text
//! Coroutines dump 2018/11/12 21:44:02
//!
//! Coroutine "coroutine#2":DeferredCoroutine{Active}@289d1c02, state: SUSPENDED
//!     at ExampleKt.combineResults(Example.kt:11)
//!     (Coroutine creation stacktrace)                  (since 1.7: at _COROUTINE._CREATION._(CoroutineDebugging.kt))
//!     at ExampleKt.main(Example.kt:23)
//! ```
//! A suspended coroutine's stack shows where it waits; its creation stack is kept as remarks.

use super::frame::JavaFrame;
use super::model::{Thread, ThreadForm};

/// Maximum number of creation frames kept.
pub(super) const MAX_CREATION_FRAMES: usize = 8;

/// Parses the first line of a dump: returns its time.
pub(super) fn title(text: &str) -> Option<&str> {
    text.strip_prefix("Coroutines dump ").map(|time| time.trim_end_matches(':'))
}

/// Parses the first line of a coroutine.
pub(super) fn first_line(text: &str) -> Option<Thread> {
    let (owner, state) = text.strip_prefix("Coroutine ")?.rsplit_once(", state: ")?;
    let (owner, _) = owner.rsplit_once('@').unwrap_or((owner, ""));
    let quoted = owner.strip_prefix('"').and_then(|rest| rest.rsplit_once("\":"));
    let (name, kind) = quoted.map_or((owner, None), |(name, kind)| (name, Some(kind)));
    let (state, note) = state.split_once(" (").map_or((state, None), |(state, note)| (state, Some(note)));
    if !matches!(state, "SUSPENDED" | "RUNNING" | "CREATED") {
        return None;
    }
    let mut thread = Thread::new(Some(name.to_owned()), ThreadForm::Coroutine);
    thread.state = Some(state.to_owned());
    thread.remarks.extend(kind.map(str::to_owned));
    thread.remarks.extend(note.map(|note| note.trim_end_matches(')').to_owned()));
    Some(thread)
}

/// Whether the creation stack starts here.
pub(super) fn is_creation(text: &str, frame: Option<&JavaFrame>) -> bool {
    text.contains("(Coroutine creation stacktrace")
        || frame.is_some_and(|frame| frame.class == "_COROUTINE._CREATION")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_of_coroutines() {
        for (line, name, state, remarks) in [
            (
                "Coroutine \"coroutine#2\":DeferredCoroutine{Active}@289d1c02, state: SUSPENDED",
                "coroutine#2",
                "SUSPENDED",
                vec!["DeferredCoroutine{Active}"],
            ),
            (
                "Coroutine BlockingCoroutine{Active}@1, state: RUNNING (Last suspension stacktrace, not an actual stacktrace)",
                "BlockingCoroutine{Active}",
                "RUNNING",
                vec!["Last suspension stacktrace, not an actual stacktrace"],
            ),
        ] {
            let thread = first_line(line).unwrap();
            assert_eq!(
                (thread.name.as_deref(), thread.state.as_deref()),
                (Some(name), Some(state)),
                "{line}"
            );
            assert_eq!(thread.remarks, remarks, "{line}");
        }
        for line in ["Coroutine x", "Coroutine x, state: gone", "Coroutines dump 2018"] {
            assert_eq!(first_line(line), None, "{line}");
        }
        assert_eq!(title("Coroutines dump 2018/11/12 21:44:02"), Some("2018/11/12 21:44:02"));
    }
}
