//! From registers and stack bytes to frames.
//!
//! A frame's caller is found by the first of these that has an answer:
//! 1. the kernel's signal frame, where the code is a signal's return;
//! 2. the code itself, where the thread was interrupted in an epilogue, or in a prologue that no table describes (`code`);
//! 3. `.eh_frame` or `.debug_frame` of the file, then the rows that were copied from memory (`cfi`);
//! 4. `.ARM.exidx` on 32-bit ARM (`exidx`);
//! 5. the frame pointer.
//!
//! Each caller must be code, must lie further out on the stack, and the last one must be a thread's start: else the stack says why it ends.

mod cfi;
mod code;
mod elf;
mod end;
mod exidx;
mod machine;
mod memory;

use std::ops::Range;
use std::sync::Arc;

use trace_format::native_slot::{Machine, flags};
use trace_format::sections::native_frames::{FrameKind, MAX_FRAMES};
use trace_format::sections::native_modules::{Mapping, NativeModules, UnwindRow};
use trace_format::sections::native_stack::NativeStack;

use self::cfi::{Alone, NoCaller, Step};
use self::elf::Elf;
use self::machine::{Convention, Registers};
use self::memory::Memory;

pub use self::end::End;

/// Call frame information that is read for one stack, in bytes: frames need some hundreds. A hostile row costs a microsecond per byte.
const CFI_BUDGET: usize = 512 << 10;
/// How far behind its start a function is taken for the one that was called, in bytes.
const MAX_CALLED: u64 = 4096;
/// Return addresses that are tried where a register is unknown.
const MAX_TRIED: usize = 64;
/// Bits of an address at least, on the machines that sign pointers: Android's 39.
const ADDRESS_BITS: u32 = 39;
/// The most bytes of all images.
const MAX_IMAGES: usize = 16;

/// A source of ELF files.
pub trait Files {
    /// The ELF file of a mapping, whole; `None` if no file has its build id.
    fn elf(&mut self, mapping: &Mapping) -> Option<Arc<[u8]>>;
}

/// A frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnwoundFrame {
    /// The address to look up: of the instruction for the innermost frame and below a signal, else the return address less 1.
    pub pc: u64,
    /// The place of its mapping in [`NativeModules::mappings`].
    pub mapping: Option<usize>,
    /// `pc` in the numbering of the mapping's file, or `pc` without one.
    pub rel_pc: u64,
    /// What it is.
    pub kind: FrameKind,
}

/// A stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwound {
    /// The frames, innermost first.
    pub frames: Vec<UnwoundFrame>,
    /// Why there are no more.
    pub end: End,
}

/// The file of a mapping.
#[derive(Clone, Copy, Debug)]
struct Object<'u> {
    elf: &'u Elf,
    bias: u64,
}

impl Object<'_> {
    /// An address in memory, in the file's own numbering.
    fn address(&self, convention: &Convention, pc: u64) -> u64 {
        convention.cut(pc.wrapping_sub(self.bias))
    }
}

/// Unwinds the stacks of one process.
#[derive(Debug)]
pub struct Unwinder<'m> {
    modules: &'m NativeModules,
    convention: Convention,
    /// Each file once. A recording may say that it is mapped at ten thousand places, and its index has megabytes.
    files: Vec<Elf>,
    /// Executable addresses, sorted: the range, what is there, the file.
    places: Vec<(Range<u64>, Place)>,
    /// FDEs from memory, by their functions' addresses.
    rows: Vec<(Range<u64>, Alone)>,
    /// Entries of `.ARM.exidx` from memory.
    entries: Vec<(u64, exidx::Entry)>,
    /// Bits of an address that no signature uses.
    mask: u64,
}

/// What is at an address.
#[derive(Clone, Copy, Debug)]
struct Place {
    mapping: Option<usize>,
    file: Option<usize>,
    bias: u64,
    kind: FrameKind,
}

