//! What an anrscope recording is on disk.
//!
//! This crate owns the bytes: it draws them, writes no file and opens none.

pub mod ids;
mod map_id;

pub use map_id::{BadMapId, MapId};
