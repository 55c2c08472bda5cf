//! The rules of Matrix's first generation (0.4): everything is per frame. For apps that compare with what they had then
//! (the options that begin with `older`); nothing else uses them. Its frames-per-second reports are [`crate::frame::matrix::OldFps`].

mod ground;
mod methods;
mod stack;
mod start;

pub use ground::{OLD_DEBOUNCE_MS, OldGround};
pub use methods::{FrameBeat, OldIssue, OldKind, OldLimits, OldMethods};
pub use stack::{OLD_FULL_KEY, OLD_LINES, old_key, old_trim};
pub use start::{OldStart, OldStartTimes};
