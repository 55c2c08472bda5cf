//! An ELF file's header, notes and name, as they are in memory. All of it is foreign: lengths and counts are bounded, and what cannot be read
//! is missing.

use crate::elf::live::PF_X;
use crate::elf::{DT_STRTAB, number};
use libc::{PT_DYNAMIC, PT_GNU_EH_FRAME, PT_LOAD, PT_NOTE};

/// Reads `length` bytes at an address; `None` if they are not all there.
pub(super) trait Memory: Fn(u64, usize) -> Option<Vec<u8>> {}
impl<F: Fn(u64, usize) -> Option<Vec<u8>>> Memory for F {}

const PT_ARM_EXIDX: u32 = 0x7000_0001;
const EM_ARM: u16 = 40;

/// The most program headers that are read.
const MOST_HEADERS: u16 = 128;
/// The longest notes.
const MOST_NOTES: u64 = 16 << 10;

struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    size: u64,
}

/// A loaded ELF file.
pub(super) struct Module {
    /// An address in memory less this is one of the file.
    pub(super) bias: u64,
    /// Bytes of an address.
    word: usize,
    machine: u16,
    segments: Vec<Segment>,
}

impl Module {
    /// The module whose file starts at this address.
    pub(super) fn read(start: u64, memory: &impl Memory) -> Option<Self> {
        let head = memory(start, 64)?;
        let word = match head.get(..6)? {
            [0x7f, b'E', b'L', b'F', 1, 1] => 4,
            [0x7f, b'E', b'L', b'F', 2, 1] => 8,
            _ => return None,
        };
        let wide = word == 8;
        let at = number(&head, if wide { 32 } else { 28 }, word)?;
        let size = number(&head, if wide { 54 } else { 42 }, 2)?;
        let count = number(&head, if wide { 56 } else { 44 }, 2)? as u16;
        if size != if wide { 56 } else { 32 } || count > MOST_HEADERS {
            return None;
        }
        let table = memory(start.checked_add(at)?, usize::from(count) * size as usize)?;
        let segments: Vec<Segment> = table
            .chunks_exact(size as usize)
            .map_while(|entry| {
                Some(Segment {
                    kind: number(entry, 0, 4)? as u32,
                    flags: number(entry, if wide { 4 } else { 24 }, 4)? as u32,
                    offset: number(entry, if wide { 8 } else { 4 }, word)?,
                    address: number(entry, if wide { 16 } else { 8 }, word)?,
                    size: number(entry, if wide { 40 } else { 20 }, word)?,
                })
            })
            .collect();
        // The header's own segment says for which address the file's start was linked.
        let first =
            segments.iter().filter(|segment| segment.kind == PT_LOAD).min_by_key(|segment| segment.offset)?;
        let bias = start.wrapping_sub(first.address.wrapping_sub(first.offset));
        Some(Module { bias, word, machine: number(&head, 18, 2)? as u16, segments })
    }

