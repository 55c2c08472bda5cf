//! Call frame information: from a row of `.eh_frame` or `.debug_frame` to the caller's registers.
//!
//! All registers are followed, with gimli's rows: realigned frames, signal frames and hand-written assembly keep the frame's address in any
//! of them. A register whose value is not known stays unknown; what needs it ends the stack.

use std::ops::Range;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DW_EH_PE_udata4, DebugFrame, EhFrame, EhFrameHdr, EndianSlice,
    Expression, FrameDescriptionEntry, LittleEndian, Register, RegisterRule, UnwindContext, UnwindExpression,
    UnwindOffset, UnwindSection, Value, Vendor,
};
use trace_format::native_slot::Machine;

use super::elf::{Elf, Index, Part};
use super::machine::{Convention, Registers};
use super::memory::Memory;

/// The longest CIE that is read: hundreds of functions share one.
const MAX_CIE: usize = 512;
/// The longest FDE that is read.
const MAX_FDE: usize = 128 << 10;
/// The most functions of an index.
const MAX_FUNCTIONS: usize = 1 << 20;
/// The most operations of an expression.
const MAX_OPERATIONS: u32 = 1_000;

type Bytes<'d> = EndianSlice<'d, LittleEndian>;

/// A frame's caller, as its row describes it: its registers, and whether it was interrupted by a signal here.
pub(super) type Step = Result<(Registers, bool), NoCaller>;

/// Why a row leads to no caller.
#[derive(Clone, Copy, Debug)]
pub(super) enum NoCaller {
    /// The row says that there is no caller.
    Root,
    /// A register that is needed is unknown.
    Unknown(usize),
    /// This address is needed and was not copied.
    NotCopied(u64),
    /// The row makes no sense.
    Broken,
}

/// What a step needs, besides the row.
pub(super) struct Frame<'f> {
    pub(super) convention: &'f Convention,
    pub(super) registers: &'f Registers,
    pub(super) memory: &'f Memory<'f>,
    /// The address to look up, in the file's numbering.
    pub(super) address: u64,
    /// Whether the program counter is a return address: the link register holds nothing then.
    pub(super) returned: bool,
    /// Bytes of call frame information that may still be read.
    pub(super) budget: &'f mut usize,
}

/// The step that the file's unwind data describes, and the first address of the function; `None` if it has none for this address.
pub(super) fn step(elf: &Elf, frame: &mut Frame<'_>) -> Option<(Step, u64)> {
    let bases = BaseAddresses::default().set_text(elf.text).set_got(elf.got);
    let found = eh_frame(elf, bases.clone(), frame);
    found.or_else(|| {
        let part = elf.debug_frame.as_ref()?;
        let mut section = DebugFrame::new(part.bytes(), LittleEndian);
        section.set_address_size(size(frame.convention));
        section.set_vendor(vendor(frame.convention));
        let index = elf.debug_index.get_or_init(|| index(&section, &bases, part.bytes()));
        let offset = lookup(index, frame.address)?;
        at(&section, &bases, part.bytes(), offset, frame)
    })
}

/// Looks the address up in the table of `.eh_frame_hdr`, or else in an index of the section. The table counts only if its
/// length has the 4 bytes that linkers write: gimli multiplies a longer one unchecked.
fn eh_frame(elf: &Elf, bases: BaseAddresses, frame: &mut Frame<'_>) -> Option<(Step, u64)> {
    let hdr = elf.eh_frame_hdr.as_ref();
    let bases = hdr.map_or(bases.clone(), |hdr| bases.set_eh_frame_hdr(hdr.address));
    let parsed = hdr.filter(|hdr| hdr.bytes().get(2) == Some(&DW_EH_PE_udata4.0)).and_then(|hdr| {
        EhFrameHdr::new(hdr.bytes(), LittleEndian).parse(&bases, size(frame.convention)).ok()
    });
    // Without section headers the table leads to the section.
    let led: Option<Part>;
    let part = match (&elf.eh_frame, &parsed) {
        (Some(part), _) => part,
        (None, Some(parsed)) => {
            led = elf.part(parsed.eh_frame_ptr().direct().ok()?);
            led.as_ref()?
        }
        (None, None) => return None,
    };
    let bases = bases.set_eh_frame(part.address);
    let section = section(part.bytes(), frame.convention);
    let offset = match parsed.as_ref().and_then(|parsed| parsed.table()) {
        Some(table) => {
            let pointer = table.lookup(frame.address, &bases).ok()?;
            usize::try_from(pointer.direct().ok()?.checked_sub(part.address)?).ok()?
        }
        None => lookup(elf.eh_index.get_or_init(|| index(&section, &bases, part.bytes())), frame.address)?,
    };
    at(&section, &bases, part.bytes(), offset, frame)
}

