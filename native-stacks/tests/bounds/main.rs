//! Small files and recordings that stand for much: memory and time stay in proportion to their bytes.

#[path = "../symbols/build.rs"]
#[allow(dead_code, reason = "the tests of names use the rest")]
mod build;
mod dwarf;
mod stacks;
