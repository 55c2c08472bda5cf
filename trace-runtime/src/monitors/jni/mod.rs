//! What the shims of `java/` and `android/` call, a file for each class of theirs or few of one kind.

mod app;
mod errors;
mod frames;
mod looper;
mod overlay;
mod reports;
mod sampler;
