//! The judge of signals, and the stall timer.

mod judge;
mod stall;
