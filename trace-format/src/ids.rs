//! The 20-bit id space that injected calls, the recording and the method map share.
//!
//! ```text
//! 0x00000           never used (an all-zero word means "nothing was written here")
//! 0x00001..=0xFE7FF methods, numbered by the instrumenter
//! 0xFE800..=0xFEFFF calls that block, by [`crate::event::CallId`], of a thread that makes very many of them
//! 0xFF000..=0xFFFFD typed events, see [`crate::event`]
//! 0xFFFFE           DISPATCH: one Looper message, as in Matrix
//! 0xFFFFF           invalid
//! ```

/// The first method id.
pub const METHOD_FIRST: u32 = 1;
/// The last method id. An instrumenter that needs one more must fail before it writes anything.
pub const METHOD_LAST: u32 = 0xFE7FF;
/// The id of the call that has no number; the others follow.
pub const CALL_FIRST: u32 = METHOD_LAST + 1;
/// The first id of a typed event.
pub const EVENT_FIRST: u32 = 0xFF000;
/// The last id of a typed event.
pub const EVENT_LAST: u32 = 0xFFFFD;
/// One Looper message, entered and left like a method (Matrix `METHOD_ID_DISPATCH`).
pub const DISPATCH: u32 = 0xFFFFE;
/// Never valid (Matrix `METHOD_ID_MAX`).
pub const INVALID: u32 = 0xFFFFF;

/// Whether `id` is one that the instrumenter hands out.
#[inline]
#[must_use]
pub const fn is_method(id: u32) -> bool {
    id >= METHOD_FIRST && id <= METHOD_LAST
}

/// True if a word with this id is the begin or the end of a method or of a call that blocks: it has no payload, and Java
/// writes it.
#[inline]
#[must_use]
pub const fn is_plain(id: u32) -> bool {
    id >= METHOD_FIRST && id < EVENT_FIRST
}
