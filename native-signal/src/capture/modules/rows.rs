//! Copies the unwind data of single addresses: CIE and FDE of `.eh_frame` by the search table of `.eh_frame_hdr` (Linux Standard Base, "Exception
//! Frames"), and entries of `.ARM.exidx` ("Exception Handling ABI for the Arm Architecture").

use super::elf::{Memory, Module};
use crate::elf::number;
use std::collections::BTreeMap;
use trace_format::sections::native_modules::UnwindRow;

/// The most bytes of all rows.
const MOST_BYTES: usize = 512 << 10;
/// The longest CIE, FDE or table of an entry.
const MOST_ENTRY: u64 = 16 << 10;

/// The unwind data that stacks need, each piece once.
#[derive(Default)]
pub(super) struct Rows {
    /// By the address of their bytes, so that a CIE comes before its FDEs; entries of `.ARM.exidx` by their function.
    rows: BTreeMap<u64, UnwindRow>,
    /// Addresses that were searched for already: from one entry of a table to the next.
    covered: BTreeMap<u64, u64>,
    bytes: usize,
}

impl Rows {
    /// Adds what describes the code at an address, and that before it: a return address may be the next function's.
    pub(super) fn add(&mut self, module: &Module, address: u64, memory: &impl Memory) {
        for address in [address.wrapping_sub(1), address] {
            if self.bytes >= MOST_BYTES || self.is_covered(address) {
                continue;
            }
            if let Some(header) = module.eh_frame_header() {
                let _ = self.add_fde(header, address, memory);
            }
            if let Some((table, entries)) = module.exidx() {
                let _ = self.add_exidx(table, entries, address, memory);
            }
        }
    }

    fn is_covered(&self, address: u64) -> bool {
        self.covered.range(..=address).next_back().is_some_and(|(_, end)| address < *end)
    }

    pub(super) fn into_rows(self) -> Vec<UnwindRow> {
        self.rows.into_values().collect()
    }

    fn insert(&mut self, key: u64, row: UnwindRow) {
        let (UnwindRow::Cie { bytes, .. } | UnwindRow::Fde { bytes, .. } | UnwindRow::Exidx { bytes, .. }) =
            &row;
        self.bytes += bytes.len();
        self.rows.insert(key, row);
    }

    fn add_fde(&mut self, header: u64, address: u64, memory: &impl Memory) -> Option<()> {
        /// `DW_EH_PE_pcrel | DW_EH_PE_sdata4`, `DW_EH_PE_udata4`, `DW_EH_PE_datarel | DW_EH_PE_sdata4`: what every linker writes.
        const FORM: [u8; 4] = [1, 0x1b, 3, 0x3b];
        let head = memory(header, 12)?;
        if head.get(..4)? != FORM {
            return None;
        }
        let entries = number(&head, 8, 4)?;
        let table = header.checked_add(12)?;
        let start_of =
            |entry| Some(header.wrapping_add_signed(i64::from(number(&memory(entry, 4)?, 0, 4)? as i32)));
        let place = self.last_before(table, entries, address, memory, start_of)?;
        let fde = header.wrapping_add_signed(i64::from(number(&memory(place, 8)?, 4, 4)? as i32));
        if self.rows.contains_key(&fde) {
            return Some(());
        }
        let fde_bytes = entry(fde, memory)?;
        let back = number(&fde_bytes, 4, 4)?;
        let cie = fde.checked_add(4)?.checked_sub(back).filter(|_| back != 0)?;
        if !self.rows.contains_key(&cie) {
            let cie_bytes = entry(cie, memory)?;
            if number(&cie_bytes, 4, 4)? != 0 {
                return None;
            }
            self.insert(cie, UnwindRow::Cie { address: cie, bytes: cie_bytes });
        }
        self.insert(fde, UnwindRow::Fde { address: fde, bytes: fde_bytes });
        Some(())
    }

    fn add_exidx(&mut self, table: u64, entries: u64, address: u64, memory: &impl Memory) -> Option<()> {
        let start_of = |entry| prel31(entry, number(&memory(entry, 4)?, 0, 4)?);
        let place = self.last_before(table, entries, address, memory, start_of)?;
        let both = memory(place, 8)?;
        let function = prel31(place, number(&both, 0, 4)?)?;
        if self.rows.contains_key(&function) {
            return Some(());
        }
        let second = number(&both, 4, 4)?;
        // 1 says that it cannot be unwound; with bit 31 the word holds the instructions.
        let (address, bytes) = if second == 1 || second >> 31 == 1 {
            (place + 4, both.get(4..)?.to_vec())
        } else {
            let extab = prel31(place + 4, second)?;
            let words = 1 + extab_words(extab, memory)?;
            (extab, memory(extab, 4 * words as usize)?)
        };
        self.insert(function, UnwindRow::Exidx { function, address, bytes });
        Some(())
    }

