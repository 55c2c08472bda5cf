//! What a thread does in words: from the answer's classification of its stack, else from its state.

use crate::answer::{Activity, CauseId, thread_activity};
use crate::dump::{Thread, state};

/// The words that follow the thread's name; `channel` is where it waits in the kernel, if known.
pub(super) fn words(thread: &Thread, channel: Option<&str>) -> String {
    match thread_activity(thread) {
        Activity::Of(CauseId::Input) => "handles an input event".to_owned(),
        Activity::Of(CauseId::Vsync) => "starts a frame".to_owned(),
        Activity::Of(CauseId::StoppedByDump) => "ran until the dump stopped it".to_owned(),
        Activity::Of(CauseId::YieldSpin) => "spins in Thread.yield".to_owned(),
        Activity::Of(CauseId::Gc) => "waits for the garbage collector".to_owned(),
        _ => state::in_words(thread, channel),
    }
}
