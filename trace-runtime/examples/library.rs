//! libanrscope.so for the tests that load it into a JVM: everything is in the crate.

pub use trace_runtime::*;