impl<'m> Unwinder<'m> {
    /// An unwinder for captures of this machine with these modules.
    pub fn new(machine: Machine, modules: &'m NativeModules, files: &mut dyn Files) -> Self {
        let convention = Convention::of(machine);
        let mut read: Vec<Elf> = Vec::new();
        let mut places = Vec::new();
        // A file may have several executable mappings.
        let mut known = std::collections::HashMap::new();
        for (i, mapping) in modules.mappings.iter().enumerate() {
            let key = (&mapping.path, &mapping.build_id);
            let file = *known.entry(key).or_insert_with(|| {
                read.push(Elf::read(files.elf(mapping)?, machine)?);
                Some(read.len() - 1)
            });
            let place = Place { mapping: Some(i), file, bias: mapping.bias, kind: FrameKind::Native };
            places.push((mapping.start..mapping.end, place));
        }
        for (start, bytes) in modules.images.iter().take(MAX_IMAGES) {
            let range = *start..start.saturating_add(bytes.len() as u64);
            let Some(elf) = Elf::read(Arc::from(&bytes[..]), machine) else { continue };
            let bias = start.wrapping_sub(elf.base());
            read.push(elf);
            let file = Some(read.len() - 1);
            let mapped = places.iter_mut().find(|(mapped, _)| mapped.contains(start));
            match mapped {
                Some((_, place)) if place.file.is_none() => *place = Place { file, bias, ..*place },
                Some(_) => {}
                None => {
                    places.push((range, Place { mapping: None, file, bias, kind: FrameKind::Native }));
                }
            }
        }
        for (kind, ranges) in [(FrameKind::Interpreter, &modules.interpreter), (FrameKind::Jit, &modules.jit)]
        {
            for (start, end) in ranges {
                places.push((*start..*end, Place { mapping: None, file: None, bias: 0, kind }));
            }
        }
        // The interpreter's bounds lie in a mapping: the mapping comes first, and its kind is set when a frame is made.
        places.sort_by_key(|(range, place)| (range.start, place.mapping.is_none()));
        let highest = places.iter().map(|(range, _)| range.end).max().unwrap_or(0);
        let bits = (u64::BITS - highest.leading_zeros()).clamp(ADDRESS_BITS, 56);
        let mut found = Self {
            modules,
            convention,
            files: read,
            places,
            rows: Vec::new(),
            entries: Vec::new(),
            mask: (1 << bits) - 1,
        };
        found.copied_rows();
        found
    }

    /// Reads the unwind data that was copied from memory.
    fn copied_rows(&mut self) {
        let mut cies = std::collections::HashMap::new();
        for row in &self.modules.rows {
            if let UnwindRow::Cie { address, bytes } = row {
                cies.insert(*address, &bytes[..]);
            }
        }
        for row in &self.modules.rows {
            match row {
                UnwindRow::Fde { address, bytes } => {
                    let Some(pointer) = bytes.get(4..8) else { continue };
                    let pointer = u32::from_le_bytes(pointer.try_into().expect("4 bytes"));
                    let cie = cies.get(&address.wrapping_add(4).wrapping_sub(pointer.into()));
                    let alone = cie.and_then(|cie| Alone::new(cie, bytes, *address));
                    let Some(alone) = alone else { continue };
                    self.rows.extend(alone.function(&self.convention).map(|range| (range, alone)));
                }
                UnwindRow::Exidx { function, bytes, .. } => {
                    self.entries.extend(exidx::entry(bytes).map(|entry| (function & !1, entry)));
                }
                UnwindRow::Cie { .. } => {}
            }
        }
        self.rows.sort_by_key(|(range, _)| range.start);
        self.entries.sort_by_key(|(function, _)| *function);
    }

    /// What is at an address; `None` where no code is.
    fn place(&self, pc: u64) -> Option<Place> {
        let behind = self.places.partition_point(|(range, _)| range.start <= pc);
        // Ranges that overlap are few: generated code in a mapping of a file.
        let places = self.places[..behind].iter().rev().take(8);
        let mut found: Option<Place> = None;
        for (_, place) in places.filter(|(range, _)| range.contains(&pc)) {
            found = Some(match found {
                Some(found) => Place {
                    kind: if found.kind == FrameKind::Native { place.kind } else { found.kind },
                    ..if place.file.is_some() || place.mapping.is_some() { *place } else { found }
                },
                None => *place,
            });
        }
        found
    }

