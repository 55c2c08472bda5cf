//! What was open on a thread.

/// What an open frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// A method.
    Method,
    /// A Looper message.
    Message,
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
    /// When it began.
    pub since: u64,
}
