//! The parts of an ELF file that unwinding needs.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use object::elf::{PT_ARM_EXIDX, PT_GNU_EH_FRAME};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol};
use trace_format::native_slot::Machine;

/// The most bytes that a compressed section may unpack to.
const MAX_UNPACKED: u64 = 64 << 20;
/// The most segments that are read.
const MAX_SEGMENTS: usize = 64;
/// How many functions before an address are searched for those that contain it.
const MAX_STEPS: usize = 64;
/// The most bytes of functions' names that are compared: they may overlap.
const MAX_NAMES: usize = 256 << 20;

/// Bytes of a file and the address of the first one, in the file's numbering.
#[derive(Clone, Debug)]
pub(super) struct Part {
    data: Arc<[u8]>,
    range: Range<usize>,
    pub(super) address: u64,
}

impl Part {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.data[self.range.clone()]
    }

    /// The bytes from an address on.
    pub(super) fn from(&self, address: u64) -> Option<&[u8]> {
        self.bytes().get(usize::try_from(address.checked_sub(self.address)?).ok()?..)
    }
}

/// Where the functions' unwind data is: first address, address behind, offset in the section.
pub(super) type Index = Vec<(u64, u64, usize)>;

/// A function of the symbol tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub(super) start: u64,
    end: u64,
    /// True if it calls a thread's first function.
    pub(super) is_root: bool,
}

/// An ELF file.
#[derive(Debug, Default)]
pub(super) struct Elf {
    data: Arc<[u8]>,
    pub(super) eh_frame: Option<Part>,
    pub(super) eh_frame_hdr: Option<Part>,
    pub(super) debug_frame: Option<Part>,
    pub(super) exidx: Option<Part>,
    pub(super) text: u64,
    pub(super) got: u64,
    /// Addresses of the stubs that call other files' functions.
    pub(super) plt: Vec<Range<u64>>,
    loads: Vec<Part>,
    pub(super) entry: u64,
    /// Made when it is first needed.
    pub(super) eh_index: OnceCell<Index>,
    pub(super) debug_index: OnceCell<Index>,
    functions: OnceCell<Vec<Function>>,
}

impl Elf {
    /// Reads a file; `None` if it is not a little-endian one of this machine.
    pub(super) fn read(data: Arc<[u8]>, machine: Machine) -> Option<Self> {
        match object::File::parse(&*data).ok()? {
            object::File::Elf32(file) => Self::from_file(&data, &file, machine),
            object::File::Elf64(file) => Self::from_file(&data, &file, machine),
            _ => None,
        }
    }

    fn from_file<H: FileHeader<Endian = Endianness>>(
        data: &Arc<[u8]>,
        file: &ElfFile<'_, H>,
        machine: Machine,
    ) -> Option<Self> {
        let architecture = match machine {
            Machine::X86_64 => Architecture::X86_64,
            Machine::Aarch64 => Architecture::Aarch64,
            Machine::Arm => Architecture::Arm,
            Machine::Riscv64 => Architecture::Riscv64,
            Machine::X86 => Architecture::I386,
        };
        if !file.is_little_endian() || file.architecture() != architecture {
            return None;
        }
        let part = |(offset, size): (u64, u64), address| {
            let start = usize::try_from(offset).ok()?;
            let end = start.checked_add(usize::try_from(size).ok()?)?;
            (end <= data.len() && start < end).then(|| Part {
                data: data.clone(),
                range: start..end,
                address,
            })
        };
        let mut found = Self { data: data.clone(), entry: file.entry(), ..Self::default() };
        for section in file.sections() {
            let address = section.address();
            let here = || section.file_range().and_then(|range| part(range, address));
            match section.name().unwrap_or_default() {
                ".eh_frame" if found.eh_frame.is_none() => found.eh_frame = here(),
                ".eh_frame_hdr" => found.eh_frame_hdr = here(),
                ".ARM.exidx" => found.exidx = here(),
                ".debug_frame" => {
                    found.debug_frame = match section.compressed_data() {
                        Ok(packed) if packed.format == object::CompressionFormat::None => here(),
                        Ok(packed) if packed.uncompressed_size <= MAX_UNPACKED => {
                            packed.decompress().ok().map(|bytes| {
                                let data: Arc<[u8]> = bytes.into();
                                Part { range: 0..data.len(), data, address }
                            })
                        }
                        _ => None,
                    }
                }
                ".text" => found.text = address,
                ".got" => found.got = address,
                ".plt" | ".plt.got" | ".plt.sec" | ".iplt" => {
                    found.plt.push(address..address.saturating_add(section.size()));
                }
                _ => {}
            }
        }
        for segment in file.segments().take(MAX_SEGMENTS) {
            found.loads.extend(part(segment.file_range(), segment.address()));
        }
        // The program headers lead to the same data where no section does: in memory, and in files without section headers.
        let endian = file.endian();
        for header in file.elf_program_headers().iter().take(MAX_SEGMENTS) {
            let range = (header.p_offset(endian).into(), header.p_filesz(endian).into());
            let address = header.p_vaddr(endian).into();
            match header.p_type(endian) {
                PT_GNU_EH_FRAME if found.eh_frame_hdr.is_none() => found.eh_frame_hdr = part(range, address),
                PT_ARM_EXIDX if found.exidx.is_none() => found.exidx = part(range, address),
                _ => {}
            }
        }
        Some(found)
    }

