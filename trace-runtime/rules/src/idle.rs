//! Idle handlers: which one does not return.
//!
//! The shim wraps each handler once, keeps those that were there before, and skips our own. Its wrapper notes when
//! the handler begins, and in a `finally` that it has ended, so that a handler that throws has ended too (Matrix
//! keeps waiting for it and reports it). The watching thread gives the beginning to a [`crate::looper::Watch`] with
//! [`LIMITS`].

use crate::looper::Limits;

/// The limits: LAG from 2 s on, never an ANR (Matrix `DEFAULT_IDLE_HANDLER_LAG`).
pub const LIMITS: Limits = Limits { lag_ms: 2_000, anr_ms: 0, ..Limits::DEFAULT };
