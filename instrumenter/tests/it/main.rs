//! The instrumenter with a real JVM, real jars and invalid input.
//!
//! `java` and `javac` 17 or later must be on the path. The sources are below `tests/java`.

mod activity_focus;
mod app;
mod archives;
mod assembler;
mod chosen;
mod class_format;
mod constructors;
mod decisions;
mod determinism;
mod end_to_end;
mod explain;
mod generator;
mod golden;
mod incremental;
mod inputs;
mod live;
mod mapped;
mod method_beat;
mod names;
mod property;
mod real_jar;
mod robustness;
mod short;
mod support;
mod waits;
