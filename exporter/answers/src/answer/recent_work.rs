//! The messages that ran in a time range.
//!
//! The types are also the report's JSON, and their comments stand in `docs/report-schema.json`.

use serde::Serialize;

/// A kind of message or call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkKind"))]
pub struct MessageKind {
    /// The handler and the callback.
    pub name: String,
    /// The number of messages of this kind.
    pub count: u64,
    /// The total time of these messages.
    #[serde(rename = "total_ns")]
    pub total: u64,
    /// The time of the longest one.
    #[serde(rename = "longest_ns")]
    pub longest: u64,
}

/// The work in the 10 s before the hang, or before the end.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Before"))]
pub struct RecentWork {
    /// The start of these 10 s.
    #[serde(rename = "from_ns")]
    pub from: u64,
    /// The end of these 10 s.
    #[serde(rename = "to_ns")]
    pub to: u64,
    /// The number of messages.
    pub messages: u64,
    /// Input events, idle handlers and other calls outside messages.
    pub not_queued: u64,
    /// The total time of messages and calls.
    #[serde(rename = "busy_ns")]
    pub busy: u64,
    /// The kinds with the longest total first, at most eight.
    pub kinds: Vec<MessageKind>,
}
