//! As much of ELF as it takes to find where a loaded object keeps the address of a function that it imports.
//!
//! Everything but [`live`] works on byte slices and trusts nothing in them. Sources: the System V ABI (dynamic section,
//! symbol table, relocation), its processor supplements for the relocation types, and bionic's
//! `linker_reloc_iterators.h` for Android's packed relocations.

mod dynamic;
pub(crate) mod live;
mod packed;
mod reloc;
mod view;

pub(crate) use dynamic::Dynamic;
pub(crate) use reloc::import_slots;
pub(crate) use view::{Segment, View};

use std::fmt;

/// 32 or 64 bits; both little-endian, as all of Android is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Bits32,
    Bits64,
}

impl Class {
    /// The size of an address.
    pub(crate) fn word(self) -> usize {
        match self {
            Class::Bits32 => 4,
            Class::Bits64 => 8,
        }
    }
}

/// A processor, for its relocation types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Each build constructs its own; the tests construct them all.
#[cfg_attr(not(test), allow(dead_code))]
pub(crate) enum Machine {
    X86_64,
    X86,
    Aarch64,
    Arm,
}

impl Machine {
    /// The one that this code runs on, if it is one of these.
    pub(crate) const HERE: Option<Machine> = if cfg!(all(target_arch = "x86_64", target_pointer_width = "64"))
    {
        Some(Machine::X86_64)
    } else if cfg!(target_arch = "x86") {
        Some(Machine::X86)
    } else if cfg!(all(target_arch = "aarch64", target_pointer_width = "64", target_endian = "little")) {
        Some(Machine::Aarch64)
    } else if cfg!(all(target_arch = "arm", target_endian = "little")) {
        Some(Machine::Arm)
    } else {
        None
    };

    pub(crate) fn class(self) -> Class {
        match self {
            Machine::X86_64 | Machine::Aarch64 => Class::Bits64,
            Machine::X86 | Machine::Arm => Class::Bits32,
        }
    }

    /// Whether this relocation stores the bare address of a symbol into a slot of the global offset table: by way of
    /// the procedure linkage table (`JUMP_SLOT`) or without (`GLOB_DAT`, as under `-fno-plt`).
    pub(crate) fn is_slot(self, kind: u32) -> bool {
        let (glob_dat, jump_slot) = match self {
            Machine::X86_64 | Machine::X86 => (6, 7),
            Machine::Aarch64 => (1025, 1026),
            Machine::Arm => (21, 22),
        };
        kind == glob_dat || kind == jump_slot
    }
}

/// What is wrong with an object's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElfError {
    /// A table leaves the object's readable memory.
    OutOfBounds {
        /// Which.
        table: &'static str,
    },
    /// A table has entries of another size than the ABI says, or ends within one.
    EntrySize {
        /// Which.
        table: &'static str,
    },
    /// The dynamic section lacks something that goes with what it has.
    Missing {
        /// What.
        entry: &'static str,
    },
    /// Packed relocations do not begin with `APS2`.
    PackedMagic,
    /// Packed relocations end too early.
    PackedEnd,
    /// Packed relocations hold a number that makes no sense: one of more than 64 bits, a negative count, more entries
    /// than an object can have, or addends where the format has none.
    PackedValue,
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::OutOfBounds { table } => write!(f, "{table} lies outside the object's readable memory"),
            ElfError::EntrySize { table } => write!(f, "{table} has entries of an unexpected size"),
            ElfError::Missing { entry } => write!(f, "the dynamic section has no {entry}"),
            ElfError::PackedMagic => f.write_str("packed relocations do not begin with APS2"),
            ElfError::PackedEnd => f.write_str("packed relocations end too early"),
            ElfError::PackedValue => f.write_str("packed relocations hold an impossible number"),
        }
    }
}

impl std::error::Error for ElfError {}
