//! Perfetto's protobuf trace, encoded by hand.
//!
//! ```text
//! file     = { 0A length TracePacket }, in any number; no header, no end
//! packets  = head of the first sequence, clocks, descriptors     uncompressed
//!          | events, one sequence a thread                       zlib blocks in packets of their own
//! sequence = head { state cleared, default track, private clock 64 at 0 ns = trace start }
//!          | events { time since the event before, name by number; new names in the same packet }
//! ```
//! A sequence has its own numbers for names, so threads can be written one after the other and nothing
//! but the names seen so far is kept.

mod blocks;
mod events;
mod interning;
mod packets;
mod stacks;
mod writer;

pub(crate) use packets::{BOOTTIME, REALTIME, packet};
pub(crate) use writer::PerfettoWriter;
