//! Open items on a thread.

/// The kind of an open item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OpenItemKind {
    /// A method.
    Method,
    /// A Looper message.
    Message,
    /// An input event, an idle handler or the like, outside of messages.
    Unit,
    /// A display frame, or one of its stages.
    Frame,
    /// A wait.
    Wait,
    /// A span or idle handler.
    Span,
}

/// An open item on a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenItem {
    /// Its kind.
    pub kind: OpenItemKind,
    /// Its name.
    pub name: String,
    /// When it started, BOOTTIME ns.
    pub since: u64,
    /// Whether it started earlier than `since`: those events were overwritten.
    pub began_before: bool,
    /// The source file of a method and its first line, if the map has them.
    pub source: Option<(String, u32)>,
}
