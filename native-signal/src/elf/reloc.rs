//! Relocation tables, and the slots of one import in them.

use super::dynamic::{Dynamic, Form, Table};
use super::view::{View, word_at};
use super::{Class, ElfError, Machine, packed};

/// One relocation, without its addend: a slot of the global offset table has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Relocation {
    /// Where the result goes, as linked.
    pub(super) place: u64,
    /// The number of the symbol; 0 for none.
    pub(super) symbol: u32,
    /// What is done, by the processor's numbering.
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

fn for_each(
    view: &View<'_>,
    table: &Table,
    mut each: impl FnMut(Relocation) -> Result<(), ElfError>,
) -> Result<(), ElfError> {
    let bytes = view.at(table.address, table.size, table.name)?;
    let word = view.class.word();
    let size = match table.form {
        Form::Rel => 2 * word,
        Form::Rela => 3 * word,
        Form::Packed { addends } => return packed::for_each(bytes, view.class, addends, each),
    };
    let mut entries = bytes.chunks_exact(size);
    for entry in &mut entries {
        if let (Some(place), Some(info)) = (word_at(entry, 0, view.class), word_at(entry, word, view.class)) {
            each(from_info(place, info, view.class))?;
        }
    }
    if entries.remainder().is_empty() { Ok(()) } else { Err(ElfError::EntrySize { table: table.name }) }
}

/// Where the object keeps the address of the function `name` that it imports: the linked-for addresses of its slots,
/// in ascending order, each once (`DT_RELA` may reach over `DT_JMPREL`).
pub(crate) fn import_slots(
    view: &View<'_>,
    dynamic: &Dynamic,
    machine: Machine,
    name: &[u8],
) -> Result<Vec<u64>, ElfError> {
    let mut slots = Vec::new();
    for table in &dynamic.tables {
        for_each(view, table, |entry| {
            if entry.symbol != 0
                && machine.is_slot(entry.kind)
                && dynamic.is_named(view, entry.symbol, name)?
            {
                slots.push(entry.place);
            }
            Ok(())
        })?;
    }
    slots.sort_unstable();
    slots.dedup();
    Ok(slots)
}

#[cfg(test)]
#[path = "reloc_tests.rs"]
mod tests;