    fn object(&self, place: Option<Place>) -> Option<Object<'_>> {
        let place = place?;
        Some(Object { elf: self.files.get(place.file?)?, bias: place.bias })
    }

    /// The code from an address on, as the file has it.
    fn code(&self, pc: u64) -> Option<&[u8]> {
        let object = self.object(self.place(pc))?;
        object.elf.load(object.address(&self.convention, pc))
    }

    /// Unwinds a capture; `stack` is its whole stack.
    #[must_use]
    pub fn unwind(&self, capture: &NativeStack, stack: &[u8]) -> Unwound {
        if capture.machine != self.convention.machine {
            return Unwound { frames: Vec::new(), end: End::Unsupported };
        }
        let convention = &self.convention;
        let memory = Memory { start: convention.cut(capture.sp), bytes: stack, word: convention.word };
        let mut registers: Registers = [None; _];
        let signalled = capture.flags & flags::WITHOUT_SIGNAL == 0;
        for (register, value) in registers.iter_mut().enumerate().take(convention.pc) {
            *value = signalled.then(|| convention.cut(capture.registers[register]));
        }
        registers[convention.sp] = Some(memory.start);
        registers[convention.pc] = Some(convention.cut(capture.pc()));
        let mut walk = Walk {
            unwinder: self,
            memory,
            capture,
            frames: Vec::new(),
            budget: CFI_BUDGET,
            tries: MAX_TRIED,
        };
        let end = walk.run(registers, true);
        Unwound { frames: walk.frames, end }
    }
}

/// The unwinding of one stack.
struct Walk<'w> {
    unwinder: &'w Unwinder<'w>,
    memory: Memory<'w>,
    capture: &'w NativeStack,
    frames: Vec<UnwoundFrame>,
    /// Bytes of call frame information that may still be read.
    budget: usize,
    /// Return addresses that may still be tried.
    tries: usize,
}

/// A frame whose caller is looked for.
#[derive(Clone, Copy)]
struct Callee<'s, 'c> {
    site: code::Site<'s, 'c>,
    /// The address to look up: the program counter if it is exact, else the return address less 1.
    lookup: u64,
    place: Option<Place>,
    /// True if the program counter is no return address.
    exact: bool,
}

/// How a caller was found.
struct Caller {
    registers: Registers,
    /// Whether its program counter is exact, since a signal interrupted it.
    exact: bool,
}

