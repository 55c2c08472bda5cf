use super::*;
use crate::elf::machine::slot_kinds;
use crate::elf::view::Segment;
use proptest::prelude::*;
use trace_format::native_slot::Machine;

const BASE: u64 = 0x1000;
const MACHINES: [(Machine, usize, u32, u32); 4] = [
    (Machine::X86_64, 8, 6, 7),
    (Machine::X86, 4, 6, 7),
    (Machine::Aarch64, 8, 1025, 1026),
    (Machine::Arm, 4, 21, 22),
];

/// An object laid out in one stretch: strings, symbols 0 to 3 ("", "writev", "write", "read"), then tables.
struct Made {
    word: usize,
    bytes: Vec<u8>,
    dynamic: Vec<u8>,
}

impl Made {
    fn new(word: usize) -> Self {
        let mut made = Made { word, bytes: b"\0writev\0write\0read\0".to_vec(), dynamic: Vec::new() };
        made.entry(5, BASE);
        made.entry(10, made.bytes.len() as u64);
        let symbols = made.here();
        made.entry(6, symbols);
        made.entry(11, if word == 8 { 24 } else { 16 });
        for name in [0_u32, 1, 8, 14] {
            made.bytes.extend(name.to_le_bytes());
            made.bytes.extend(vec![0; if word == 8 { 20 } else { 12 }]);
        }
        made
    }

    fn here(&self) -> u64 {
        BASE + self.bytes.len() as u64
    }

    fn bytes_of(&self, value: u64) -> Vec<u8> {
        value.to_le_bytes()[..self.word].to_vec()
    }

    fn entry(&mut self, tag: u64, value: u64) {
        let pair = [self.bytes_of(tag), self.bytes_of(value)].concat();
        self.dynamic.extend(pair);
    }

    /// A table of (place, symbol, kind), with or without addends.
    fn table(&mut self, entries: &[(u64, u32, u32)], addends: bool) -> (u64, u64) {
        let from = self.here();
        for &(place, symbol, kind) in entries {
            let info = match self.word {
                4 => u64::from(symbol << 8 | kind),
                _ => u64::from(symbol) << 32 | u64::from(kind),
            };
            let words = [self.bytes_of(place), self.bytes_of(info), self.bytes_of(0)];
            self.bytes.extend(words[..if addends { 3 } else { 2 }].concat());
        }
        (from, self.here() - from)
    }

    fn plain(&mut self, entries: &[(u64, u32, u32)], addends: bool) {
        let (address, size) = self.table(entries, addends);
        let tags = if addends { [7, 8, 9] } else { [17, 18, 19] };
        self.entry(tags[0], address);
        self.entry(tags[1], size);
        self.entry(tags[2], self.word as u64 * if addends { 3 } else { 2 });
    }

    fn by_plt(&mut self, entries: &[(u64, u32, u32)], addends: bool) {
        let (address, size) = self.table(entries, addends);
        self.entry(23, address);
        self.entry(2, size);
        self.entry(20, if addends { 7 } else { 17 });
    }

    fn slots(&self, machine: Machine, bias: u64) -> Result<Vec<u64>, ElfError> {
        let view =
            View { bias, word: self.word, segments: vec![Segment { vaddr: BASE, bytes: &self.bytes }] };
        import_slots(
            &view,
            &Dynamic::parse(&self.dynamic, self.word)?,
            slot_kinds(machine).unwrap(),
            b"write",
        )
    }
}

#[test]
fn slots_of_every_machine_with_and_without_addends() {
    for (machine, word, glob_dat, jump_slot) in MACHINES {
        for addends in [false, true] {
            let mut made = Made::new(word);
            made.plain(&[(0x9020, 2, glob_dat), (0x9000, 0, 8), (0x9040, 2, 3)], addends);
            made.by_plt(&[(0x9018, 1, jump_slot), (0x9010, 2, jump_slot), (0x9028, 3, jump_slot)], addends);
            assert_eq!(made.slots(machine, 0), Ok(vec![0x9010, 0x9020]), "{machine:?} {addends}");
            assert_eq!(made.slots(machine, 0x7000_0000), Ok(vec![0x9010, 0x9020]), "{machine:?} {addends}");
        }
    }
}

