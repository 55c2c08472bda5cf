//! Reads as much of ELF as is needed to find the slots in which a loaded object keeps the address of an imported function.
//!
//! Everything but [`live`] works on untrusted byte slices. Sources: the System V ABI (dynamic section,
//! symbol table, relocation), its architecture supplements (psABI) for the relocation types, and bionic's
//! `linker_reloc_iterators.h` for Android's packed relocations.

mod dynamic;
mod error;
pub(crate) mod live;
mod machine;
mod packed;
mod reloc;
mod view;

pub(crate) use dynamic::{DT_STRTAB, Dynamic};
pub use error::ElfError;
pub(crate) use machine::slot_kinds;
pub(crate) use reloc::import_slots;
pub(crate) use view::number;
