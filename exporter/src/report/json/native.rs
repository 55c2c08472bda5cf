//! Native stacks and missed heartbeats as JSON.

use answers::answer::{MAX_STACK_FRAMES, NativeLine};
use serde::Serialize;

use crate::native::{self, reason_word};
use crate::report::ReportedStack;
use crate::report::native_summary::native_line;

/// The native stack of a thread at one moment.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct NativeStack<'a> {
    /// The thread's name.
    thread: &'a str,
    /// The thread's kernel id.
    tid: u32,
    /// The time at which it was taken.
    at_ns: u64,
    /// The reason for which it was taken.
    #[cfg_attr(test, schemars(extend("enum" =
        ["stall", "sigquit", "lock-owner", "missed-heartbeat", "asked", "unknown"])))]
    reason: &'static str,
    /// The system call that the thread was in.
    call: Option<&'a str>,
    /// The owner of the mutex that the thread waits for, if known.
    mutex_owner_tid: Option<u32>,
    /// The reason why the stack ends at its last frame; empty if it is complete.
    ends: &'a str,
    /// True if the place of Java's frames among the native ones is not certain.
    java_frames_approximate: bool,
    /// The frames, innermost first.
    frames: Vec<NativeFrame<'a>>,
}

/// A frame of a native stack.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NativeFrame<'a> {
    /// The function, or Java's class and method; the library and the offset in it if the function is unknown.
    name: String,
    /// The source file, if known.
    file: Option<&'a str>,
    /// The line, from 1, if known.
    line: Option<u32>,
    /// The place in native code; null for a frame of Java's.
    native: Option<NativeLine>,
}

impl<'a> From<&'a ReportedStack> for NativeStack<'a> {
    fn from(ReportedStack { thread, stack }: &'a ReportedStack) -> Self {
        Self {
            thread,
            tid: stack.tid,
            at_ns: stack.at,
            reason: reason_word(stack.reason),
            call: stack.call.as_deref(),
            mutex_owner_tid: stack.owner,
            ends: &stack.end,
            java_frames_approximate: stack.approximate,
            frames: stack.frames.iter().take(MAX_STACK_FRAMES).map(NativeFrame::from).collect(),
        }
    }
}

impl<'a> From<&'a native::Frame> for NativeFrame<'a> {
    fn from(frame: &'a native::Frame) -> Self {
        let source = frame.source.as_ref();
        Self {
            name: frame.title(),
            file: source.map(|(file, _)| &**file),
            line: source.map(|(_, line)| *line),
            native: frame.native.as_ref().map(native_line),
        }
    }
}