#[test]
fn packed_slots_beside_a_plt_and_a_table_that_reaches_over_it() {
    let mut made = Made::new(8);
    let (address, size) = made.table(&[(0x9010, 2, 1026), (0x9018, 3, 1026)], true);
    made.entry(7, address);
    made.entry(8, size);
    made.entry(23, address);
    made.entry(2, size);
    made.entry(20, 7);
    let packed = made.here();
    // One of symbol 2, GLOB_DAT, at 0x9040.
    made.bytes.extend(b"APS2\x01\x00\x01\x00\xc0\xa0\x02\x81\x88\x80\x80\x20");
    made.entry(0x6000_0011, packed);
    made.entry(0x6000_0012, made.here() - packed);
    assert_eq!(made.slots(Machine::Aarch64, 0), Ok(vec![0x9010, 0x9040]));
}

#[test]
fn absolute_addresses_are_understood() {
    let bias = 0x7f00_0000_0000;
    let mut made = Made::new(8);
    made.by_plt(&[(0x9010, 2, 7)], true);
    // As glibc leaves it: every address in the section has the bias added, sizes have not.
    for entry in made.dynamic.chunks_exact_mut(16) {
        if [5, 6, 23].contains(&entry[0]) {
            let value = u64::from_le_bytes(entry[8..].try_into().unwrap()) + bias;
            entry[8..].copy_from_slice(&value.to_le_bytes());
        }
    }
    assert_eq!(made.slots(Machine::X86_64, bias), Ok(vec![0x9010]));
    assert!(made.slots(Machine::X86_64, 0).is_err());
}

#[test]
fn a_section_without_what_it_needs_is_refused() {
    let mut made = Made::new(8);
    made.entry(23, BASE);
    assert_eq!(made.slots(Machine::X86_64, 0), Err(ElfError::Missing { entry: "DT_PLTREL" }));
    assert_eq!(Dynamic::parse(&[], 4), Err(ElfError::Missing { entry: "DT_SYMTAB" }), "an empty section");
    let mut made = Made::new(4);
    made.entry(9, 24);
    assert_eq!(made.slots(Machine::Arm, 0), Err(ElfError::EntrySize { table: "DT_RELA" }));
    // Nothing behind the end mark counts.
    let mut made = Made::new(8);
    made.entry(0, 0);
    made.entry(23, BASE);
    assert_eq!(made.slots(Machine::X86_64, 0), Ok(Vec::new()));
    // A table that ends within an entry.
    let mut made = Made::new(8);
    made.entry(7, BASE);
    made.entry(8, 25);
    assert_eq!(made.slots(Machine::X86_64, 0), Err(ElfError::EntrySize { table: "DT_RELA" }));
}

#[test]
fn a_name_must_match_whole() {
    let mut made = Made::new(8);
    // Symbol 1 is "writev"; and the string table ends right behind a name without its zero.
    made.by_plt(&[(0x9010, 1, 7)], true);
    assert_eq!(made.slots(Machine::X86_64, 0), Ok(Vec::new()));
}

proptest! {
    #[test]
    fn a_damaged_object_is_read_or_refused(
        cut in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        in_dynamic: bool,
        which in 0..4_usize,
    ) {
        let (machine, word, glob_dat, jump_slot) = MACHINES[which];
        let mut made = Made::new(word);
        made.plain(&[(0x9020, 2, glob_dat), (0x9000, 0, 8)], which % 2 == 0);
        made.by_plt(&[(0x9010, 2, jump_slot), (0x9028, 3, jump_slot)], which % 2 == 0);
        let hurt = if in_dynamic { &mut made.dynamic } else { &mut made.bytes };
        for (at, byte) in flips {
            let at = at.index(hurt.len());
            hurt[at] = byte;
        }
        hurt.truncate(cut.index(hurt.len() + 1));
        let _ = made.slots(machine, 0);
        let _ = made.slots(machine, 0x7000_0000);
    }

    #[test]
    fn any_bytes_are_an_object_or_none(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        dynamic in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        for word in [4, 8] {
            let made = Made { word, bytes: bytes.clone(), dynamic: dynamic.clone() };
            let _ = made.slots(Machine::X86_64, 0);
        }
    }
}
