//! What several programs of the proofs and benchmarks share.

#[cfg(feature = "export")]
pub mod made;
