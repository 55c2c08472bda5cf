//! Open items on a thread.

use answers::answer::MAX_STACK_FRAMES;
use serde::{Serialize, Serializer};
use trace_format::event::Wait;

/// The kind of an open item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OpenItemKind {
    /// A method.
    Method,
    /// A Looper message.
    Message,
    /// An input event, an idle handler or the like, outside of messages.
    #[serde(rename = "span")]
    Unit,
    /// A display frame, or one of its stages.
    Frame,
    /// A wait.
    Wait,
    /// A span or idle handler.
    Span,
}

/// A call or unit that was open.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Frame"))]
pub struct OpenItem {
    /// The kind; the hang's `unit` has the kind of a `span` in more detail.
    #[cfg_attr(test, schemars(with = "String", extend("enum" = ["method", "message", "frame", "wait", "span"])))]
    pub kind: OpenItemKind,
    /// The name of the method, message or wait.
    pub name: String,
    /// The time at which it began.
    #[serde(rename = "since_ns")]
    pub since: u64,
    /// True if it began earlier, because older events of the thread were overwritten.
    pub began_before: bool,
    /// The source file of a method and its first line, if the map has them.
    #[serde(skip)]
    pub source: Option<(String, u32)>,
    /// The wait, if it is one.
    #[serde(skip)]
    pub wait: Option<Wait>,
}

/// Returns a stack in the order of the JSON, without what is too far out.
pub(super) fn innermost_first(stack: &[OpenItem]) -> Vec<&OpenItem> {
    stack.iter().rev().take(MAX_STACK_FRAMES).collect()
}

/// Serializes a stack [`innermost_first`].
pub(super) fn serialize_stack<S: Serializer>(stack: &[OpenItem], serializer: S) -> Result<S::Ok, S::Error> {
    innermost_first(stack).serialize(serializer)
}