impl Walk<'_> {
    /// Follows the callers of these registers; `exact` says that the program counter is no return address.
    fn run(&mut self, mut registers: Registers, mut exact: bool) -> End {
        let unwinder = self.unwinder;
        let Convention { pc: counter, sp, machine, word, .. } = unwinder.convention;
        let code = move |at| unwinder.code(at);
        let mut innermost = true;
        loop {
            let Some(mut pc) = registers[counter] else { return End::Register(machine, counter) };
            // Bit 0 of an ARM address tells Thumb from ARM.
            let thumb = machine == Machine::Arm && pc & 1 == 1;
            if machine == Machine::Arm {
                pc &= !1;
            }
            registers[counter] = Some(pc);
            let lookup = if exact { pc } else { pc.wrapping_sub(1) };
            let place = unwinder.place(lookup);
            if place.is_some() || innermost {
                self.push(lookup, place);
            } else if self.interrupted(&registers).is_none() {
                return End::NotCode(pc);
            }
            if innermost && self.memory.bytes.is_empty() {
                return match self.capture.flags {
                    all if all & flags::WIPED != 0 => End::Wiped,
                    all if all & flags::FOREIGN_STACK != 0 => End::ForeignStack,
                    _ => End::NotCopied(0),
                };
            }
            let (convention, memory) = (&unwinder.convention, self.memory);
            let site = code::Site { convention, registers: &registers, pc, thumb, memory, code: &code };
            let caller = match self.caller(&Callee { site, lookup, place, exact }) {
                Ok(caller) => caller,
                Err(end) => return end,
            };
            let (Some(before), Some(after)) = (registers[sp], caller.registers[sp]) else {
                return End::Register(machine, sp);
            };
            // A signal may have come on another stack, and a function at its start has taken nothing.
            if !caller.exact && (after < before || (after == before && !exact) || after % word != 0) {
                return End::NotRising(after);
            }
            if self.frames.len() == MAX_FRAMES {
                return End::TooMany;
            }
            registers = caller.registers;
            exact = caller.exact;
            innermost = false;
        }
    }

    fn push(&mut self, pc: u64, place: Option<Place>) {
        let bias = place.map_or(0, |place| place.bias);
        self.frames.push(UnwoundFrame {
            pc,
            mapping: place.and_then(|place| place.mapping),
            rel_pc: self.unwinder.convention.cut(pc.wrapping_sub(bias)),
            kind: place.map_or(FrameKind::Native, |place| place.kind),
        });
    }

    /// The caller of a frame, or why it has none.
    fn caller(&mut self, callee: &Callee<'_, '_>) -> Result<Caller, End> {
        let Callee { site, lookup, place, exact } = *callee;
        let code = self.unwinder.code(site.pc);
        // A function that calls the signal's return was never called by it: the address is exact.
        if let Some(caller) = self.interrupted(site.registers) {
            return Ok(Caller { registers: caller, exact: true });
        }
        if let (true, Some(code)) = (exact, code)
            && let Some(caller) = code::epilogue(&site, code)
            && let Ok(caller) = self.checked(caller, false)
        {
            return Ok(caller);
        }
        let mut why = None;
        match self.table(callee) {
            Some((Ok((caller, exact)), _)) => match self.checked(caller, exact) {
                Ok(caller) => return Ok(caller),
                Err(end) => why = Some(end),
            },
            Some((Err(NoCaller::Root), _)) => return Err(End::Complete),
            Some((Err(NoCaller::NotCopied(address)), _)) => return Err(self.not_copied(address)),
            Some((Err(NoCaller::Unknown(register)), function)) => {
                return self.by_call(callee, register, function);
            }
            Some((Err(NoCaller::Broken), _)) => why = Some(End::Broken(self.name(place), lookup)),
            None => {}
        }
        if why.is_none()
            && let Some(end) = self.by_exidx(callee)
        {
            match end {
                Ok(caller) => return Ok(caller),
                Err(end) => why = Some(end),
            }
        }
        if self.is_root(callee) {
            return Err(End::Complete);
        }
        if let Some(end) = why {
            return Err(end);
        }
        let Some(place) = place else {
            return Err(End::NotCode(site.pc));
        };
        if exact
            && let Some(object) = self.unwinder.object(Some(place))
            && let Some(caller) = code::stub(&site, object.elf, object.address(site.convention, site.pc))
        {
            return self.checked(caller, false);
        }
        if exact
            && code.is_some()
            && let Some(caller) = code::prologue(&site, self.function(callee), true)
        {
            return self.checked(caller, false);
        }
        self.by_frame_pointer(site.registers).map_err(|end| {
            let mapping = place.mapping.and_then(|mapping| self.unwinder.modules.mappings.get(mapping));
            match (place.kind, place.file, mapping) {
                (FrameKind::Jit | FrameKind::Interpreter, ..) => End::Generated(lookup),
                (_, None, Some(mapping)) => {
                    End::NoFile { path: mapping.path.clone(), build_id: mapping.build_id.clone() }
                }
                (_, Some(_), _) if end == End::Complete => End::NoData(self.name(Some(place)), lookup),
                _ => end,
            }
        })
    }

    /// The step that call frame information describes, and the function's first address.
    fn table(&mut self, callee: &Callee<'_, '_>) -> Option<(Step, u64)> {
        let Callee { site, lookup, place, exact } = *callee;
        let unwinder = self.unwinder;
        let mut frame = cfi::Frame {
            convention: site.convention,
            registers: site.registers,
            memory: &site.memory,
            address: lookup,
            returned: !exact,
            budget: &mut self.budget,
        };
        if let Some(object) = unwinder.object(place) {
            frame.address = object.address(site.convention, lookup);
            if let Some((step, function)) = cfi::step(object.elf, &mut frame) {
                return Some((step, function.wrapping_add(object.bias)));
            }
        }
        frame.address = lookup;
        let behind = unwinder.rows.partition_point(|(range, _)| range.start <= lookup);
        let (range, alone) = unwinder.rows.get(behind.checked_sub(1)?)?;
        if !range.contains(&lookup) {
            return None;
        }
        alone.step(&mut frame)
    }

    /// The step that `.ARM.exidx` describes.
    fn by_exidx(&mut self, callee: &Callee<'_, '_>) -> Option<Result<Caller, End>> {
        let Callee { site, lookup, place, exact } = *callee;
        let unwinder = self.unwinder;
        let convention = site.convention;
        if convention.machine != Machine::Arm {
            return None;
        }
        let in_file = unwinder.object(place).and_then(|object| {
            let (function, entry) = exidx::find(object.elf, object.address(convention, lookup))?;
            Some((convention.cut(function.wrapping_add(object.bias)) & !1, entry))
        });
        let (function, entry) = match in_file {
            Some(found) => found,
            None => {
                let behind = unwinder.entries.partition_point(|(function, _)| *function <= lookup);
                let (function, entry) = unwinder.entries.get(behind.checked_sub(1)?)?.clone();
                // The entry of another mapping's function says nothing here.
                (unwinder.place(function)?.mapping == place?.mapping).then_some((function, entry))?
            }
        };
        if exact {
            // The tables are true behind the prologue.
            // Functions that are not unwound share an entry.
            let is_unwound = matches!(entry, exidx::Entry::Instructions(_));
            let start = self.function(callee).or(is_unwound.then_some(function));
            let caller = code::prologue(&site, start, !is_unwound);
            if let Some(caller) = caller.and_then(|caller| self.checked(caller, false).ok()) {
                return Some(Ok(caller));
            }
        }
        let exidx::Entry::Instructions(instructions) = entry else {
            if self.is_root(callee) {
                return Some(Err(End::Complete));
            }
            let caller = self.by_prologue(callee, place?);
            return Some(caller.ok_or_else(|| End::CantUnwind(self.name(place), lookup)));
        };
        Some(match exidx::step(&instructions, convention, site.registers, &site.memory, !exact) {
            Ok((caller, _)) => self.checked(caller, false),
            Err(NoCaller::NotCopied(address)) => Err(self.not_copied(address)),
            Err(NoCaller::Unknown(register)) => Err(End::Register(convention.machine, register)),
            Err(NoCaller::Root) | Err(NoCaller::Broken) => Err(End::Broken(self.name(place), lookup)),
        })
    }

    /// The caller of a function whose tables do not say: what its code has stored up to the program counter. Where no symbol has the
    /// function's start, it is where the call leads that the link register returns to, or else where the code before stores a return
    /// address; if all of the stack can be unwound from there.
    fn by_prologue(&mut self, callee: &Callee<'_, '_>, place: Place) -> Option<Caller> {
        let Callee { site, exact, .. } = *callee;
        let code::Site { convention, registers, pc, .. } = site;
        let known = self.function(callee);
        if known.is_some() && exact {
            return None;
        }
        let called = convention.link.filter(|_| exact).and_then(|link| {
            let called = code::calls(convention, registers[link]?, site.code);
            called.filter(|called| *called <= pc && pc - *called < MAX_CALLED)
        });
        let start = known.or(called).or_else(|| code::start_before(&site));
        let stored = start.and_then(|start| code::prologue(&site, Some(start), true));
        let stored = stored.filter(|caller| self.follows_call(caller[convention.pc]));
        if known.is_some() {
            return self.checked(stored?, false).ok();
        }
        // A function that has called nothing yet returns to the link register, and surely so if that is far off.
        let returns = convention.link.filter(|_| exact).and_then(|link| registers[link]);
        let returns = returns.filter(|address| {
            let caller = self.unwinder.place(address.wrapping_sub(1));
            let is_far =
                |caller: Place| caller.mapping != place.mapping || address.abs_diff(pc) > 2 * MAX_CALLED;
            self.follows_call(Some(*address)) && caller.is_some_and(is_far)
        });
        let leaf = returns.map(|address| {
            let mut caller = *registers;
            caller[convention.pc] = Some(address);
            caller
        });
        let stored =
            stored.filter(|stored| returns.is_none_or(|address| stored[convention.pc] == Some(address)));
        [stored, leaf].into_iter().flatten().find_map(|caller| {
            let caller = self.checked(caller, false).ok()?;
            self.tries = self.tries.checked_sub(1)?;
            let (end, further) = self.end_from(&caller);
            // Where a stripped C library starts its threads, its tables end the stack.
            let goes_on = end == End::Complete || matches!(end, End::CantUnwind(..)) && further > 2;
            goes_on.then_some(caller)
        })
    }

    /// Unwinds all of the stack from a caller that is only guessed: its end, and how many frames there are. None of them is kept.
    fn end_from(&mut self, caller: &Caller) -> (End, usize) {
        let frames = self.frames.len();
        let end = self.run(caller.registers, false);
        let further = self.frames.len() - frames;
        self.frames.truncate(frames);
        (end, further)
    }

    /// The frame that the frame pointer leads to.
    fn by_frame_pointer(&self, registers: &Registers) -> Result<Caller, End> {
        let convention = &self.unwinder.convention;
        let Convention { machine, sp, .. } = *convention;
        // Compilers for ARM and Thumb do not agree on one.
        if machine == Machine::Arm {
            return Err(End::Complete);
        }
        let Some(fp) = registers[convention.fp] else {
            return Err(End::Register(machine, convention.fp));
        };
        let fp = if convention.machine == Machine::Aarch64 { fp & self.unwinder.mask } else { fp };
        if fp == 0 || fp % convention.word != 0 || registers[sp].is_none_or(|sp| fp < sp) {
            return Err(End::Complete);
        }
        let mut caller = code::frame_record(convention, fp, &self.memory)
            .ok_or_else(|| if fp >= self.memory.end() { self.not_copied(fp) } else { End::Complete })?;
        let address = &mut caller[convention.pc];
        *address = address.map(|address| self.stripped(address));
        if !self.follows_call(*address) {
            return Err(End::Complete);
        }
        self.checked(caller, false)
    }

    /// The caller of a frame of which a register is unknown, since no signal brought it: the first return address further out that follows
    /// a call of exactly this function, if all of the stack can be unwound from there.
    fn by_call(&mut self, callee: &Callee<'_, '_>, register: usize, function: u64) -> Result<Caller, End> {
        let code::Site { convention, registers, .. } = callee.site;
        let unknown = End::Register(convention.machine, register);
        if self.capture.flags & flags::WITHOUT_SIGNAL == 0 || register != convention.fp {
            return Err(unknown);
        }
        let Some(mut at) = registers[convention.sp] else { return Err(unknown) };
        while let Some(address) = self.memory.word(at) {
            let address = self.stripped(address);
            if code::calls(convention, address, callee.site.code) == Some(function) {
                if self.tries == 0 {
                    break;
                }
                self.tries -= 1;
                let mut guessed = *registers;
                // The frame pointer leads to a record of two words, of which the return address is the second one.
                guessed[register] = Some(at.wrapping_sub(convention.word));
                let site = code::Site { registers: &guessed, ..callee.site };
                if let Some((Ok((caller, _)), _)) = self.table(&Callee { site, exact: false, ..*callee })
                    && let Ok(caller) = self.checked(caller, false)
                    && caller.registers[convention.pc] == Some(address)
                    && self.end_from(&caller).0 == End::Complete
                {
                    return Ok(caller);
                }
            }
            let Some(next) = at.checked_add(convention.word) else { break };
            at = next;
        }
        Err(unknown)
    }

    /// The registers of the code that a signal interrupted, if these are those of the return from its handler.
    fn interrupted(&self, registers: &Registers) -> Option<Registers> {
        let convention = &self.unwinder.convention;
        let code = self.unwinder.code(registers[convention.pc]?);
        let found = code::signal_frame(convention, registers, code, &self.memory)?;
        self.is_code(found[convention.pc]).then_some(found)
    }

    /// A caller whose program counter is code; what that says of the end if it is not. Handlers return to code that may be in no file,
    /// such as the page that an emulator makes for it.
    fn checked(&self, mut registers: Registers, exact: bool) -> Result<Caller, End> {
        let convention = &self.unwinder.convention;
        let Some(address) = registers[convention.pc].map(|address| self.stripped(address)) else {
            return Err(End::Register(convention.machine, convention.pc));
        };
        registers[convention.pc] = Some(address);
        if self.is_code(Some(address)) || self.interrupted(&registers).is_some() {
            Ok(Caller { registers, exact })
        } else {
            Err(End::NotCode(address))
        }
    }

    /// An address without its signature.
    fn stripped(&self, address: u64) -> u64 {
        if self.unwinder.convention.machine == Machine::Aarch64 {
            address & self.unwinder.mask
        } else {
            address
        }
    }

    fn is_code(&self, address: Option<u64>) -> bool {
        let is_code = |address: u64| self.unwinder.place(address.wrapping_sub(1)).is_some();
        address.is_some_and(|address| address != 0 && is_code(address))
    }

    /// Whether a call instruction stands before the address, as far as its code is known.
    fn follows_call(&self, address: Option<u64>) -> bool {
        let convention = &self.unwinder.convention;
        let thumb = u64::from(convention.machine == Machine::Arm);
        address.is_some_and(|address| {
            code::follows_call(convention, address & !thumb, &|at| self.unwinder.code(at))
        })
    }

    /// The first address of the function at an address, as its file's symbols have it.
    fn function(&self, callee: &Callee<'_, '_>) -> Option<u64> {
        let convention = callee.site.convention;
        let object = self.unwinder.object(callee.place)?;
        let found = object.elf.functions_at(object.address(convention, callee.lookup)).next()?;
        Some(convention.cut(found.start.wrapping_add(object.bias)))
    }

    /// Whether a thread starts in the function at this address.
    fn is_root(&self, callee: &Callee<'_, '_>) -> bool {
        /// The most bytes of a program's start.
        const START: u64 = 0x80;
        let code::Site { convention, registers, .. } = callee.site;
        let end = convention.cut(self.capture.stack_end);
        if end != 0 && registers[convention.sp].is_some_and(|sp| sp >= end && sp - end < 4096) {
            return true;
        }
        let Some(object) = self.unwinder.object(callee.place) else { return false };
        let address = object.address(convention, callee.lookup);
        let entry = object.elf.entry & if convention.machine == Machine::Arm { !1 } else { !0 };
        let is_entry = entry != 0 && address.checked_sub(entry).is_some_and(|behind| behind < START);
        is_entry || object.elf.functions_at(address).any(|function| function.is_root)
    }

    fn not_copied(&self, address: u64) -> End {
        End::NotCopied(if address >= self.memory.start { self.memory.bytes.len() as u64 } else { 0 })
    }

    fn name(&self, place: Option<Place>) -> String {
        let mapping = place.and_then(|place| self.unwinder.modules.mappings.get(place.mapping?));
        mapping.map_or_else(String::new, |mapping| mapping.path.clone())
    }
}
