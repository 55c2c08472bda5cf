//! The rules of the verifier, on code that breaks each of them.

mod assembler;
mod fixtures;
mod hostile;
mod mutation;
mod soundness;
mod structure;
