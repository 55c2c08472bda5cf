//! Walks the sections behind the fixed part.

use super::bytes::{read_array, read_full};
use super::faults::Faults;
use crate::crc32::crc32;
use crate::error::{Fault, ReadError};
use crate::section::{self, SectionHeader, SectionKind};
use crate::source::Source;

/// A section that is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// Its type, `None` if this version does not know it.
    pub kind: Option<SectionKind>,
    /// Version of its type.
    pub version: u16,
    /// Where its payload starts.
    pub offset: u64,
    /// Length of its payload.
    pub length: u64,
}

impl Section {
    pub(super) fn is_strings(&self) -> bool {
        self.kind == Some(SectionKind::Strings)
    }
}

/// The sections that are whole, and the one in which the file ends, if its header is whole: `length` is
/// then how much of its payload is there.
pub(super) type Walked = (Vec<Section>, Option<Section>);

pub(super) fn walk(source: &impl Source, start: u64, faults: &mut Faults) -> Result<Walked, ReadError> {
    let mut sections = Vec::new();
    let mut torn = None;
    let mut at = start;
    while at < source.len() {
        let header = read_array::<{ section::HEADER_LEN }>(source, at)?;
        let Some(header) = header.as_ref().and_then(SectionHeader::parse) else {
            faults.add(Fault::BadSection { offset: at });
            break;
        };
        let payload_at = at + section::HEADER_LEN as u64;
        let section = Section {
            kind: SectionKind::try_from(header.kind).ok(),
            version: header.version,
            offset: payload_at,
            length: header.length,
        };
        let present = source.len() - payload_at;
        if header.length > section::MAX_PAYLOAD || header.length > present {
            faults.add(Fault::BadSection { offset: at });
            // The length in a header with a correct sum is right: what is missing was cut off.
            torn = (header.length <= section::MAX_PAYLOAD).then_some(Section { length: present, ..section });
            break;
        }
        match payload(source, &section)? {
            Some(bytes) if crc32(&bytes) == header.sum => sections.push(section),
            _ => faults.add(Fault::BadSection { offset: at }),
        }
        at = payload_at + header.length.next_multiple_of(8);
    }
    Ok((sections, torn))
}

pub(super) fn payload(
    source: &(impl Source + ?Sized),
    section: &Section,
) -> Result<Option<Vec<u8>>, ReadError> {
    // `walk` has bounded the length.
    let mut bytes = vec![0; section.length as usize];
    Ok(read_full(source, section.offset, &mut bytes)?.then_some(bytes))
}