    /// The segment's bytes from an address on.
    pub(super) fn load(&self, address: u64) -> Option<&[u8]> {
        self.loads.iter().filter_map(|part| part.from(address)).find(|bytes| !bytes.is_empty())
    }

    /// The loaded segment with this address, from there on.
    pub(super) fn part(&self, address: u64) -> Option<Part> {
        let part =
            self.loads.iter().find(|part| part.from(address).is_some_and(|bytes| !bytes.is_empty()))?;
        let skipped = usize::try_from(address - part.address).ok()?;
        Some(Part { range: part.range.start + skipped..part.range.end, address, data: part.data.clone() })
    }

    /// The address of the first loaded byte of the file.
    pub(super) fn base(&self) -> u64 {
        let first = self.loads.iter().min_by_key(|part| part.address);
        first.map_or(0, |part| part.address.wrapping_sub(part.range.start as u64))
    }

    /// The functions that contain an address, the nearest start first. The tables are sorted once: a stack asks for each of its frames.
    pub(super) fn functions_at(&self, address: u64) -> impl Iterator<Item = &Function> {
        let functions = self.functions.get_or_init(|| functions(&self.data).unwrap_or_default());
        let behind = functions.partition_point(|function| function.start <= address);
        functions[..behind].iter().rev().take(MAX_STEPS).filter(move |function| address < function.end)
    }
}

fn functions(data: &[u8]) -> Option<Vec<Function>> {
    let file = object::File::parse(data).ok()?;
    let thumb = u64::from(file.architecture() == Architecture::Arm);
    let mut left = MAX_NAMES;
    let defined = file.symbols().chain(file.dynamic_symbols()).filter(ObjectSymbol::is_definition);
    let mut found: Vec<_> = defined
        .map(|symbol| {
            let start = symbol.address() & !thumb;
            let name = if left > 0 { symbol.name().unwrap_or_default() } else { "" };
            left = left.saturating_sub(name.len());
            Function { start, end: start.saturating_add(symbol.size().max(1)), is_root: is_root(name) }
        })
        .collect();
    found.sort_by_key(|function| function.start);
    Some(found)
}

/// Whether this function calls a thread's first one, in glibc, bionic or musl.
fn is_root(name: &str) -> bool {
    let plain = name.split(['@', '.']).next().unwrap_or(name);
    matches!(
        plain,
        "_start"
            | "__start"
            | "_start_c"
            | "_start_main"
            | "__libc_init"
            | "__libc_start_main"
            | "__libc_start_main_impl"
            | "__libc_start_call_main"
            | "__libc_start_main_stage2"
            | "generic_start_main"
            | "start_thread"
            | "thread_start"
            | "clone"
            | "__clone"
            | "clone3"
            | "__clone3"
            | "__clone_internal"
            | "__bionic_clone"
            | "__start_thread"
            | "__pthread_start"
    ) || name.starts_with("_ZL15__pthread_startPv")
}
