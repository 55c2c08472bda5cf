//! Headers and sections of an ELF file. Only what is asked for is read.

use std::io::{self, Read};
use std::sync::Arc;

use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, ReadCache, ReadRef, elf};

use super::source::{MAX_READ, Source, zeros};

/// Most sections and segments of a file.
const MAX_HEADERS: usize = 65_536;
/// Most bytes of notes that are searched for the build id.
const MAX_NOTES: u64 = 1 << 20;
/// The longest build id.
const MAX_BUILD_ID: usize = 64;
/// What is read of a file has this many times its length at most, or [`MIN_READ`]: compressed sections unpack to 3 to 6 times their size,
/// but the same megabyte of zlib's data, for ten sections, to ten times a gigabyte.
const MAX_RATIO: u64 = 64;
/// What may be read of a small file.
const MIN_READ: u64 = 16 << 20;

/// A section.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Its name.
    pub(super) name: String,
    /// Its type, `SHT_...`.
    pub(super) kind: u32,
    /// Its flags, `SHF_...`.
    pub(super) flags: u64,
    /// Where it begins in the file.
    pub(super) offset: u64,
    /// Its length.
    pub(super) size: u64,
    /// The section that belongs to it: a symbol table's names.
    pub(super) link: usize,
}

impl Section {
    /// Whether its bytes are in the file.
    pub(super) fn is_present(&self) -> bool {
        self.kind != elf::SHT_NOBITS.0 && self.size > 0
    }

    /// Whether it holds code.
    pub(super) fn is_code(&self) -> bool {
        self.flags & elf::SHF_EXECINSTR.0 != 0
    }
}

/// An ELF file.
pub(super) struct ElfFile {
    source: Source,
    /// Bytes of sections that may still be read.
    left: u64,
    /// Its sections.
    pub(super) sections: Vec<Section>,
    /// Addresses of its code: the executable segments.
    pub(super) code: Vec<(u64, u64)>,
    /// Its build id; empty without one.
    pub(super) build_id: Vec<u8>,
    /// Whether numbers are little-endian.
    pub(super) little_endian: bool,
    /// Whether it is of a machine with 64 bits.
    pub(super) is_64: bool,
    /// Its machine, `EM_...`.
    pub(super) machine: u16,
}

impl ElfFile {
    /// Reads the headers; `None` if it is not an ELF file, or a damaged one.
    pub(super) fn open(source: Source) -> Option<Self> {
        let length = source.len();
        let cache = ReadCache::new(source);
        let mut file = match class(&cache)? {
            elf::ELFCLASS32 => parse::<elf::FileHeader32<Endianness>>(&cache, length)?,
            elf::ELFCLASS64 => parse::<elf::FileHeader64<Endianness>>(&cache, length)?,
            _ => return None,
        };
        file.source = cache.into_inner();
        Some(file)
    }

    /// Only its build id, from the segments of notes or else the sections.
    pub(super) fn build_id_of(source: Source) -> Option<Vec<u8>> {
        let cache = ReadCache::new(source);
        match class(&cache)? {
            elf::ELFCLASS32 => build_id::<elf::FileHeader32<Endianness>>(&cache),
            elf::ELFCLASS64 => build_id::<elf::FileHeader64<Endianness>>(&cache),
            _ => None,
        }
    }

    /// The first section of this name whose bytes are in the file.
    pub(super) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name && section.is_present())
    }

    /// The bytes of a section, unpacked; `None` if they are damaged or too many.
    pub(super) fn bytes(&mut self, section: &Section) -> Option<Arc<[u8]>> {
        if !section.is_present() {
            return None;
        }
        self.left = self.left.checked_sub(section.size)?;
        let bytes = self.source.part(section.offset, section.size).ok()?;
        if section.flags & elf::SHF_COMPRESSED.0 == 0 {
            return Some(bytes);
        }
        self.unpack(&bytes).ok()
    }

    /// The length of the file.
    pub(super) fn len(&self) -> u64 {
        self.source.len()
    }

    /// The bytes of the section of this name.
    pub(super) fn named(&mut self, name: &str) -> Option<Arc<[u8]>> {
        let section = self.section(name)?.clone();
        self.bytes(&section)
    }

    /// The whole file.
    ///
    /// # Errors
    /// If it is too long or cannot be read.
    pub(super) fn whole(&mut self) -> io::Result<Arc<[u8]>> {
        self.source.part(0, self.source.len())
    }

    /// Reads a number of up to 8 bytes.
    pub(super) fn number(&self, bytes: &[u8]) -> u64 {
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if self.little_endian { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) }
    }

    /// Unpacks a section with `Elf32_Chdr` or `Elf64_Chdr` in front; zlib only, which is what compilers write by default.
    fn unpack(&mut self, bytes: &[u8]) -> io::Result<Arc<[u8]>> {
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let (header, size_at, size_len) = if self.is_64 { (24, 8, 8) } else { (12, 4, 4) };
        let number = |at: usize, len: usize| Some(self.number(bytes.get(at..at + len)?));
        let (kind, size) = (number(0, 4).ok_or_else(bad)?, number(size_at, size_len).ok_or_else(bad)?);
        let packed = bytes.get(header..).ok_or_else(bad)?;
        if kind != u64::from(elf::ELFCOMPRESS_ZLIB.0) || size > MAX_READ {
            return Err(bad());
        }
        self.left = self.left.checked_sub(size).ok_or_else(bad)?;
        let mut unpacked = zeros(size);
        if let Some(unpacked) = Arc::get_mut(&mut unpacked) {
            flate2::read::ZlibDecoder::new(packed).read_exact(unpacked)?;
        }
        Ok(unpacked)
    }
}

