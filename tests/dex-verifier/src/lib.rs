//! Checks the code of dex files as ART's verifier does, as far as that is possible without the framework's classes.
//!
//! This crate is the second opinion on what the dex rewriter writes. It shares no code with it, not even the reader or the
//! table of opcodes, so that a mistake in one is not in both.
//!
//! ```text
//!   bytes -> file (tables) -> types, members (hierarchy, declarations)
//!            for each method: code (code item) -> structure (operands, targets, tries)
//!                                              -> flow (states, merges) -> execute, access, invoke (one instruction)
//!                                              -> inserted (calls of the recorder)
//!   -> Report -> new_since (findings that a rewrite added)
//!   mutation: damages right code in many places and counts how much of that is noticed
//! ```
//!
//! The rules are those of `art/runtime/verifier/method_verifier.cc` and `register_line.cc` (Android 14 and 15) and, for
//! code items, of `art/libdexfile/dex/dex_file_verifier.cc`. As in ART, the first error ends the check of a method, and
//! code that no path reaches is checked for its structure only. Where ART would have to load a class that no
//! file of the app defines, the check passes.

#![forbid(unsafe_code)]

mod access;
mod bytes;
mod code;
mod error;
mod execute;
mod file;
mod flow;
mod inserted;
mod instruction;
mod invoke;
mod line;
mod members;
mod mutation;
mod opcodes;
mod report;
mod structure;
mod types;
mod value;
mod verify;

pub use error::ReadError;
pub use mutation::{Share, self_check};
pub use report::{Finding, Inserted, MethodName, MethodReport, Report, Severity};
pub use verify::{verify, verify_app};
