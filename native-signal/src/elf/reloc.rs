//! Relocation tables, and the slots of one import in them.

use super::dynamic::{Dynamic, Form, Table};
use super::error::ElfError;
use super::machine::{Relocation, from_info};
use super::packed;
use super::view::{View, number};

fn for_each(
    view: &View<'_>,
    table: &Table,
    mut each: impl FnMut(Relocation) -> Result<(), ElfError>,
) -> Result<(), ElfError> {
    let bytes = view.at(table.address, table.size, table.name)?;
    let word = view.word;
    let size = match table.form {
        Form::Rel => 2 * word,
        Form::Rela => 3 * word,
        Form::Packed { addends } => return packed::for_each(bytes, word, addends, each),
    };
    let mut entries = bytes.chunks_exact(size);
    for entry in &mut entries {
        if let (Some(place), Some(info)) = (number(entry, 0, word), number(entry, word, word)) {
            each(from_info(place, info, word))?;
        }
    }
    if entries.remainder().is_empty() { Ok(()) } else { Err(ElfError::EntrySize { table: table.name }) }
}

/// Where the object keeps the address of the function `name` that it imports: the linked-for addresses of its slots,
/// in ascending order, each once (`DT_RELA` may reach over `DT_JMPREL`).
pub(crate) fn import_slots(
    view: &View<'_>,
    dynamic: &Dynamic,
    kinds: [u32; 2],
    name: &[u8],
) -> Result<Vec<u64>, ElfError> {
    let mut slots = Vec::new();
    for table in &dynamic.tables {
        for_each(view, table, |entry| {
            if entry.symbol != 0
                && kinds.contains(&entry.kind)
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
mod tests;
