//! Frames: the stage that main is in.

use std::sync::LazyLock;

use trace_rules::frame::Stages;

use crate::clock;

static STAGES: LazyLock<Stages> = LazyLock::new(Stages::default);

/// The stage that main is in, for whoever looks while it hangs. From any thread.
pub(crate) fn stages() -> &'static Stages {
    &STAGES
}

/// A message begins on main, inside of `nested` others. After its begin is in the ring.
pub(crate) fn message_begin(nested: u8) {
    STAGES.message_begin(nested);
}

/// The message ends: a frame ends with it. *Before* the message's end is in the ring.
pub(crate) fn message_end(nested: u8) {
    let _ = STAGES.message_end(clock::now(), nested);
}
