//! The parts of ELF that depend on the CPU: the size of an address, and the form of a relocation.

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

/// A CPU architecture, for its relocation types.
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
    /// The architecture that this code runs on, if it is one of these.
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

/// Takes an info word apart.
pub(super) fn from_info(place: u64, info: u64, class: Class) -> Relocation {
    match class {
        Class::Bits32 => {
            let info = info as u32;
            Relocation { place: u64::from(place as u32), symbol: info >> 8, kind: info & 0xff }
        }
        Class::Bits64 => Relocation { place, symbol: (info >> 32) as u32, kind: info as u32 },
    }
}
