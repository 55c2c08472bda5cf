//! What ran in a stretch of time.

/// A kind of message, or of units in no message, in a stretch of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageKind {
    /// Its name.
    pub name: String,
    /// How many ran.
    pub count: u64,
    /// How long all of them took, ns.
    pub total: u64,
    /// How long the longest took, ns.
    pub longest: u64,
}

/// What ran in a stretch of time.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Before {
    /// When the stretch begins, and ends.
    pub from: u64,
    /// Its end.
    pub to: u64,
    /// Messages that ran.
    pub messages: u64,
    /// Input events, idle handlers and other calls that ran in no message.
    pub not_queued: u64,
    /// How long all of them took together, ns.
    pub busy: u64,
    /// By kind, those that took longest first; at most eight.
    pub kinds: Vec<MessageKind>,
}
