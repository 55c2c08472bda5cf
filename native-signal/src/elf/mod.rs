//! As much of ELF as it takes to find where a loaded object keeps the address of a function that it imports.
//!
//! Everything but [`live`] works on byte slices and trusts nothing in them. Sources: the System V ABI (dynamic section,
//! symbol table, relocation), its processor supplements for the relocation types, and bionic's
//! `linker_reloc_iterators.h` for Android's packed relocations.

mod dynamic;
mod error;
pub(crate) mod live;
mod machine;
mod packed;
mod reloc;
mod view;

pub(crate) use dynamic::Dynamic;
pub use error::ElfError;
pub(crate) use machine::Machine;
pub(crate) use reloc::import_slots;
