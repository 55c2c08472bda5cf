//! Overwrites the stack bytes in a recording's file.
//!
//! Stack bytes are the user's data, and a recording that leaves the device has none. [`wipe`] changes a file in place, in an order that a
//! crash at any point leaves readable:
//!
//! 1. frames that were unwound on the device are appended as sections, and synced;
//! 2. the stack bytes of each section are overwritten, then registers and arguments, the slots are set free, and all is synced;
//! 3. each section gets the sums of its new payload, the slots are overwritten, and all is synced.
//!
//! Between 2 and 3 a section has a wrong sum: a reader skips it and reports it. An interrupted wipe is repeated by the next one, which
//! finds what is left by the sums alone: it reads the start of each section and no stack.

use core::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use crate::crc32::{crc32, crc32_with_zeros};
use crate::error::ReadError;
use crate::layout::{Region, RegionKind};
use crate::native_slot;
use crate::reader::{header_of, read_some};
use crate::section::{self, MAX_PAYLOAD, SectionHeader, SectionKind};
use crate::sections::native_frames::NativeFrames;
use crate::sections::native_stack::{HEADER_LEN, NativeStack};
use crate::source::Source;

/// More sections than any recording has: a file from outside must not occupy the caller.
const MAX_SECTIONS: usize = 1_000_000;
/// Bytes that are overwritten or compared at a time.
const CHUNK: usize = native_slot::LEN;

/// A recording that can be changed in place.
pub trait Storage: Source {
    /// Writes all bytes at `offset`.
    ///
    /// # Errors
    /// The error of the underlying device.
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts or extends it to this length.
    ///
    /// # Errors
    /// The error of the underlying device.
    fn set_len(&mut self, length: u64) -> io::Result<()>;

    /// Returns once everything written is on the device.
    ///
    /// # Errors
    /// The error of the underlying device.
    fn sync(&mut self) -> io::Result<()>;
}

/// An open file as a [`Storage`]. It moves the file's position.
#[derive(Debug)]
pub struct InFile<'f>(pub &'f File);

impl Source for InFile<'_> {
    fn len(&self) -> u64 {
        self.0.metadata().map_or(0, |of| of.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.0;
        file.seek(SeekFrom::Start(offset))?;
        file.read(buffer)
    }
}

impl Storage for InFile<'_> {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.0;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// What was wiped.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Wiped {
    /// Captures that had stack bytes, or may have had.
    pub captures: usize,
    /// Sections of frames that were appended.
    pub frames: usize,
}

/// Why a recording could not be wiped: stack bytes may be left in it.
#[derive(Debug)]
#[non_exhaustive]
pub enum WipeError {
    /// It cannot be read.
    Read(ReadError),
    /// It cannot be changed.
    Write(io::Error),
    /// It has too many sections to be a recording of the library.
    TooManySections,
}

impl fmt::Display for WipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => write!(f, "the stack bytes cannot be overwritten: {error}"),
            Self::TooManySections => write!(f, "it has more than {MAX_SECTIONS} sections"),
        }
    }
}

impl std::error::Error for WipeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Write(error) => Some(error),
            Self::TooManySections => None,
        }
    }
}

impl From<io::Error> for WipeError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Whether a recording has stack bytes, or an interrupted wipe has to be completed.
///
/// # Errors
/// If it cannot be read, or is not a recording.
pub fn has_stack_bytes(file: &impl Source) -> Result<bool, WipeError> {
    Plan::of(file).map(|plan| !plan.is_done())
}

