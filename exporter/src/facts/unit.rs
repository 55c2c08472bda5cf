//! Units of main's work: a message of its queue, or a stretch outside of messages.
//!
//! Some of main's work is outside of messages. Native code dispatches input events and calls the listeners of
//! file descriptors inside `MessageQueue.nativePollOnce`, and `MessageQueue.next` runs idle handlers (AOSP
//! `Looper.cpp`, `android_view_InputEventReceiver.cpp`, `MessageQueue.java`, API 21 to 34). The recorder writes
//! those whose start it sees as messages without a queue. For the rest it records method calls: main's
//! outermost open call is then the unit. A call in which a message started runs the loop itself and is not a
//! unit.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;
use trace_format::ReadError;
use trace_format::android::{MESSAGE_QUEUE, is_idle_poll};

use super::samples::Samples;
use super::spans::{Change, Spans};
use super::stack::{OpenStack, is_message};

/// Maximum time from a signal to a sample that shows what main did at the signal, ns: the sampler reacts to the
/// signal.
const MAX_SAMPLE_DELAY: u64 = 1_000_000_000;

/// The kind of a unit. Its words in JSON are the same in all versions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UnitKind {
    /// A message of main's queue.
    Message,
    /// An input event, an idle handler or the like, whose start the recorder saw.
    NotQueued,
    /// Main's outermost recorded call, outside of messages.
    Call,
    /// Nothing was recorded, but samples show main outside of the poll.
    Sampled,
}

/// The name in a line such as `a.B.c(B.java:1)`.
pub(super) fn frame_name(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix("at ").unwrap_or(line);
    line.split_once('(').map_or(line, |(name, _)| name)
}

/// Whether main waits for its next message: its innermost frame is the poll. An empty stack is unknown.
pub(crate) fn is_polling(innermost: &str) -> bool {
    is_idle_poll(frame_name(innermost))
}

/// What main's queue called outside of messages, from a stack with the innermost frame first: the frame above
/// the queue's own frames, else the outermost one.
pub(crate) fn called_by_the_queue<'l>(frames: impl Iterator<Item = &'l str>) -> Option<&'l str> {
    let mut above = None;
    let mut outermost = None;
    for line in frames {
        let name = frame_name(line);
        if name.strip_prefix(MESSAGE_QUEUE).is_some_and(|method| method.starts_with('.')) {
            above = outermost.or(above);
        } else {
            outermost = Some(name);
        }
    }
    above.or(outermost)
}

/// When main started what it was in at each of `moments`, by moment: the open item in the recording, or the
/// first of the consecutive samples up to then that are outside of the poll. For a main thread without messages
/// the result is empty: its outermost call may be the whole program.
pub(super) fn begun_at(
    mut main: Spans<'_>,
    moments: BTreeSet<u64>,
    samples: &Samples,
) -> Result<HashMap<u64, u64>, ReadError> {
    let mut found = HashMap::new();
    let mut idle = Vec::new();
    let mut next = moments.into_iter().peekable();
    let (mut last, mut messages) = (0, false);
    let mut passed = |at: u64, open: &OpenStack, last: u64| match open.unit() {
        Some(depth) => drop(found.insert(at, open.frames()[depth].begun)),
        None => idle.push((at, last)),
    };
    while let Some((change, open)) = main.change()? {
        let Some(time) = change.time() else { continue };
        while let Some(at) = next.next_if(|at| *at < time) {
            passed(at, open, last);
        }
        last = time;
        messages |= matches!(change, Change::Opened { open, .. } if is_message(open.key));
    }
    for at in next {
        passed(at, main.open(), last);
    }
    if !messages {
        return Ok(HashMap::new());
    }
    if !idle.is_empty() {
        let mut samples: Vec<(u64, bool)> = samples
            .iter()
            .filter_map(|sample| Some((sample.at, is_polling(sample.frames().next()?))))
            .collect();
        samples.sort_unstable();
        for (at, last) in idle {
            let until = samples.partition_point(|(taken, _)| *taken <= at.saturating_add(MAX_SAMPLE_DELAY));
            let row = samples[..until].iter().rev().take_while(|(taken, polls)| *taken > last && !polls);
            if let Some((first, _)) = row.last().filter(|(first, _)| *first <= at) {
                found.insert(at, *first);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_polls_only_if_the_poll_is_its_innermost_frame() {
        assert!(is_polling("android.os.MessageQueue.nativePollOnce(Native Method)"));
        assert!(is_polling("  at android.os.MessageQueue.nativePollOnce(Native method)"));
        assert!(!is_polling("android.os.MessageQueue.next(MessageQueue.java:335)"));
        let touch = [
            "com.example.Shop.onTouch(Shop.java:7)",
            "android.view.InputEventReceiver.dispatchInputEvent(InputEventReceiver.java:295)",
            "android.os.MessageQueue.nativePollOnce(Native Method)",
            "android.os.MessageQueue.next(MessageQueue.java:335)",
            "android.os.Looper.loop(Looper.java:288)",
        ];
        let called = called_by_the_queue(touch.into_iter());
        assert_eq!(called, Some("android.view.InputEventReceiver.dispatchInputEvent"));
        let idle =
            ["a.B.queueIdle(B.java)", "android.os.MessageQueue.next(MessageQueue.java)", "a.L.loop(L)"];
        assert_eq!(called_by_the_queue(idle.into_iter()), Some("a.B.queueIdle"));
        assert_eq!(called_by_the_queue(["a.B.c(B.java)", "a.B.main(B.java)"].into_iter()), Some("a.B.main"));
    }
}
