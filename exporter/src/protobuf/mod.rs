//! Protobuf's wire format, as far as traces need it.
//!
//! The encoding is documented at protobuf.dev/programming-guides/encoding.

pub(crate) mod read;
pub(crate) mod write;

/// Wire type of numbers of variable length.
pub(crate) const VARINT: u32 = 0;
/// Wire type of values of 8 bytes.
pub(crate) const FIXED64: u32 = 1;
/// Wire type of bytes, texts and messages, whose length stands in front.
pub(crate) const LENGTH: u32 = 2;
/// Wire type of values of 4 bytes.
pub(crate) const FIXED32: u32 = 5;
