//! The rules of the monitors: what a slow message, a dropped frame, a start or an ANR is, and how it is reported.
//!
//! Everything here works on plain values. There is no clock, no thread, no file and no Java: whoever feeds the rules brings
//! the time, and so each rule is tested to the millisecond. `docs/monitors.md` says of each what it does, where it differs
//! from Tencent Matrix's TraceCanary and why, and which call feeds it.
//!
//! # What runs where
//! | on the watched thread | on a thread of the library's | on the desk |
//! | --- | --- | --- |
//! | [`looper::Messages`], [`frame::Stages`], [`idle::IdleRun`]: fixed memory, no allocation, no lock, no system call | [`looper::Watch`], [`looper::History`]'s readers, [`frame::Scenes`], [`frame::Overlay`], [`startup::Starts`], [`foreground::Foreground`], [`stack::CallTree`], [`report`] | [`stack`], [`report`], and Matrix's own formulas in [`stack::matrix`], [`frame::matrix`] and [`older`] |
//!
//! # Units
//! Times are nanoseconds of one clock (`_ns`) or, where Matrix's rule is in milliseconds, milliseconds of uptime (`_ms`). Names
//! of classes and scenes are text ids of the embedder's, 0 for none.
#![forbid(unsafe_code)]

pub mod foreground;
pub mod frame;
pub mod idle;
pub mod locks;
pub mod looper;
pub mod older;
pub mod report;
mod rules;
pub mod stack;
pub mod startup;
mod text;
pub mod touch;
pub mod tuning;

pub use rules::Rules;
