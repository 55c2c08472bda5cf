//! The rules of the monitors: when a message is slow, a frame dropped, a start bad or main stalled, and how that is reported.
//!
//! Everything here works on plain values. There is no clock, no thread, no file and no Java: the caller passes
//! the time, so each rule is tested to the millisecond. `docs/monitors.md` describes each rule, where it differs
//! from Tencent Matrix's TraceCanary and why, and which call feeds it.
//!
//! ```
//! use trace_rules::looper::{Limits, Poll, Watch};
//!
//! // A message that began at 1 s is still open at 6 s: an ANR by the 5 s rule.
//! let second = 1_000_000_000;
//! let mut watch = Watch::new(Limits::default());
//! let poll = Poll { now_ns: 6 * second, begun_ns: second, ..Poll::default() };
//! let result = watch.poll(poll);
//! assert_eq!(result.anr.unwrap().age_ns, 5 * second);
//! ```
//!
//! # What runs where
//! | on the watched thread | on one of the library's threads | on the host |
//! | --- | --- | --- |
//! | [`looper::Messages`], [`frame::Stages`]: fixed memory, no allocation, no lock, no system call | [`looper::Watch`], [`looper::History`]'s readers, [`frame::Scenes`], [`frame::Overlay`], [`startup::Starts`], [`foreground::Foreground`], [`stack::CallTree`], [`report`] | [`stack`], [`report`], and Matrix's own formulas in [`stack::matrix`], [`frame::matrix`] and [`matrix_04`] |
//!
//! # Units
//! Times are nanoseconds of one clock (`_ns`) or, where Matrix's rule is in milliseconds, milliseconds of uptime (`_ms`). Names
//! of classes and scenes are the embedder's text ids, 0 for none.
#![forbid(unsafe_code)]

pub mod foreground;
pub mod frame;
pub mod idle;
pub mod locks;
pub mod looper;
pub mod matrix_04;
pub mod report;
mod rules;
pub mod stack;
pub mod startup;
mod text;
pub mod touch;
pub mod tuning;

pub use rules::Rules;
