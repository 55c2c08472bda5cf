//! The rules of Matrix's first generation (0.4). For apps that compare with earlier figures
//! (the options that begin with `older`); nothing else uses them. Its frames-per-second reports are [`crate::frame::matrix::Matrix04Fps`].

mod stack;
mod start;

pub use stack::{MATRIX_04_FULL_KEY, MATRIX_04_LINES, matrix_04_key, matrix_04_trim};
pub use start::{Matrix04Start, Matrix04StartTimes};
