//! A reader of DWARF that gives up after too much work.
//!
//! In DWARF a few bytes may stand for many. For example, ten thousand units may share one line program, or ten thousand functions one
//! list of ranges, and addr2line keeps what it has read for each of them: 500 KB become gigabytes. It also calls itself for each
//! inlined function in an inlined one, so that 30,000 of them overflow a stack.
//!
//! So we count the bytes that are read from a file, and measure the stack that is used. When either is exhausted, the reader returns an
//! error as at the end of a damaged section. Names then come from the symbol tables.

use std::borrow::Cow;
use std::cell::Cell;

use gimli::{EndianArcSlice, Error, ReaderOffsetId, Result, RunTimeEndian};

/// How many times the length of the file may be read. Compressed sections unpack to 3 to 6 times their size, and are read once.
const TIMES: u64 = 16;
/// What may be read of a small file, whose units may share most of it.
const AT_LEAST: u64 = 4 << 20;
/// Bytes of stack that may be used: a tenth of what a thread of a JVM has at least on Android. A level takes some hundreds.
const MAX_STACK: usize = 100 << 10;

thread_local! {
    /// The rest of the work under way, in bytes; the address at which its stack begins; true if a reader has given up.
    static NOW: (Cell<u64>, Cell<usize>, Cell<bool>) = const { (Cell::new(0), Cell::new(0), Cell::new(false)) };
}

/// The work that a file is worth.
pub(super) struct Effort {
    left: Cell<u64>,
    gave_up: Cell<bool>,
}

impl Effort {
    /// For files of this length together.
    pub(super) fn of(length: u64) -> Self {
        let left = length.saturating_mul(TIMES).saturating_add(AT_LEAST);
        Self { left: Cell::new(left), gave_up: Cell::new(false) }
    }

    /// Works with readers; they fail once the effort is spent.
    pub(super) fn spend<T>(&self, work: impl FnOnce() -> T) -> T {
        NOW.with(|(left, top, gave_up)| {
            left.set(self.left.get());
            top.set(here());
            gave_up.set(false);
            let done = work();
            self.left.set(left.get());
            self.gave_up.set(self.gave_up.get() || gave_up.get());
            done
        })
    }

    /// Returns true if some of the file was left out, because it took too much work.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up.get()
    }
}

/// An address on the stack of the function that calls this.
#[inline(always)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
}

/// A reader whose work counts.
#[derive(Clone, Debug)]
pub(super) struct Reader(pub(super) EndianArcSlice<RunTimeEndian>);

impl Reader {
    fn charge(&self, bytes: usize) -> Result<()> {
        NOW.with(|(left, top, gave_up)| {
            let rest = left.get().checked_sub(bytes as u64 + 1);
            left.set(rest.unwrap_or(0));
            match rest {
                Some(_) if here().abs_diff(top.get()) <= MAX_STACK => Ok(()),
                _ => {
                    gave_up.set(true);
                    Err(Error::UnexpectedEof(gimli::Reader::offset_id(&self.0)))
                }
            }
        })
    }
}

impl gimli::Reader for Reader {
    type Endian = RunTimeEndian;
    type Offset = usize;

    fn endian(&self) -> RunTimeEndian {
        self.0.endian()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn empty(&mut self) {
        self.0.empty();
    }

    fn truncate(&mut self, len: usize) -> Result<()> {
        self.0.truncate(len)
    }

    fn offset_from(&self, base: &Self) -> usize {
        self.0.offset_from(&base.0)
    }

    fn offset_id(&self) -> ReaderOffsetId {
        self.0.offset_id()
    }

    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        self.0.lookup_offset_id(id)
    }

    fn find(&self, byte: u8) -> Result<usize> {
        let found = memchr::memchr(byte, self.0.bytes());
        self.charge(found.unwrap_or(self.0.bytes().len()))?;
        found.ok_or_else(|| Error::UnexpectedEof(self.offset_id()))
    }

    fn skip(&mut self, len: usize) -> Result<()> {
        self.charge(0)?;
        self.0.skip(len)
    }

    fn split(&mut self, len: usize) -> Result<Self> {
        self.charge(0)?;
        self.0.split(len).map(Self)
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        self.charge(self.0.bytes().len())?;
        self.0.to_slice()
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        self.charge(self.0.bytes().len())?;
        self.0.to_string()
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        self.charge(self.0.bytes().len())?;
        self.0.to_string_lossy()
    }

    fn read_slice(&mut self, into: &mut [u8]) -> Result<()> {
        self.charge(into.len())?;
        self.0.read_slice(into)
    }
}