type Cache = ReadCache<Source>;

fn class(cache: &Cache) -> Option<elf::FileClass> {
    let head = cache.read_bytes_at(0, 16).ok()?;
    if !head.starts_with(&elf::ELFMAG) {
        return None;
    }
    Some(elf::FileClass(head[4]))
}

fn build_id<Elf: FileHeader<Endian = Endianness>>(cache: &Cache) -> Option<Vec<u8>> {
    let header = Elf::parse(cache).ok()?;
    let endian = header.endian().ok()?;
    let of = |notes: object::read::Result<Option<object::read::elf::NoteIterator<'_, Elf>>>| {
        let mut notes = notes.ok()??;
        while let Ok(Some(note)) = notes.next() {
            if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                let id = note.desc();
                return (1..=MAX_BUILD_ID).contains(&id.len()).then(|| id.to_vec());
            }
        }
        None
    };
    let segments = header.program_headers(endian, cache).unwrap_or_default();
    for segment in segments.iter().take(MAX_HEADERS) {
        let size: u64 = segment.p_filesz(endian).into();
        if segment.p_type(endian) == elf::PT_NOTE
            && size <= MAX_NOTES
            && let Some(id) = of(segment.notes(endian, cache))
        {
            return Some(id);
        }
    }
    // A file of debug data alone may have no bytes in its segments.
    let sections = header.section_headers(endian, cache).unwrap_or_default();
    let mut searched = 0;
    for section in sections.iter().take(MAX_HEADERS) {
        let size: u64 = section.sh_size(endian).into();
        if section.sh_type(endian) == elf::SHT_NOTE && size <= MAX_NOTES - searched {
            searched += size;
            if let Some(id) = of(section.notes(endian, cache)) {
                return Some(id);
            }
        }
    }
    None
}

fn parse<Elf: FileHeader<Endian = Endianness>>(cache: &Cache, length: u64) -> Option<ElfFile> {
    let header = Elf::parse(cache).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, cache).unwrap_or_default();
    let mut code = Vec::new();
    for segment in segments.iter().take(MAX_HEADERS) {
        if segment.p_type(endian) == elf::PT_LOAD && segment.p_flags(endian).0 & elf::PF_X.0 != 0 {
            let (start, len): (u64, u64) = (segment.p_vaddr(endian).into(), segment.p_memsz(endian).into());
            code.push((start, start.saturating_add(len)));
        }
    }
    let headers = header.section_headers(endian, cache).unwrap_or_default();
    let names = header.section_strings_index(endian, cache).ok().and_then(|index| {
        let names = headers.get(index.0)?;
        let (offset, size) = names.file_range(endian)?;
        cache.read_bytes_at(offset, size).ok()
    });
    let name_of = |at: u32| {
        let name = names?.get(at as usize..)?;
        let end = name.iter().take(256).position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&name[..end]).into_owned())
    };
    let sections = headers.iter().take(MAX_HEADERS).map(|section| Section {
        name: name_of(section.sh_name(endian)).unwrap_or_default(),
        kind: section.sh_type(endian).0,
        flags: section.sh_flags(endian).0,
        offset: section.sh_offset(endian).into(),
        size: section.sh_size(endian).into(),
        link: section.sh_link(endian) as usize,
    });
    let sections: Vec<_> = sections.collect();
    if length == 0 {
        return None;
    }
    Some(ElfFile {
        source: Source::memory(Vec::new()),
        left: length.saturating_mul(MAX_RATIO).clamp(MIN_READ, MAX_READ.max(length)),
        sections,
        code,
        build_id: build_id::<Elf>(cache).unwrap_or_default(),
        little_endian: endian == Endianness::Little,
        is_64: header.is_type_64(),
        machine: header.e_machine(endian).0,
    })
}
