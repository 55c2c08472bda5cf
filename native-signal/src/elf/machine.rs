//! The parts of ELF that depend on the CPU: the types and the form of a relocation.

use trace_format::native_slot::Machine;

/// Returns the types of the relocations that store the bare address of a symbol into a slot of the global offset
/// table: without the procedure linkage table (`GLOB_DAT`, as under `-fno-plt`) and by way of it (`JUMP_SLOT`).
pub(crate) fn slot_kinds(machine: Machine) -> Option<[u32; 2]> {
    match machine {
        Machine::X86_64 | Machine::X86 => Some([6, 7]),
        Machine::Aarch64 => Some([1025, 1026]),
        Machine::Arm => Some([21, 22]),
        Machine::Riscv64 => None,
    }
}

/// One relocation, without its addend: a slot of the global offset table has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Relocation {
    /// Where the result goes, as linked.
    pub(super) place: u64,
    /// The number of the symbol; 0 for none.
    pub(super) symbol: u32,
    /// The type, by the architecture's numbering.
    pub(super) kind: u32,
}

/// Takes an info word apart. `word` is the size of an address.
pub(super) fn from_info(place: u64, info: u64, word: usize) -> Relocation {
    if word == 4 {
        let info = info as u32;
        Relocation { place: u64::from(place as u32), symbol: info >> 8, kind: info & 0xff }
    } else {
        Relocation { place, symbol: (info >> 32) as u32, kind: info as u32 }
    }
}
