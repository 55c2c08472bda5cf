//! What was open on a thread.

/// What an open frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// A method.
    Method,
    /// A Looper message.
    Message,
    /// An input event, an idle handler or the like, in no message.
    Unit,
    /// A display frame, or a stage of one.
    Frame,
    /// A wait.
    Wait,
    /// A span or idle handler.
    Span,
}

/// Something that was open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// What it is.
    pub kind: FrameKind,
    /// Its name.
    pub name: String,
    /// When it began, BOOTTIME ns.
    pub since: u64,
    /// Whether it began before that: words of that time were overwritten.
    pub began_before: bool,
    /// The source file of a method and its first line, as far as the map knows them.
    pub source: Option<(String, u32)>,
}
