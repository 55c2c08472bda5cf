//! Reads a recording in any state: cut anywhere, damaged anywhere, or still being written.
//!
//! [`Recording::open`] reads the header and every block's header and keeps an index of some 50 bytes
//! a block; [`Recording::events`] then streams one thread, a block at a time. Memory does not grow with
//! the events. Nothing in a file can make it panic or loop.

mod bytes;
mod compact;
mod events;
mod faults;
mod header;
mod index;
mod native_slots;
mod sections;
mod texts;

pub use compact::{CompactError, compact};
pub use events::{Events, Item};
pub use header::Header;
pub use index::Thread;
pub use sections::Section;
pub use texts::Texts;

use crate::error::{Fault, ReadError};
use crate::event::{Clocks, Event};
use crate::layout::{Region, RegionKind};
use crate::sections::native_stack::NativeStack;
use crate::source::Source;
use faults::Faults;

/// The header, and the regions inside of the fixed part.
pub(crate) fn header_of(source: &impl Source) -> Result<(Header, Vec<Region>), ReadError> {
    Header::read(source, &mut Faults::default())
}

pub(crate) use bytes::read_some;
pub(crate) use native_slots::captures as slots;

/// An opened recording. A reference to one converts to `&Recording<dyn Source>`, for code that is compiled once for all sources:
/// they are read a block at a time, so that a call by reference costs nothing.
#[derive(Debug)]
pub struct Recording<S: ?Sized> {
    header: Header,
    threads: Vec<Thread>,
    texts: Texts,
    sections: Vec<Section>,
    native_slots: Option<Region>,
    torn: Option<Section>,
    faults: Faults,
    // Last: only then a reference converts.
    source: S,
}

impl<S: Source> Recording<S> {
    /// Reads header, tables, block headers and section headers.
    ///
    /// # Errors
    /// If the header is not that of a recording which this version reads, or the device fails. All
    /// else that is wrong is listed in [`Recording::faults`].
    pub fn open(source: S) -> Result<Self, ReadError> {
        let mut faults = Faults::default();
        let (header, regions) = Header::read(&source, &mut faults)?;
        let threads = index::threads(&source, &regions, &mut faults)?;
        let mut texts = Texts::default();
        for region in regions.iter().filter(|r| r.kind == RegionKind::Strings) {
            texts.read_region(&source, region, &mut faults)?;
        }
        let (sections, torn) = sections::walk(&source, header.sections_at, &mut faults)?;
        for section in sections.iter().chain(&torn).filter(|s| s.is_strings()) {
            texts.read_entries(&sections::payload(&source, section)?.unwrap_or_default());
        }
        let native_slots = regions.iter().find(|region| region.kind == RegionKind::NativeStacks).copied();
        Ok(Self { header, threads, texts, sections, native_slots, torn, faults, source })
    }
}

impl<S: Source + ?Sized> Recording<S> {
    /// Where the bytes come from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The threads of the app: the recorded main thread first, then by uid. One that was silent while others needed its block may
    /// have no events; one that has ended has some.
    pub fn threads(&self) -> &[Thread] {
        let service = self.threads.iter().take_while(|t| t.is_service()).count();
        &self.threads[service..]
    }

    /// The service ring: ANRs, clocks, notices. It is missing where nothing was written to it.
    pub fn service(&self) -> Option<&Thread> {
        self.threads.first().filter(|t| t.is_service())
    }

    /// The interned texts.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// The sections whose header and payload are whole.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The section in which the file ends; its `length` is what is there of the payload. No checksum covers
    /// that: use it for text that is better cut than missing.
    pub fn torn_section(&self) -> Option<&Section> {
        self.torn.as_ref()
    }

    /// A section's payload; `None` if the file has become shorter.
    ///
    /// # Errors
    /// If the device fails.
    pub fn payload(&self, section: &Section) -> Result<Option<Vec<u8>>, ReadError> {
        sections::payload(&self.source, section)
    }

    /// The captures of native stacks that were not moved into sections before the process ended, each with its whole stack.
    ///
    /// # Errors
    /// If the device fails.
    pub fn native_slots(&self) -> Result<Vec<NativeStack>, ReadError> {
        self.native_slots
            .as_ref()
            .map_or(Ok(Vec::new()), |region| native_slots::captures(&self.source, region))
    }

    /// What was found missing or damaged when opening (damage inside blocks shows while streaming), and
    /// how many more of it there were than are listed.
    pub fn faults(&self) -> (&[Fault], u64) {
        (&self.faults.kept, self.faults.more)
    }

    /// Streams a thread's events in the order in which they were written.
    pub fn events<'a>(&'a self, thread: &'a Thread) -> Events<'a, S> {
        Events::new(&self.source, thread)
    }

    /// The clock triples: the header's, then those of the service ring.
    ///
    /// # Errors
    /// If the device fails.
    pub fn clocks(&self) -> Result<Vec<Clocks>, ReadError> {
        let mut clocks = vec![self.header.start];
        if let Some(service) = self.service() {
            for item in self.events(service) {
                if let Item::Event { event: Event::Clock(c), .. } = item? {
                    clocks.push(c);
                }
            }
        }
        Ok(clocks)
    }
}
