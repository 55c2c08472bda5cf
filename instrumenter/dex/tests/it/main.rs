//! Real and generated dex files, read and written again.

mod bodies;
mod fixtures;
mod limits;
mod models;