/// Overwrites the stack bytes of a recording that nothing else writes to, after it has appended `frames`. Frames of captures that have
/// theirs, and of those whose bytes are gone, are left out, so that two callers in a row add them once.
///
/// A recording without stack bytes is not written to.
///
/// # Errors
/// If it cannot be read or changed, or is not a recording. Then stack bytes may be left, and the call can be repeated.
pub fn wipe(file: &mut impl Storage, frames: &[NativeFrames]) -> Result<Wiped, WipeError> {
    let plan = Plan::of(file)?;
    if plan.is_done() {
        return Ok(Wiped::default());
    }
    let mut end = plan.end;
    if let Some((from, length)) = plan.rest {
        overwrite(file, from, length)?;
        file.sync()?;
        file.set_len(plan.end)?;
    }
    // In a file that was cut short inside of the fixed part, sections have no place.
    let (sections, frames) =
        if plan.end <= file.len().next_multiple_of(8) { plan.appended(frames) } else { (Vec::new(), 0) };
    if !sections.is_empty() {
        // In place of an incomplete section of a killed process.
        file.set_len(end)?;
        for bytes in &sections {
            file.write_all_at(end, bytes)?;
            end += bytes.len() as u64;
        }
        file.sync()?;
    }
    for stack in &plan.stacks {
        // The stack first: the flag in the part before it says that all is gone.
        let head = stack.head.len() as u64;
        overwrite(file, stack.payload + head, stack.length - head)?;
        file.write_all_at(stack.payload, &stack.head)?;
    }
    for (offset, length) in &plan.slots {
        // The state: half of a stack is not to be read as a stack.
        overwrite(file, *offset, (*length).min(4))?;
    }
    file.sync()?;
    for stack in &plan.stacks {
        // Eight bytes at a multiple of eight: written whole or not at all.
        file.write_all_at(stack.header + section::SUMS as u64, &stack.sums)?;
    }
    for (offset, length) in &plan.slots {
        overwrite(file, *offset, *length)?;
    }
    file.sync()?;
    let waiting = plan.in_slots.iter().filter(|capture| !plan.moved.contains(&capture.number));
    Ok(Wiped { captures: plan.stacks.len() + waiting.count(), frames })
}

/// A section whose payload is to be overwritten.
struct Stack {
    header: u64,
    payload: u64,
    length: u64,
    /// What stays of the payload's start; zeros follow.
    head: Vec<u8>,
    /// The sums of payload and header, as they stand in the header.
    sums: [u8; 8],
    /// The number of its capture, 0 if unknown.
    number: u64,
}

/// What has to be done to a recording.
#[derive(Default)]
struct Plan {
    stacks: Vec<Stack>,
    /// Parts of the slots that are not zero.
    slots: Vec<(u64, u64)>,
    /// Captures in slots.
    in_slots: Vec<NativeStack>,
    /// Numbers of the captures that have a section.
    moved: Vec<u64>,
    /// Numbers of the captures that have frames.
    framed: Vec<u64>,
    /// Where the next section goes.
    end: u64,
    /// From where, and for how long, bytes follow the last whole section that no reader reads, or that hold a stack.
    rest: Option<(u64, u64)>,
}

impl Plan {
    fn of(file: &impl Source) -> Result<Self, WipeError> {
        let (header, regions) = header_of(file).map_err(WipeError::Read)?;
        let region = regions.iter().find(|region| region.kind == RegionKind::NativeStacks);
        let mut plan = Self { end: header.sections_at, ..Self::default() };
        plan.walk(file, region.is_some())?;
        if let Some(region) = region {
            plan.slots = used(file, region).map_err(WipeError::Read)?;
            plan.in_slots = crate::reader::slots(file, region).map_err(WipeError::Read)?;
        }
        Ok(plan)
    }

    fn is_done(&self) -> bool {
        self.stacks.is_empty() && self.slots.is_empty() && self.rest.is_none()
    }

