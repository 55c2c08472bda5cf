//! Symbols by address.

use std::sync::Arc;

use object::elf;

use super::demangle::MAX_MANGLED;
use super::elf::{ElfFile, Section};

/// Most symbols of a file.
const MAX_SYMBOLS: usize = 16 << 20;
/// How many symbols before an address are searched for the one that contains it.
const MAX_STEPS: usize = 256;

/// A function.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    start: u64,
    /// 0 if unknown: written in assembler without `.size`.
    size: u64,
    /// Where its name begins, in the names of `table`.
    name: u32,
    table: u16,
    /// Less is better: global before weak before local, functions before labels.
    rank: u16,
}

/// The symbols of a file, from all of its tables.
#[derive(Default, Debug)]
pub(super) struct Table {
    symbols: Vec<Symbol>,
    names: Vec<Arc<[u8]>>,
    sorted: bool,
}

/// A symbol at an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hit<'a> {
    /// Its name, mangled.
    pub(super) name: &'a str,
    /// The distance from its start if it is not known how far it goes, else 0.
    pub(super) offset: u64,
}

impl Table {
    /// Adds the symbols of `.symtab` and `.dynsym`.
    pub(super) fn add(&mut self, file: &mut ElfFile) {
        for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
            let found = file.sections.iter().find(|section| section.kind == kind.0 && section.is_present());
            let Some(section) = found.cloned() else { continue };
            let Some(names) = file.sections.get(section.link).cloned() else { continue };
            if let (Some(symbols), Some(names)) = (file.bytes(&section), file.bytes(&names)) {
                self.add_table(file, &symbols, names);
            }
        }
    }

    fn add_table(&mut self, file: &ElfFile, bytes: &[u8], names: Arc<[u8]>) {
        let Ok(table) = u16::try_from(self.names.len()) else { return };
        let size = if file.is_64 { 24 } else { 16 };
        let machine = elf::Machine(file.machine);
        let number = |bytes: &[u8]| file.number(bytes);
        for symbol in bytes.chunks_exact(size) {
            let name = number(&symbol[..4]) as u32;
            let (info, section, mut start, size) = if file.is_64 {
                (symbol[4], number(&symbol[6..8]), number(&symbol[8..16]), number(&symbol[16..24]))
            } else {
                (symbol[12], number(&symbol[14..16]), number(&symbol[4..8]), number(&symbol[8..12]))
            };
            let is_function = match info & 0xf {
                kind if kind == elf::STT_FUNC.0 || kind == elf::STT_GNU_IFUNC.0 => true,
                kind if kind == elf::STT_NOTYPE.0 => false,
                _ => continue,
            };
            // 0 is undefined. A number above 0xff00 is not one of a section.
            let of_code = file.sections.get(section as usize).map(Section::is_code);
            if section == 0 || of_code == Some(false) || (of_code.is_none() && !is_function) {
                continue;
            }
            let text = name_at(&names, name);
            if text.is_empty() || is_mapping_symbol(machine, text) {
                continue;
            }
            if machine == elf::EM_ARM && is_function {
                // The bit of Thumb code.
                start &= !1;
            }
            let bind = match info >> 4 {
                bind if bind == elf::STB_GLOBAL.0 => 0,
                bind if bind == elf::STB_WEAK.0 => 1,
                _ => 2,
            };
            if self.symbols.len() == MAX_SYMBOLS {
                break;
            }
            let rank = bind + if is_function { 0 } else { 4 };
            self.symbols.push(Symbol { start, size, name, table, rank });
        }
        self.names.push(names);
        self.sorted = false;
    }

    /// How much memory it uses.
    pub(super) fn bytes(&self) -> usize {
        self.symbols.len() * size_of::<Symbol>() + self.names.iter().map(|names| names.len()).sum::<usize>()
    }

    /// The function that contains the address, or the label without a size before it.
    pub(super) fn at(&mut self, address: u64) -> Option<Hit<'_>> {
        if !self.sorted {
            // Of one address the best comes first: with a size, then by rank, then the longest, then the first table.
            self.symbols.sort_unstable_by_key(|symbol| {
                let Symbol { start, size, rank, table, name } = *symbol;
                (start, size == 0, rank, std::cmp::Reverse(size), table, name)
            });
            self.sorted = true;
        }
        let end = self.symbols.partition_point(|symbol| symbol.start <= address);
        let before = &self.symbols[..end];
        let mut found: Option<&Symbol> = None;
        for symbol in before.iter().rev().take(MAX_STEPS) {
            if found.is_some_and(|found| found.start != symbol.start) {
                break;
            }
            if address - symbol.start < symbol.size {
                // Later ones of the same address are better.
                found = Some(symbol);
            }
        }
        if let Some(symbol) = found {
            return Some(Hit { name: self.name(symbol), offset: 0 });
        }
        // Behind the end of a function with a size, the name of that function would be wrong.
        let last = before.last()?;
        let nearest = before.iter().rev().take_while(|symbol| symbol.start == last.start);
        let nearest = nearest.take(MAX_STEPS).last().filter(|symbol| symbol.size == 0)?;
        Some(Hit { name: self.name(nearest), offset: address - nearest.start })
    }

    fn name(&self, symbol: &Symbol) -> &str {
        name_at(&self.names[usize::from(symbol.table)], symbol.name)
    }
}

/// A name that ends with a zero; empty if it is not one in UTF-8. A longer one than any is cut, since many symbols may have it.
fn name_at(names: &[u8], at: u32) -> &str {
    let name = names.get(at as usize..).unwrap_or_default();
    let cut = &name[..name.len().min(MAX_MANGLED + 1)];
    match memchr::memchr(0, cut) {
        Some(end) => std::str::from_utf8(&cut[..end]).unwrap_or_default(),
        None if cut.len() == name.len() => "",
        None => cut.utf8_chunks().next().map_or("", |chunk| chunk.valid()),
    }
}

/// Whether it marks code or data in a section (`$x`, `$d.1`), and is no function.
fn is_mapping_symbol(machine: elf::Machine, name: &str) -> bool {
    let has_them = [elf::EM_ARM, elf::EM_AARCH64, elf::EM_RISCV].contains(&machine);
    let Some(rest) = name.strip_prefix('$').filter(|_| has_them) else { return false };
    let rest = rest.trim_start_matches(['a', 't', 'd', 'x']);
    rest.is_empty() || rest.starts_with('.') || (machine == elf::EM_RISCV && name.starts_with("$xrv"))
}
