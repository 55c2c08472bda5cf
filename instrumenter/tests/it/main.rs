//! The instrumenter against a real JVM, real jars and wrong input.
//!
//! `java` and `javac` 17 or later must be on the path. The sources are below `tests/java`.

mod assembler;
mod constructors;
mod determinism;
mod end_to_end;
mod inputs;
mod real_jar;
mod robustness;
mod support;