fn section<'d>(bytes: &'d [u8], convention: &Convention) -> EhFrame<Bytes<'d>> {
    let mut section = EhFrame::new(bytes, LittleEndian);
    section.set_address_size(size(convention));
    section.set_vendor(vendor(convention));
    section
}

fn size(convention: &Convention) -> u8 {
    if convention.word == 4 { 4 } else { 8 }
}

/// aarch64 says in its rows where return addresses are signed.
fn vendor(convention: &Convention) -> Vendor {
    if convention.machine == Machine::Aarch64 { Vendor::AArch64 } else { Vendor::Default }
}

/// The functions of a section, sorted.
fn index<'d, S: UnwindSection<Bytes<'d>>>(section: &S, bases: &BaseAddresses, bytes: &'d [u8]) -> Index
where
    S::Offset: UnwindOffset<usize>,
{
    let mut found = Vec::new();
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(fde) = entry else { continue };
        let offset = fde.offset();
        let Ok(fde) = fde.parse(|section, bases, at| cie(section, bases, bytes, at)) else { continue };
        if fde.initial_address() < fde.end_address() {
            found.push((fde.initial_address(), fde.end_address(), offset));
        }
        if found.len() == MAX_FUNCTIONS {
            break;
        }
    }
    found.sort_unstable();
    found
}

fn lookup(index: &Index, address: u64) -> Option<usize> {
    let behind = index.partition_point(|(start, ..)| *start <= address);
    let (_, end, offset) = *index.get(behind.checked_sub(1)?)?;
    (address < end).then_some(offset)
}

/// A CIE that is not too long.
fn cie<'d, S: UnwindSection<Bytes<'d>>>(
    section: &S,
    bases: &BaseAddresses,
    bytes: &'d [u8],
    offset: S::Offset,
) -> gimli::Result<gimli::CommonInformationEntry<Bytes<'d>>> {
    match length(bytes, UnwindOffset::into(offset)) {
        Some(length) if length <= MAX_CIE => section.cie_from_offset(bases, offset),
        _ => Err(gimli::Error::UnknownAugmentation),
    }
}

/// The length of the entry at an offset, with its length field. Entries of 4 GiB have a longer one.
fn length(bytes: &[u8], offset: usize) -> Option<usize> {
    let field = bytes.get(offset..offset.checked_add(4)?)?;
    let length = u32::from_le_bytes(field.try_into().ok()?);
    (length < 0xffff_fff0).then_some(length as usize + 4)
}

/// The step of the entry at an offset.
fn at<'d, S: UnwindSection<Bytes<'d>>>(
    section: &S,
    bases: &BaseAddresses,
    bytes: &'d [u8],
    offset: usize,
    frame: &mut Frame<'_>,
) -> Option<(Step, u64)>
where
    S::Offset: From<usize>,
{
    if length(bytes, offset)? > MAX_FDE {
        return None;
    }
    match section.fde_from_offset(bases, offset.into(), |section, bases, at| cie(section, bases, bytes, at)) {
        Ok(fde) => covering(section, bases, &fde, frame),
        // Letters that gimli does not know: alone, without them, the entry can be read.
        Err(gimli::Error::UnknownAugmentation) if S::has_zero_terminator() => {
            let pointer = u32::from_le_bytes(bytes.get(offset + 4..offset + 8)?.try_into().ok()?);
            let cie = (offset + 4).checked_sub(pointer as usize)?;
            let entry = |offset: usize| bytes.get(offset..offset.checked_add(length(bytes, offset)?)?);
            let address = bases.eh_frame.section?.wrapping_add(offset as u64);
            Alone::new(entry(cie)?, entry(offset)?, address)?.step(frame)
        }
        Err(_) => None,
    }
}

