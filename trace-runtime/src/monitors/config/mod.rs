//! Options of the monitors, and what they do to the app's own texts.

pub mod options;
pub(crate) mod redact;
