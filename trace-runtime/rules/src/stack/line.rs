//! The lines of a stack.

/// One line of a stack: a call, or several equal calls in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// How many calls are around it. Below 0 only by Matrix's rules, which count wrong where a message's end is missing.
    pub depth: i32,
    /// The method's id, or [`DISPATCH`](trace_format::ids::DISPATCH) for the message itself.
    pub id: u32,
    /// How many calls in a row.
    pub count: u32,
    /// How long they took together, in milliseconds. A 32-bit number because it is one in Matrix's reports.
    pub ms: i32,
}