/// An FDE with its CIE, apart from their section.
#[derive(Clone, Debug)]
pub(super) struct Alone {
    bytes: Vec<u8>,
    /// Where the FDE is in `bytes`.
    offset: usize,
    /// The address of the first of the bytes, as if they were one section.
    address: u64,
}

impl Alone {
    /// From copies of both, with the length fields; the FDE was at this address.
    pub(super) fn new(cie: &[u8], fde: &[u8], address: u64) -> Option<Self> {
        let is_whole = |bytes: &[u8]| length(bytes, 0) == Some(bytes.len()) && bytes.len() >= 12;
        if cie.len() > MAX_CIE || fde.len() > MAX_FDE || !is_whole(cie) || !is_whole(fde) {
            return None;
        }
        // `B` (another key signs return addresses) and `G` (the frame is tagged) change no row.
        let letters = 9 + cie[9..].iter().position(|byte| *byte == 0)?;
        let kept = cie[9..letters].iter().filter(|letter| !b"BG".contains(letter));
        let mut bytes = cie[..9].to_vec();
        bytes.extend(kept);
        bytes.extend_from_slice(&cie[letters..]);
        let offset = bytes.len();
        bytes[..4].copy_from_slice(&u32::try_from(offset - 4).ok()?.to_le_bytes());
        bytes.extend_from_slice(fde);
        bytes[offset + 4..offset + 8].copy_from_slice(&u32::try_from(offset + 4).ok()?.to_le_bytes());
        Some(Self { bytes, offset, address: address.wrapping_sub(offset as u64) })
    }

    /// The function's addresses.
    pub(super) fn function(&self, convention: &Convention) -> Option<Range<u64>> {
        let fde = self.fde(&section(&self.bytes, convention))?;
        Some(fde.initial_address()..fde.end_address()).filter(|range| !range.is_empty())
    }

    /// The step of the row for the frame, and the function's first address.
    pub(super) fn step(&self, frame: &mut Frame<'_>) -> Option<(Step, u64)> {
        let section = section(&self.bytes, frame.convention);
        covering(&section, &self.bases(), &self.fde(&section)?, frame)
    }

    fn fde<'d>(&self, section: &EhFrame<Bytes<'d>>) -> Option<FrameDescriptionEntry<Bytes<'d>>> {
        section.fde_from_offset(&self.bases(), self.offset.into(), UnwindSection::cie_from_offset).ok()
    }

    fn bases(&self) -> BaseAddresses {
        BaseAddresses::default().set_eh_frame(self.address)
    }
}

/// The step of an FDE's row, and the function's first address, if the FDE has the frame's address.
fn covering<'d, S: UnwindSection<Bytes<'d>>>(
    section: &S,
    bases: &BaseAddresses,
    fde: &FrameDescriptionEntry<Bytes<'d>>,
    frame: &mut Frame<'_>,
) -> Option<(Step, u64)> {
    fde.contains(frame.address).then(|| (row(section, bases, fde, frame), fde.initial_address()))
}

