//! Recordings, whole and damaged, as the reader reads them.

mod corruption;
mod reader;
