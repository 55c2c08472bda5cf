//! The messages that ran in a time range.

/// A kind of message, or of units outside of messages, in a time range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageKind {
    /// Its name.
    pub name: String,
    /// Number of runs.
    pub count: u64,
    /// Total duration, ns.
    pub total: u64,
    /// Longest duration, ns.
    pub longest: u64,
}

/// The work that ran in a time range.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RecentWork {
    /// Start of the range.
    pub from: u64,
    /// End of the range.
    pub to: u64,
    /// Number of messages.
    pub messages: u64,
    /// Number of input events, idle handlers and other calls outside of messages.
    pub not_queued: u64,
    /// Total duration, ns.
    pub busy: u64,
    /// By kind, longest total first; at most eight.
    pub kinds: Vec<MessageKind>,
}