    /// Finds the sections.
    fn walk(&mut self, file: &impl Source, has_slots: bool) -> Result<(), WipeError> {
        let mut has_stacks = has_slots;
        let length = file.len();
        for _ in 0..MAX_SECTIONS {
            let left = length.saturating_sub(self.end);
            if left == 0 {
                return Ok(());
            }
            let mut bytes = [0; section::HEADER_LEN];
            let whole = read(file, self.end, &mut bytes)? == bytes.len();
            let header = SectionHeader::parse(&bytes).filter(|header| whole && header.length <= MAX_PAYLOAD);
            let Some(header) = header else {
                // No reader gets behind it, and it may be what is left of a stack.
                if has_stacks {
                    self.rest = Some((self.end, left));
                }
                return Ok(());
            };
            let kind = SectionKind::try_from(header.kind).ok();
            let payload = self.end + section::HEADER_LEN as u64;
            let present = left - section::HEADER_LEN as u64;
            if header.length > present {
                if kind == Some(SectionKind::NativeStack) {
                    // Not its header: it says what this is should the next step not come.
                    self.rest = Some((payload, present));
                }
                return Ok(());
            }
            match kind {
                Some(SectionKind::NativeStack) => {
                    has_stacks = true;
                    let (stack, done) = stack(file, self.end, &header, &bytes)?;
                    self.moved.extend((stack.number > 0).then_some(stack.number));
                    if !done {
                        self.stacks.push(stack);
                    }
                }
                Some(SectionKind::NativeFrames) => {
                    let mut text = vec![0; header.length as usize];
                    let read = read(file, payload, &mut text)?;
                    self.framed.extend(NativeFrames::parse(&text[..read]).map(|frames| frames.number));
                }
                _ => {}
            }
            self.end = payload + header.length.next_multiple_of(8);
        }
        Err(WipeError::TooManySections)
    }

    /// The sections to append, and how many of them hold frames.
    fn appended(&self, frames: &[NativeFrames]) -> (Vec<Vec<u8>>, usize) {
        let is_new = |number| {
            let has_bytes = self.stacks.iter().any(|stack| stack.number == number)
                || self.in_slots.iter().any(|capture| capture.number == number);
            has_bytes && !self.framed.contains(&number)
        };
        let new = frames.iter().filter(|stack| is_new(stack.number));
        let mut sections: Vec<_> =
            new.map(|stack| section::encode(SectionKind::NativeFrames, 1, &stack.encode())).collect();
        let framed = sections.len();
        // That there was a capture in a slot stays known. Last: with this section the capture counts as moved.
        for capture in self.in_slots.iter().filter(|capture| !self.moved.contains(&capture.number)) {
            let mut payload = capture.encode();
            NativeStack::wipe(&mut payload);
            sections.push(section::encode(SectionKind::NativeStack, 1, &payload));
        }
        (sections, framed)
    }
}

/// A section of a capture, and whether it is wiped.
fn stack(
    file: &impl Source,
    at: u64,
    header: &SectionHeader,
    bytes: &[u8; section::HEADER_LEN],
) -> Result<(Stack, bool), WipeError> {
    let payload = at + section::HEADER_LEN as u64;
    let mut there = vec![0; (header.length as usize).min(HEADER_LEN)];
    let read = read(file, payload, &mut there)?;
    there.truncate(read);
    let head = NativeStack::wiped_head(&there, header.length);
    let sum = crc32_with_zeros(&head, header.length - head.len() as u64);
    let header_sum = crc32(&[&bytes[..section::SUMS], &sum.to_le_bytes()].concat());
    let sums = (u64::from(header_sum) << 32 | u64::from(sum)).to_le_bytes();
    // The sums are written once all else is on the device.
    let done = there == head && header.sum == sum;
    let number = NativeStack::number_in(&head);
    Ok((Stack { header: at, payload, length: header.length, head, sums, number }, done))
}

/// The chunks of a region that are not zero.
fn used(file: &impl Source, region: &Region) -> Result<Vec<(u64, u64)>, ReadError> {
    let end = (region.offset + region.length).min(file.len());
    let mut found = Vec::new();
    let mut chunk = vec![0; CHUNK];
    for at in (region.offset..end).step_by(CHUNK) {
        let length = (end - at).min(CHUNK as u64);
        let read = read_some(file, at, &mut chunk[..length as usize])?;
        if chunk[..read].iter().any(|byte| *byte != 0) {
            found.push((at, length));
        }
    }
    Ok(found)
}