    fn of_kind(&self, kind: u32) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(move |segment| segment.kind == kind)
    }

    fn place(&self, segment: &Segment) -> u64 {
        self.bias.wrapping_add(segment.address)
    }

    /// Whether code of it is in this range.
    pub(super) fn holds_code(&self, start: u64, end: u64) -> bool {
        self.of_kind(PT_LOAD).any(|segment| {
            let from = self.place(segment);
            segment.flags & PF_X != 0 && from < end && from.saturating_add(segment.size) > start
        })
    }

    /// Its build id, 64 bytes at most.
    pub(super) fn build_id(&self, memory: &impl Memory) -> Option<Vec<u8>> {
        self.of_kind(PT_NOTE).find_map(|segment| {
            let notes = memory(self.place(segment), segment.size.min(MOST_NOTES) as usize)?;
            build_id(&notes)
        })
    }

    /// The name that its dynamic section gives it.
    pub(super) fn name(&self, memory: &impl Memory) -> Option<String> {
        const DT_SONAME: u64 = 14;
        const MOST_ENTRIES: u64 = 256;
        let segment = self.of_kind(PT_DYNAMIC).next()?;
        let length = segment.size.min(MOST_ENTRIES * 2 * self.word as u64) as usize;
        let section = memory(self.place(segment), length)?;
        let entry = |wanted| {
            let mut entries = section.chunks_exact(2 * self.word);
            entries.find_map(|entry| {
                (number(entry, 0, self.word)? == wanted).then(|| number(entry, self.word, self.word))?
            })
        };
        let (strings, offset) = (entry(DT_STRTAB)?, entry(DT_SONAME)?);
        // glibc adds the bias in place; bionic does not.
        [strings, strings.wrapping_add(self.bias)].into_iter().find_map(|strings| {
            let bytes = memory(strings.checked_add(offset)?, 128)?;
            let name = bytes.split(|&byte| byte == 0).next()?;
            let name = std::str::from_utf8(name).ok()?;
            (!name.is_empty() && name.len() < 128).then(|| name.to_owned())
        })
    }

    /// Where the search table of its `.eh_frame` is.
    pub(super) fn eh_frame_header(&self) -> Option<u64> {
        self.of_kind(PT_GNU_EH_FRAME).next().map(|segment| self.place(segment))
    }

    /// Where its `.ARM.exidx` is, and the number of entries.
    pub(super) fn exidx(&self) -> Option<(u64, u64)> {
        let segment = self.of_kind(PT_ARM_EXIDX).next().filter(|_| self.machine == EM_ARM)?;
        Some((self.place(segment), segment.size / 8))
    }
}

/// The build id in a segment of notes, which are padded to 4 bytes, or to 8 where the segment is aligned so.
fn build_id(notes: &[u8]) -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u64 = 3;
    [4usize, 8].into_iter().find_map(|padding| {
        let mut at = 0usize;
        loop {
            let (name, desc) =
                (number(notes, at, 4)? as usize, number(notes, at.checked_add(4)?, 4)? as usize);
            let kind = number(notes, at.checked_add(8)?, 4)?;
            let name_at = at.checked_add(12)?;
            let desc_at = name_at.checked_add(name)?.checked_next_multiple_of(padding)?;
            if kind == NT_GNU_BUILD_ID && notes.get(name_at..name_at.checked_add(name)?)? == b"GNU\0" {
                return notes
                    .get(desc_at..desc_at.checked_add(desc)?)
                    .filter(|id| (1..=64).contains(&id.len()))
                    .map(<[u8]>::to_vec);
            }
            at = desc_at.checked_add(desc)?.checked_next_multiple_of(padding)?;
        }
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Memory that holds these bytes at an address.
    pub(crate) fn memory(start: u64, bytes: &[u8]) -> impl Fn(u64, usize) -> Option<Vec<u8>> + '_ {
        move |address, length| {
            let from = usize::try_from(address.checked_sub(start)?).ok()?;
            bytes.get(from..from.checked_add(length)?).map(<[u8]>::to_vec)
        }
    }

    #[test]
    fn notes_of_both_paddings() {
        let note = |kind: u32, name: &[u8; 4], desc: &[u8]| {
            [&4u32.to_le_bytes()[..], &(desc.len() as u32).to_le_bytes(), &kind.to_le_bytes(), name, desc]
                .concat()
        };
        let id = [7; 16];
        assert_eq!(build_id(&note(3, b"GNU\0", &id)), Some(id.to_vec()));
        let two = [note(5, b"GNU\0", &[1; 16]), note(3, b"GNU\0", &[9; 20])].concat();
        assert_eq!(build_id(&two), Some(vec![9; 20]));
        assert_eq!(build_id(&note(3, b"Go\0\0", &id)), None);
        assert_eq!(build_id(&note(3, b"GNU\0", &id)[..20]), None);
    }

    proptest! {
        #[test]
        fn no_header_is_too_wild(mut bytes in prop::collection::vec(any::<u8>(), 64..600), start: u64, count in 0u8..9) {
            bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
            bytes[32..40].copy_from_slice(&64u64.to_le_bytes());
            bytes[54..58].copy_from_slice(&[56, 0, count, 0]);
            let memory = memory(start, &bytes);
            if let Some(module) = Module::read(start, &memory) {
                let _ = (module.build_id(&memory), module.name(&memory), module.eh_frame_header(), module.exidx());
                let _ = module.holds_code(start, u64::MAX);
            }
        }
    }
}
