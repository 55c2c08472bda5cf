//! Reads the dynamic section, which locates the other tables.

use super::error::ElfError;
use super::view::{View, number};

const DT_NULL: u64 = 0;
const DT_PLTRELSZ: u64 = 2;
pub(crate) const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_RELAENT: u64 = 9;
const DT_STRSZ: u64 = 10;
const DT_SYMENT: u64 = 11;
const DT_REL: u64 = 17;
const DT_RELSZ: u64 = 18;
const DT_RELENT: u64 = 19;
const DT_PLTREL: u64 = 20;
const DT_JMPREL: u64 = 23;
// bionic, `libc/include/elf.h`.
const DT_ANDROID_REL: u64 = 0x6000_000f;
const DT_ANDROID_RELSZ: u64 = 0x6000_0010;
const DT_ANDROID_RELA: u64 = 0x6000_0011;
const DT_ANDROID_RELASZ: u64 = 0x6000_0012;

/// The form of a relocation table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Place and type.
    Rel,
    /// Place, type and addend.
    Rela,
    /// Android's packed form of either.
    Packed { addends: bool },
}

/// One relocation table. DT_RELR tables are not among them: they name no symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) form: Form,
    pub(super) name: &'static str,
    pub(super) address: u64,
    pub(super) size: u64,
}

/// The entries of the dynamic section that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dynamic {
    symbols: u64,
    strings: u64,
    strings_size: u64,
    pub(super) tables: Vec<Table>,
}

impl Dynamic {
    /// Reads the section up to its end mark, or to the end of the bytes if it has none.
    pub(crate) fn parse(bytes: &[u8], word: usize) -> Result<Self, ElfError> {
        let entry = |wanted: u64| {
            bytes
                .chunks_exact(2 * word)
                .map_while(|entry| match (number(entry, 0, word)?, number(entry, word, word)?) {
                    (DT_NULL, _) => None,
                    pair => Some(pair),
                })
                .find_map(|(tag, value)| (tag == wanted).then_some(value))
        };
        let need = |tag: u64, name: &'static str| entry(tag).ok_or(ElfError::Missing { entry: name });
        let size_of_entry = |tag: u64, should: usize, table: &'static str| match entry(tag) {
            Some(is) if is != should as u64 => Err(ElfError::EntrySize { table }),
            _ => Ok(()),
        };
        size_of_entry(DT_SYMENT, symbol_size(word), "the symbol table")?;
        size_of_entry(DT_RELENT, 2 * word, "DT_REL")?;
        size_of_entry(DT_RELAENT, 3 * word, "DT_RELA")?;

        let mut tables = Vec::new();
        let forms = [
            (DT_REL, need(DT_RELSZ, "DT_RELSZ"), Form::Rel, "DT_REL"),
            (DT_RELA, need(DT_RELASZ, "DT_RELASZ"), Form::Rela, "DT_RELA"),
            (
                DT_ANDROID_REL,
                need(DT_ANDROID_RELSZ, "DT_ANDROID_RELSZ"),
                Form::Packed { addends: false },
                "DT_ANDROID_REL",
            ),
            (
                DT_ANDROID_RELA,
                need(DT_ANDROID_RELASZ, "DT_ANDROID_RELASZ"),
                Form::Packed { addends: true },
                "DT_ANDROID_RELA",
            ),
        ];
        for (tag, size, form, name) in forms {
            if let Some(address) = entry(tag) {
                tables.push(Table { form, name, address, size: size? });
            }
        }
        if let Some(address) = entry(DT_JMPREL) {
            let form = match need(DT_PLTREL, "DT_PLTREL")? {
                DT_REL => Form::Rel,
                DT_RELA => Form::Rela,
                _ => return Err(ElfError::EntrySize { table: "DT_JMPREL" }),
            };
            tables.push(Table { form, name: "DT_JMPREL", address, size: need(DT_PLTRELSZ, "DT_PLTRELSZ")? });
        }
        Ok(Dynamic {
            symbols: need(DT_SYMTAB, "DT_SYMTAB")?,
            strings: need(DT_STRTAB, "DT_STRTAB")?,
            strings_size: need(DT_STRSZ, "DT_STRSZ")?,
            tables,
        })
    }

    /// Whether the symbol of this number has this name.
    pub(super) fn is_named(&self, view: &View<'_>, symbol: u32, name: &[u8]) -> Result<bool, ElfError> {
        let size = symbol_size(view.word) as u64;
        let outside = ElfError::OutOfBounds { table: "the symbol table" };
        let address = u64::from(symbol).checked_mul(size).and_then(|at| self.symbols.checked_add(at));
        let entry = view.at(address.ok_or(outside)?, size, "the symbol table")?;
        // In both classes the name comes first.
        let offset = number(entry, 0, 4).ok_or(outside)?;
        let strings = view.at(self.strings, self.strings_size, "the string table")?;
        let rest =
            strings.get(offset as usize..).ok_or(ElfError::OutOfBounds { table: "the string table" })?;
        Ok(rest.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&0)))
    }
}

fn symbol_size(word: usize) -> usize {
    8 + 2 * word
}
