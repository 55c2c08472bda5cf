//! Writing the headers of a zip file.

use crate::directory::Entry;
use crate::fields::{push_others, push_zip64};
use crate::records::{
    Attributes, CENTRAL, DEFLATED, DESCRIPTOR, END, LOCAL, Stored, UTF8, ZIP64_END, ZIP64_LOCATOR,
};

/// The largest value of a 32-bit field, which means "see the zip64 field".
const LARGE: u64 = 0xFFFF_FFFF;
/// "Version needed" of a file with 64-bit sizes: 4.5.
const NEEDED_ZIP64: u16 = 45;
/// "Version needed" of a deflated file: 2.0.
const NEEDED_DEFLATED: u16 = 20;
/// "Version needed" of a stored file: 1.0.
const NEEDED_STORED: u16 = 10;
/// 1980-01-01 00:00, the first valid time, for entries without one.
const FIRST_DAY: [u8; 4] = [0, 0, 0x21, 0];

impl Stored {
    /// Describes data that is copied from an archive, still compressed.
    #[must_use]
    pub fn copied(entry: &Entry) -> Self {
        // Checksum and sizes are known now. An encrypted entry keeps its descriptor, because with the flag its first
        // bytes are checked against the time and not against the checksum.
        let stored = entry.stored;
        let flags = if stored.is_encrypted() { stored.flags } else { stored.flags & !DESCRIPTOR };
        Self { flags, ..stored }
    }

    /// Describes new data for an entry with these flags.
    #[must_use]
    pub fn fresh(flags: u16, method: u16, crc: u32, compressed: u64, size: u64) -> Self {
        let needed = if method == DEFLATED { NEEDED_DEFLATED } else { NEEDED_STORED };
        Self { flags: flags & UTF8, method, needed, crc, compressed, size }
    }

    fn is_large(&self) -> bool {
        self.size >= LARGE || self.compressed >= LARGE
    }

    fn has_descriptor(&self) -> bool {
        self.flags & DESCRIPTOR != 0 && self.is_encrypted()
    }

    /// Appends the fields that local and central headers share, up to the sizes.
    fn push(&self, needed: u16, time: [u8; 4], large: bool, out: &mut Vec<u8>) {
        for field in [needed, self.flags, self.method] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&time);
        out.extend_from_slice(&self.crc.to_le_bytes());
        let shown = |value: u64| if large { LARGE } else { value } as u32;
        out.extend_from_slice(&shown(self.compressed).to_le_bytes());
        out.extend_from_slice(&shown(self.size).to_le_bytes());
    }

    /// Appends the data descriptor of some encrypted entries.
    pub fn push_descriptor(&self, out: &mut Vec<u8>) {
        if self.has_descriptor() {
            out.extend_from_slice(&0x0807_4b50_u32.to_le_bytes());
            out.extend_from_slice(&self.crc.to_le_bytes());
            for value in [self.compressed, self.size] {
                match self.is_large() {
                    true => out.extend_from_slice(&value.to_le_bytes()),
                    false => out.extend_from_slice(&(value as u32).to_le_bytes()),
                }
            }
        }
    }
}

/// The name and metadata of an entry. The texts are bytes, as in the archive.
#[derive(Clone, Copy)]
pub struct Label<'a> {
    #[allow(missing_docs)]
    pub attributes: Attributes,
    /// The path, with `/` between directories; at most 65,535 bytes.
    pub name: &'a [u8],
    /// Extra fields of the central header; a zip64 field is replaced.
    pub extra: &'a [u8],
    /// Extra fields of the local header; a zip64 field is replaced.
    pub local_extra: &'a [u8],
    /// Comment of the central header; at most 65,535 bytes.
    pub comment: &'a [u8],
}

impl<'a> Label<'a> {
    /// Returns the label of an entry of `archive`.
    #[must_use]
    pub fn from_entry(archive: &'a [u8], entry: &Entry) -> Self {
        let text = |range: &core::ops::Range<usize>| archive.get(range.clone()).unwrap_or_default();
        Self {
            attributes: entry.attributes,
            name: text(&entry.name),
            extra: text(&entry.extra),
            local_extra: text(&entry.local_extra),
            comment: text(&entry.comment),
        }
    }