fn read(file: &impl Source, offset: u64, buffer: &mut [u8]) -> Result<usize, WipeError> {
    read_some(file, offset, buffer).map_err(WipeError::Read)
}

/// Writes zeros.
fn overwrite(file: &mut impl Storage, offset: u64, length: u64) -> io::Result<()> {
    let zeros = vec![0; length.min(CHUNK as u64) as usize];
    for done in (0..length).step_by(CHUNK) {
        let part = (length - done).min(CHUNK as u64) as usize;
        file.write_all_at(offset + done, &zeros[..part])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native_slot::{Machine, REGISTERS, Reason, state};
    use crate::synth::RecordingBuilder;
    use crate::{Item, Recording};
    use proptest::prelude::*;

    /// A text that the app has on its stack.
    const MARKER: &[u8; 16] = b"k9#Wq!7zR2@mXp5T";
    const DUMP: &[u8] = b"----- pid 7 at 2026-01-01 00:00:00 -----\n";

    /// One step of a wipe.
    #[derive(Clone, Debug)]
    enum Step {
        Write(u64, Vec<u8>),
        Length(u64),
        Sync,
    }

    impl Step {
        /// Does its first `share` percent.
        fn apply(&self, bytes: &mut Vec<u8>, share: usize) {
            match self {
                Self::Write(offset, written) => {
                    let written = &written[..written.len() * share / 100];
                    // The disk writes a sector whole or not at all.
                    let written = if self.is_in_a_sector() && share < 100 { &[][..] } else { written };
                    let at = *offset as usize;
                    if !written.is_empty() {
                        bytes.resize(bytes.len().max(at + written.len()), 0);
                        bytes[at..at + written.len()].copy_from_slice(written);
                    }
                }
                Self::Length(length) if share == 100 => bytes.resize(*length as usize, 0),
                Self::Length(_) | Self::Sync => {}
            }
        }

        /// Its parts, which reach the disk in any order.
        fn pages(&self) -> Vec<Self> {
            match self {
                Self::Write(at, bytes) => {
                    let parts = bytes.chunks(4_096).enumerate();
                    parts.map(|(i, part)| Self::Write(at + 4_096 * i as u64, part.to_vec())).collect()
                }
                other => vec![other.clone()],
            }
        }

        fn is_in_a_sector(&self) -> bool {
            matches!(self, Self::Write(at, bytes) if at % 8 == 0 && bytes.len() <= 8)
        }
    }

    /// A file that keeps how it was changed.
    #[derive(Debug)]
    struct Logged {
        bytes: Vec<u8>,
        steps: Vec<Step>,
    }

    impl Logged {
        fn new(bytes: Vec<u8>) -> Self {
            Self { bytes, steps: Vec::new() }
        }
    }

    impl Source for Logged {
        fn len(&self) -> u64 {
            self.bytes.len() as u64
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            self.bytes.read_at(offset, buffer)
        }
    }

    impl Storage for Logged {
        fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            let step = Step::Write(offset, bytes.to_vec());
            step.apply(&mut self.bytes, 100);
            self.steps.push(step);
            Ok(())
        }
        fn set_len(&mut self, length: u64) -> io::Result<()> {
            let step = Step::Length(length);
            step.apply(&mut self.bytes, 100);
            self.steps.push(step);
            Ok(())
        }
        fn sync(&mut self) -> io::Result<()> {
            self.steps.push(Step::Sync);
            Ok(())
        }
    }

    /// A capture with the marker in its stack, a register and an argument.
    fn capture(number: u64, len: usize) -> NativeStack {
        let mut stack = vec![number as u8; len];
        for at in (0..len.saturating_sub(MARKER.len())).step_by(480) {
            stack[at..at + MARKER.len()].copy_from_slice(MARKER);
        }
        let half = |at: usize| u64::from_le_bytes(MARKER[at..at + 8].try_into().unwrap());
        let mut registers = [0; REGISTERS];
        registers[3..5].copy_from_slice(&[half(0), half(8)]);
        registers[16] = 0x7000_1234;
        NativeStack {
            number,
            tid: 7,
            asked: 10 * number,
            at: 10 * number + 1,
            machine: Machine::X86_64,
            reason: Some(Reason::Stall),
            flags: 0,
            stack_end: 0x7fff_0000,
            sp: 0x7ffe_0000,
            registers,
            system_call: Some(crate::sections::native_stack::SystemCall {
                number: 0,
                arguments: [half(0), half(8), 0, 0, 0, 0],
            }),
            mutex: (0, 0),
            previous: None,
            stack,
        }
    }

    fn frames(number: u64) -> NativeFrames {
        NativeFrames {
            number,
            tid: 7,
            at: 10 * number + 1,
            reason: 1,
            end: String::new(),
            frames: Vec::new(),
        }
    }

    /// How a recording ends.
    #[derive(Clone, Copy, Debug)]
    enum End {
        Whole,
        /// Inside of a capture's section, after so many bytes.
        InStack(usize),
        InDump,
        /// In bytes of a stack without a header, as after a loss of power.
        Unreadable,
    }

    fn recording(captures: &[(usize, bool)], end: End) -> Vec<u8> {
        let mut builder = RecordingBuilder::new(7, "com.example").main("main", |main| {
            main.enter(2_000, 9).exit(3_000, 9);
        });
        let mut last: Option<NativeStack> = None;
        builder = builder.section(SectionKind::DumpText, DUMP);
        for (i, &(len, in_slot)) in captures.iter().enumerate() {
            let mut capture = capture(i as u64 + 1, len);
            if in_slot {
                builder = builder.native_slot(state::FULL, &capture);
            } else {
                let whole = capture.stack.clone();
                if let Some(last) = &last {
                    capture.share(last.number, &last.stack);
                }
                builder = builder.section(SectionKind::NativeStack, &capture.encode());
                capture.stack = whole;
                last = Some(capture);
            }
        }
        builder = builder.section(SectionKind::Verdict, b"signal=3\n");
        // A slot whose capture has its section keeps the bytes until the next one.
        builder = builder.native_slot(state::FREE, &self::capture(90, 900));
        let mut bytes = builder.build();
        match end {
            End::Whole => {}
            End::InStack(len) => {
                let section =
                    section::encode(SectionKind::NativeStack, 1, &self::capture(91, 4_000).encode());
                bytes.extend_from_slice(&section[..len.min(section.len() - 1)]);
            }
            End::InDump => {
                let section = section::encode(SectionKind::DumpText, 1, &DUMP.repeat(9));
                bytes.extend_from_slice(&section[..200]);
            }
            End::Unreadable => {
                bytes.extend_from_slice(&[0; 64]);
                bytes.extend_from_slice(&self::capture(92, 3_000).stack);
            }
        }
        bytes
    }

    /// The capture as it was, by its number, if it can still be read.
    fn readable(bytes: &[u8]) -> Vec<NativeStack> {
        let recording = Recording::open(bytes).unwrap();
        let stacks =
            recording.sections().iter().filter(|section| section.kind == Some(SectionKind::NativeStack));
        let parsed =
            stacks.filter_map(|section| NativeStack::parse(&recording.payload(section).unwrap().unwrap()));
        parsed.chain(recording.native_slots().unwrap()).filter(|capture| !capture.is_wiped()).collect()
    }

    /// The numbers of the frames, those that are there twice twice.
    fn framed(bytes: &[u8]) -> Vec<u64> {
        let recording = Recording::open(bytes).unwrap();
        let sections =
            recording.sections().iter().filter(|section| section.kind == Some(SectionKind::NativeFrames));
        sections
            .map(|s| NativeFrames::parse(&recording.payload(s).unwrap().unwrap()).unwrap().number)
            .collect()
    }

    /// Asserts that what has nothing to do with stacks is there.
    fn assert_rest(bytes: &[u8]) {
        let recording = Recording::open(bytes).unwrap();
        let events = recording.events(&recording.threads()[0]);
        assert_eq!(events.filter(|item| matches!(item, Ok(Item::Event { .. }))).count(), 2);
        let of = |kind| recording.sections().iter().filter(|section| section.kind == Some(kind)).count();
        assert_eq!((of(SectionKind::DumpText), of(SectionKind::Verdict)), (1, 1));
    }

    fn assert_clean(bytes: &[u8]) {
        assert!(!bytes.windows(8).any(|at| at == &MARKER[..8] || at == &MARKER[8..]));
        assert!(!has_stack_bytes(&bytes).unwrap());
        assert!(readable(bytes).is_empty());
        assert_rest(bytes);
    }

    /// Asserts what holds at a crash, then wipes again and asserts that nothing is left. These captures were unwound. Returns the file.
    fn assert_recovers(bytes: Vec<u8>, with_frames: Option<&[u64]>) -> Vec<u8> {
        assert_rest(&bytes);
        let (left, frames_there) = (readable(&bytes), framed(&bytes));
        for number in with_frames.into_iter().flatten() {
            let is_there = left.iter().any(|capture| capture.number == *number);
            assert!(is_there || frames_there.contains(number), "capture {number} is lost");
        }
        for found in left {
            assert!(found.stack.iter().all(|byte| *byte != 0), "half of capture {} is read", found.number);
        }
        let mut file = Logged::new(bytes);
        let given: Vec<_> = with_frames.into_iter().flatten().map(|number| frames(*number)).collect();
        wipe(&mut file, &given).unwrap();
        assert_clean(&file.bytes);
        let mut numbers = framed(&file.bytes);
        numbers.sort_unstable();
        assert_eq!(numbers, with_frames.unwrap_or_default());
        file.bytes
    }

    fn ends() -> impl Strategy<Value = End> {
        prop_oneof![
            Just(End::Whole),
            (1usize..4_500).prop_map(End::InStack),
            Just(End::InDump),
            Just(End::Unreadable)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_kill_at_any_write_leaves_a_readable_file_and_the_next_wipe_completes(
            captures in prop::collection::vec((500usize..3_000, any::<bool>()), 1..4), end in ends(), unwound: bool, share in 1usize..100,
        ) {
            let before = recording(&captures, end);
            let numbers: Vec<_> = (1..=captures.len() as u64).collect();
            let numbers = unwound.then_some(&numbers[..]);
            let given: Vec<_> = numbers.into_iter().flatten().map(|number| frames(*number)).collect();
            let mut file = Logged::new(before.clone());
            let wiped = wipe(&mut file, &given).unwrap();
            prop_assert_eq!((wiped.captures, wiped.frames), (captures.len(), given.len()));
            assert_clean(&file.bytes);
            for cut in 0..=file.steps.len() {
                for share in [0, share] {
                    let mut bytes = before.clone();
                    file.steps[..cut].iter().for_each(|step| step.apply(&mut bytes, 100));
                    if let Some(step) = file.steps.get(cut) {
                        step.apply(&mut bytes, share);
                    }
                    let bytes = assert_recovers(bytes, numbers);
                    let recording = Recording::open(&bytes[..]).unwrap();
                    prop_assert_eq!(recording.faults().0.len(), usize::from(recording.torn_section().is_some()));
                }
            }
        }

        #[test]
        fn a_loss_of_power_loses_no_frames_and_the_next_wipe_completes(
            captures in prop::collection::vec((500usize..3_000, any::<bool>()), 1..4), end in ends(), unwound: bool,
            cut: prop::sample::Index, kept in prop::collection::vec(prop::sample::select(vec![0, 30, 100]), 97),
        ) {
            let before = recording(&captures, end);
            let numbers: Vec<_> = (1..=captures.len() as u64).collect();
            let numbers = unwound.then_some(&numbers[..]);
            let given: Vec<_> = numbers.into_iter().flatten().map(|number| frames(*number)).collect();
            let mut file = Logged::new(before.clone());
            wipe(&mut file, &given).unwrap();
            let steps = &file.steps[..cut.index(file.steps.len() + 1)];
            let synced = steps.iter().rposition(|step| matches!(step, Step::Sync)).map_or(0, |at| at + 1);
            let mut bytes = before;
            steps[..synced].iter().for_each(|step| step.apply(&mut bytes, 100));
            // Of what was not synced, any part may be on the disk.
            let parts = steps[synced..].iter().flat_map(Step::pages);
            parts.zip(kept.iter().cycle()).for_each(|(part, share)| part.apply(&mut bytes, *share));
            assert_recovers(bytes, numbers);
        }

        #[test]
        fn any_bytes_are_wiped_or_refused(
            captures in prop::collection::vec((500usize..1_000, any::<bool>()), 1..3), at: prop::sample::Index, with: u8, cut: prop::sample::Index,
        ) {
            let mut bytes = recording(&captures, End::Whole);
            bytes[cut.index(5_000)] = with;
            let length = 4_096 + at.index(bytes.len() - 4_096);
            bytes.truncate(length);
            let mut file = Logged::new(bytes);
            if wipe(&mut file, &[frames(1)]).is_ok() {
                prop_assert!(!has_stack_bytes(&file).unwrap());
            }
        }
    }

    #[test]
    fn what_has_no_stack_is_not_written_to() {
        let bytes = RecordingBuilder::new(7, "p").section(SectionKind::DumpText, DUMP).build();
        for more in [&[][..], b"garbage behind the last section, which another version may read"] {
            let mut file = Logged::new([&bytes, more].concat());
            assert_eq!(wipe(&mut file, &[frames(1)]).unwrap(), Wiped::default());
            assert!(file.steps.is_empty());
        }
        let mut file = Logged::new(recording(&[(900, false)], End::Whole));
        wipe(&mut file, &[]).unwrap();
        file.steps.clear();
        assert_eq!(wipe(&mut file, &[frames(1)]).unwrap(), Wiped::default());
        assert!(file.steps.is_empty(), "the frames of bytes that are gone are nobody's");
    }

    #[test]
    fn a_payload_that_is_no_capture_is_overwritten_whole() {
        let long = MARKER.repeat(5_000);
        for payload in [&long[..], &long[..100], &[&capture(1, 600).encode()[..], MARKER].concat()] {
            let builder = RecordingBuilder::new(7, "p").section(SectionKind::NativeStack, payload);
            let mut file = Logged::new(builder.section(SectionKind::DumpText, DUMP).build());
            wipe(&mut file, &[]).unwrap();
            assert!(!file.bytes.windows(8).any(|at| at == &MARKER[..8]));
            let recording = Recording::open(&file.bytes[..]).unwrap();
            assert_eq!((recording.sections().len(), recording.faults().0.len()), (2, 0));
        }
    }

    #[test]
    fn a_file_on_a_disk_is_changed_in_place() {
        let path = std::env::temp_dir().join(format!("anrscope-wipe-{}", std::process::id()));
        std::fs::write(&path, recording(&[(900, false), (2_000, true)], End::InStack(700))).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        assert_eq!(wipe(&mut InFile(&file), &[frames(2)]).unwrap(), Wiped { captures: 2, frames: 1 });
        assert_clean(&std::fs::read(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(wipe(&mut Logged::new(b"no recording".to_vec()), &[]).is_err());
    }
}