    /// The place of the last entry of 8 bytes that starts, as `start_of` reads it, not after this address.
    fn last_before(
        &mut self,
        table: u64,
        entries: u64,
        address: u64,
        memory: &impl Memory,
        start_of: impl Fn(u64) -> Option<u64>,
    ) -> Option<u64> {
        // The last entry must exist: a damaged count ends here.
        memory(table.checked_add(entries.checked_sub(1)?.checked_mul(8)?)?, 8)?;
        let (mut low, mut high) = (0, entries);
        while low < high {
            let middle = low.midpoint(high);
            if start_of(table + middle * 8)? <= address {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let place = table + low.checked_sub(1)? * 8;
        let end = if low < entries { start_of(place + 8)? } else { address.saturating_add(1) };
        self.covered.insert(start_of(place)?, end);
        Some(place)
    }
}

/// How many words of an entry of `.ARM.extab` follow its first.
fn extab_words(extab: u64, memory: &impl Memory) -> Option<u64> {
    let first = number(&memory(extab, 4)?, 0, 4)?;
    if first >> 31 == 0 {
        // A routine of the language; the next word's first byte counts the words after it.
        let next = number(&memory(extab.checked_add(4)?, 4)?, 0, 4)?;
        return Some(1 + (next >> 24));
    }
    // One of the three routines of the ABI: the first has its instructions in this word.
    Some(if (first >> 24) & 15 == 0 { 0 } else { (first >> 16) & 255 })
}

/// A CIE or an FDE with its length field.
fn entry(address: u64, memory: &impl Memory) -> Option<Vec<u8>> {
    let length = number(&memory(address, 4)?, 0, 4)?;
    // Another value than these is the end of the section, or the form with 64 bits, which nothing writes.
    (4..=MOST_ENTRY).contains(&length).then(|| memory(address, length as usize + 4))?
}

/// Two's complement of 31 bits, relative to where it is.
fn prel31(place: u64, word: u64) -> Option<u64> {
    let offset = i64::from((word as i32) << 1 >> 1);
    Some(place.wrapping_add_signed(offset) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::super::elf::tests::memory;
    use super::*;
    use proptest::prelude::*;

    const START: u64 = 0x8000;

    /// An index of two functions at 0x1000 and 0x2000, and its tables.
    fn exidx(second: u32, extab: &[u32]) -> Vec<u8> {
        let to = |place: u64, target: u64| (target.wrapping_sub(place) as u32) & 0x7fff_ffff;
        let second = if second == 0 { to(START + 12, START + 16) } else { second };
        let index = [to(START, 0x1000), 1, to(START + 8, 0x2000), second];
        index.iter().chain(extab).flat_map(|word| word.to_le_bytes()).collect()
    }

    fn row(bytes: &[u8], address: u64) -> Option<(u64, u64, Vec<u8>)> {
        let mut rows = Rows::default();
        rows.add_exidx(START, 2, address, &memory(START, bytes))?;
        let Some(UnwindRow::Exidx { function, address, bytes }) = rows.into_rows().pop() else { return None };
        Some((function, address, bytes))
    }

    #[test]
    fn entries_of_exidx() {
        // In the index itself: no unwinding, and instructions.
        let inline = exidx(0x8097_b0b0, &[]);
        assert_eq!(row(&inline, 0x1fff), Some((0x1000, START + 4, vec![1, 0, 0, 0])));
        assert_eq!(row(&inline, 0x2000), Some((0x2000, START + 12, 0x8097_b0b0u32.to_le_bytes().to_vec())));
        assert_eq!(row(&inline, 0xfff), None);
        // A routine of the ABI with two more words, and a routine of C++ with one.
        let compact = exidx(0, &[0x8102_b0b0, 1, 2, 3]);
        assert_eq!(row(&compact, 0x2fff).unwrap().2.len(), 12);
        let generic = exidx(0, &[0x10, 0x0100_b0b0, 2, 3]);
        assert_eq!(row(&generic, 0x2fff).unwrap().2.len(), 12);
        assert_eq!(row(&generic[..24], 0x2fff), None, "a table that is cut");
    }

    proptest! {
        #[test]
        fn no_table_is_too_wild(bytes in prop::collection::vec(any::<u8>(), 0..300), addresses in prop::collection::vec(any::<u64>(), 1..9), entries: u64) {
            let mut rows = Rows::default();
            let mut framed = vec![1, 0x1b, 3, 0x3b, 0, 0, 0, 0];
            framed.extend(&bytes);
            let memory = memory(START, &framed);
            for address in addresses {
                let _ = rows.add_fde(START, address, &memory);
                let _ = rows.add_exidx(START, entries % 64, address & 0xffff_ffff, &memory);
            }
            prop_assert!(rows.bytes <= 9 * 2 * (MOST_ENTRY as usize + 4));
        }
    }
}