/// The step of an FDE's row at the address.
fn row<'d, S: UnwindSection<Bytes<'d>>>(
    section: &S,
    bases: &BaseAddresses,
    fde: &FrameDescriptionEntry<Bytes<'d>>,
    frame: &mut Frame<'_>,
) -> Step {
    let Some(left) = frame.budget.checked_sub(fde.entry_len() + fde.cie().entry_len()) else {
        return Err(NoCaller::Broken);
    };
    *frame.budget = left;
    let mut context = UnwindContext::new();
    let Ok(row) = fde.unwind_info_for_address(section, bases, &mut context, frame.address) else {
        return Err(NoCaller::Broken);
    };
    let Convention { sp, pc, link, .. } = *frame.convention;
    let encoding = fde.cie().encoding();
    let evaluated = |expression: &UnwindExpression<usize>, frame_address: Option<u64>| {
        let expression = expression.get(section).map_err(|_| NoCaller::Broken)?;
        evaluate(expression, encoding, frame_address, frame.registers, frame.memory)
    };
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            known(frame.registers, *register)?.wrapping_add_signed(*offset)
        }
        CfaRule::Expression(expression) => evaluated(expression, None)?,
    };
    let cfa = frame.convention.cut(cfa);
    let is_signal = fde.is_signal_trampoline();
    let mut caller = frame.convention.kept(frame.registers);
    caller[sp] = Some(cfa);
    let column = fde.cie().return_address_register();
    let mut address: Option<Result<u64, NoCaller>> = None;
    for (register, rule) in row.registers() {
        let value = match rule {
            RegisterRule::Undefined if *register == column => return Err(NoCaller::Root),
            RegisterRule::Undefined | RegisterRule::Architectural => Err(NoCaller::Broken),
            RegisterRule::SameValue => known(frame.registers, *register),
            RegisterRule::Offset(offset) => stored(frame, cfa.wrapping_add_signed(*offset)),
            RegisterRule::ValOffset(offset) => Ok(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(from) => known(frame.registers, *from),
            RegisterRule::Expression(expression) => {
                evaluated(expression, Some(cfa)).and_then(|address| stored(frame, address))
            }
            RegisterRule::ValExpression(expression) => evaluated(expression, Some(cfa)),
            RegisterRule::Constant(value) => Ok(*value),
        };
        if *register == column {
            address = Some(value);
        }
        let register = usize::from(register.0);
        if register < pc {
            caller[register] = value.ok().map(|value| frame.convention.cut(value));
        }
    }
    let address = match address {
        Some(stated) => stated?,
        // The caller's call left it in the register, and nothing was called since.
        None if Some(usize::from(column.0)) == link && !frame.returned => known(frame.registers, column)?,
        None => return Err(NoCaller::Broken),
    };
    if let (Some(link), false) = (link, is_signal) {
        caller[link] = None;
    }
    caller[pc] = Some(frame.convention.cut(address));
    Ok((caller, is_signal))
}

fn known(registers: &Registers, register: Register) -> Result<u64, NoCaller> {
    let register = usize::from(register.0);
    registers.get(register).copied().flatten().ok_or(NoCaller::Unknown(register))
}

fn stored(frame: &Frame<'_>, address: u64) -> Result<u64, NoCaller> {
    let address = frame.convention.cut(address);
    frame.memory.word(address).ok_or(NoCaller::NotCopied(address))
}

/// An expression's value, which starts with the frame's address on its stack, if there is one yet.
fn evaluate(
    expression: Expression<Bytes<'_>>,
    encoding: gimli::Encoding,
    frame_address: Option<u64>,
    registers: &Registers,
    memory: &Memory<'_>,
) -> Result<u64, NoCaller> {
    use gimli::{EvaluationResult as Wants, Location};
    let mut evaluation = expression.evaluation(encoding);
    evaluation.set_max_iterations(MAX_OPERATIONS);
    if let Some(address) = frame_address {
        evaluation.set_initial_value(address);
    }
    let mut state = evaluation.evaluate();
    loop {
        state = match state.map_err(|_| NoCaller::Broken)? {
            Wants::Complete => break,
            Wants::RequiresRegister { register, .. } => {
                evaluation.resume_with_register(Value::Generic(known(registers, register)?))
            }
            Wants::RequiresMemory { address, size, space: None, .. } => {
                let value = memory.number(address, size.into()).ok_or(NoCaller::NotCopied(address))?;
                evaluation.resume_with_memory(Value::Generic(value))
            }
            _ => return Err(NoCaller::Broken),
        };
    }
    match evaluation.as_result() {
        [piece] => match piece.location {
            Location::Address { address } => Ok(address),
            Location::Value { value } => value.to_u64(u64::MAX).map_err(|_| NoCaller::Broken),
            _ => Err(NoCaller::Broken),
        },
        _ => Err(NoCaller::Broken),
    }
}