    /// Creates the label of an entry that is not in the input.
    #[must_use]
    pub fn new(name: &'a [u8]) -> Self {
        let attributes = Attributes { made_by: NEEDED_DEFLATED, time: FIRST_DAY, internal: 0, external: 0 };
        Self { attributes, name, extra: &[], local_extra: &[], comment: &[] }
    }
}

fn push_u16(value: usize, out: &mut Vec<u8>) {
    // Names, comments and extra fields come from fields of this size. Only the zip64 field is added; if some tool has
    // filled the extra fields completely, they are dropped.
    out.extend_from_slice(&(value as u16).to_le_bytes());
}

/// Returns the extra fields preceded by a zip64 field with `large`, if there are any values.
fn extra_fields(old: &[u8], large: &[u64]) -> Vec<u8> {
    let mut extra = Vec::new();
    if !large.is_empty() {
        push_zip64(large, &mut extra);
    }
    let alone = extra.len();
    push_others(old, &mut extra);
    if extra.len() > 0xFFFF {
        extra.truncate(alone);
    }
    extra
}

/// Appends a local header. Its length does not depend on checksum and sizes below 4 GiB, so that it can be
/// overwritten when they are known.
pub fn push_local(label: &Label<'_>, stored: &Stored, out: &mut Vec<u8>) {
    let large = stored.is_large();
    let values = [stored.size, stored.compressed];
    let extra = extra_fields(label.local_extra, if large { &values } else { &[] });
    out.extend_from_slice(&LOCAL);
    let needed = if large { stored.needed.max(NEEDED_ZIP64) } else { stored.needed };
    stored.push(needed, label.attributes.time, large, out);
    push_u16(label.name.len(), out);
    push_u16(extra.len(), out);
    out.extend_from_slice(label.name);
    out.extend_from_slice(&extra);
}

/// Appends a central header of an entry whose local header is at `at`.
pub fn push_central(label: &Label<'_>, stored: &Stored, at: u64, out: &mut Vec<u8>) {
    let large = stored.is_large();
    let mut values = if large { vec![stored.size, stored.compressed] } else { Vec::new() };
    if at >= LARGE {
        values.push(at);
    }
    let extra = extra_fields(label.extra, &values);
    out.extend_from_slice(&CENTRAL);
    out.extend_from_slice(&label.attributes.made_by.to_le_bytes());
    let needed = if values.is_empty() { stored.needed } else { stored.needed.max(NEEDED_ZIP64) };
    stored.push(needed, label.attributes.time, large, out);
    push_u16(label.name.len(), out);
    push_u16(extra.len(), out);
    push_u16(label.comment.len(), out);
    push_u16(0, out);
    out.extend_from_slice(&label.attributes.internal.to_le_bytes());
    out.extend_from_slice(&label.attributes.external.to_le_bytes());
    out.extend_from_slice(&(at.min(LARGE) as u32).to_le_bytes());
    out.extend_from_slice(label.name);
    out.extend_from_slice(&extra);
    out.extend_from_slice(label.comment);
}

/// Appends the end of an archive with `count` central headers of `length` bytes at `at`.
pub fn push_end(count: u64, length: u64, at: u64, comment: &[u8], out: &mut Vec<u8>) {
    if count >= 0xFFFF || length >= LARGE || at >= LARGE {
        let end = at + length;
        out.extend_from_slice(&ZIP64_END);
        out.extend_from_slice(&44_u64.to_le_bytes());
        push_u16(usize::from(NEEDED_ZIP64), out);
        push_u16(usize::from(NEEDED_ZIP64), out);
        out.extend_from_slice(&[0; 8]);
        for value in [count, count, length, at] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        out.extend_from_slice(&ZIP64_LOCATOR);
        out.extend_from_slice(&0_u32.to_le_bytes());
        out.extend_from_slice(&end.to_le_bytes());
        out.extend_from_slice(&1_u32.to_le_bytes());
    }
    out.extend_from_slice(&END);
    out.extend_from_slice(&[0; 4]);
    for _ in 0..2 {
        out.extend_from_slice(&(count.min(0xFFFF) as u16).to_le_bytes());
    }
    out.extend_from_slice(&(length.min(LARGE) as u32).to_le_bytes());
    out.extend_from_slice(&(at.min(LARGE) as u32).to_le_bytes());
    push_u16(comment.len(), out);
    out.extend_from_slice(comment);
}
