//! Small files and recordings that stand for much: memory and time stay in proportion to their bytes.

mod dwarf;
mod stacks;
