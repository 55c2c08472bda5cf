//! Writing the zip file of an APK.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rayon::prelude::*;

use super::codec::{contents, deflate, sum};
use super::entry::{display, is_signature};
use super::fields::Extra;
use super::{DEFLATED, Data, Entry, RESOURCES, STORED, is_library, multiple};

/// The extra field that aligns an entry: two bytes with the multiple, then zeros (apksig, `ApkSigner`).
const ALIGNMENT: u16 = 0xD935;
/// The extra field of 64-bit sizes.
const ZIP64: u16 = 1;
/// Flag: checksum and sizes follow the data.
const DESCRIPTOR: u16 = 1 << 3;
const LOCAL_LENGTH: usize = 30;
/// The mark of an end record.
const END: &[u8] = b"PK\x05\x06";

/// How an APK is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// Stores libraries: the manifest sets `extractNativeLibs` to false.
    pub store_libraries: bool,
    /// Stores `resources.arsc`: the app targets API 30 or later.
    pub store_resources: bool,
    /// The level at which new contents are deflated: 1 is fast, 9 is small, 0 stores.
    pub level: u8,
    /// The comment of the archive.
    pub comment: &'a [u8],
}

impl Default for Options<'_> {
    /// Keeps what is compressed, deflates new contents at level 6, and writes no comment.
    fn default() -> Self {
        Self { store_libraries: false, store_resources: false, level: 6, comment: &[] }
    }
}

/// Why the zip file of an APK cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A name that Android refuses.
    #[error("the name of entry {name:?} {what}, so Android does not install the APK")]
    Name {
        /// The name, as text.
        name: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An entry that must be stored but cannot be read.
    #[error("cannot read entry {name:?}: {reason}")]
    Entry {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A comment that readers could take for the end record.
    #[error(
        "the comment of the archive contains an end record, so that readers disagree about where the archive ends"
    )]
    Comment,
    /// A limit of zip files without 64-bit sizes.
    #[error("{0}, which needs a 64-bit zip file that Android does not read")]
    TooLarge(&'static str),
}

/// An entry that is ready to be written.
struct Ready<'a> {
    entry: &'a Entry<'a>,
    method: u16,
    needed: u16,
    crc: u32,
    size: u32,
    bytes: Cow<'a, [u8]>,
    /// Offset of its local header.
    at: u32,
}

/// Writes the zip file of an APK with `entries` in their order, except the files of an existing signature (see
/// [`is_signature`]). The result is not signed.
///
/// # Errors
/// A name that Android refuses, an entry that must be stored and cannot be inflated, a comment with the mark of an end
/// record, or more than zip files hold
/// without 64-bit sizes: 65,534 entries or 4 GiB.
pub fn lay_out(entries: &[Entry<'_>], options: &Options<'_>) -> Result<Vec<u8>, Error> {
    let kept: Vec<&Entry<'_>> = entries.iter().filter(|entry| !is_signature(&entry.name)).collect();
    lay_out_all(&kept, options)
}

/// As [`lay_out`], with the files of a signature.
pub(crate) fn lay_out_all(entries: &[&Entry<'_>], options: &Options<'_>) -> Result<Vec<u8>, Error> {
    check_names(entries)?;
    // Deflating dexes takes nearly all of the time.
    let ready: Result<Vec<_>, Error> = entries.par_iter().map(|entry| prepare(entry, options)).collect();
    let mut ready = ready?;
    let length = |entry: &Ready<'_>| entry.bytes.len() + 2 * entry.entry.name.len() + 128;
    let mut out = Vec::with_capacity(ready.iter().map(length).sum());
    for entry in &mut ready {
        push_entry(entry, &mut out)?;
    }
    let directory_at = offset(out.len())?;
    for entry in &ready {
        push_central(entry, &mut out);
    }
    let length = offset(out.len())? - directory_at;
    let count = u16::try_from(ready.len()).ok().filter(|&count| count != u16::MAX);
    let count = count.ok_or(Error::TooLarge("the APK has more than 65,534 entries"))?;
    let comment = u16::try_from(options.comment.len());
    let comment = comment.map_err(|_| Error::TooLarge("the comment has more than 65,535 bytes"))?;
    if options.comment.windows(END.len()).any(|window| window == END) {
        return Err(Error::Comment);
    }
    out.extend_from_slice(END);
    out.extend_from_slice(&[0; 4]);
    push_u16s(&[count, count], &mut out);
    push_u32s(&[length, directory_at], &mut out);
    push_u16s(&[comment], &mut out);
    out.extend_from_slice(options.comment);
    Ok(out)
}

/// Names as `libziparchive` wants them (system/libziparchive, `IsValidEntryName` and `AddToHash`).
fn check_names(entries: &[&Entry<'_>]) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    for entry in entries {
        let name = entry.name.as_ref();
        let wrong = |what| Err(Error::Name { name: display(name), what });
        if core::str::from_utf8(name).is_err() {
            return wrong("is not UTF-8");
        }
        if name.contains(&0) {
            return wrong("contains NUL");
        }
        if name.len() > 0xFFFF {
            return wrong("is longer than 65,535 bytes");
        }
        if !names.insert(name) {
            return wrong("occurs twice");
        }
    }
    Ok(())
}

fn prepare<'a>(entry: &'a Entry<'a>, options: &Options<'_>) -> Result<Ready<'a>, Error> {
    let name = entry.name.as_ref();
    let store = options.store_libraries && is_library(name) || options.store_resources && name == RESOURCES;
    let mut ready =
        Ready { entry, method: STORED, needed: entry.needed, crc: 0, size: 0, bytes: Cow::default(), at: 0 };
    match &entry.data {
        Data::Copied { method, crc, size, bytes } if !store || *method == STORED => {
            (ready.method, ready.crc, ready.size) = (*method, *crc, *size);
            ready.bytes = bytes.as_ref().into();
        }
        data => {
            let failed = |reason| Error::Entry { name: display(name), reason };
            let contents = contents(data).map_err(failed)?;
            let compress = !store && matches!(data, Data::New { deflate: true, .. });
            ready.crc = sum(&contents);
            ready.size = offset(contents.len())?;
            let deflated = if compress { deflate(&contents, options.level) } else { None };
            (ready.method, ready.needed) = if deflated.is_some() { (DEFLATED, 20) } else { (STORED, 10) };
            ready.bytes = deflated.map_or(contents, Cow::Owned);
        }
    }
    Ok(ready)
}

/// Returns a length or offset as a field of 32 bits. All bits set would mean "see the 64-bit field".
fn offset(value: usize) -> Result<u32, Error> {
    let value = u32::try_from(value).ok().filter(|&value| value != u32::MAX);
    value.ok_or(Error::TooLarge("the APK has more than 4 GiB"))
}

fn push_u16s(values: &[u16], out: &mut Vec<u8>) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

fn push_u32s(values: &[u32], out: &mut Vec<u8>) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

/// Appends the fields that local and central headers share, from "version needed" to the length of the name.
fn push_shared(ready: &Ready<'_>, out: &mut Vec<u8>) {
    push_u16s(&[ready.needed, ready.entry.flags & !DESCRIPTOR, ready.method], out);
    out.extend_from_slice(&ready.entry.time);
    push_u32s(&[ready.crc, ready.bytes.len() as u32, ready.size], out);
    push_u16s(&[ready.entry.name.len() as u16], out);
}

/// Appends the extra fields of `extra` that stay true.
fn push_extra(extra: &[u8], out: &mut Vec<u8>) {
    let kept = Extra(extra).filter(|(id, _)| ![ALIGNMENT, ZIP64].contains(id));
    // An id of zero without contents is padding of older tools.
    kept.filter(|(_, field)| field.iter().any(|&byte| byte != 0))
        .for_each(|(_, field)| out.extend_from_slice(field));
}

/// Appends a local header and the data behind it, aligned if stored.
fn push_entry(ready: &mut Ready<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    let (at, name) = (out.len(), ready.entry.name.as_ref());
    ready.at = offset(at)?;
    offset(ready.bytes.len())?;
    let mut extra = Vec::new();
    push_extra(&ready.entry.local_extra, &mut extra);
    let multiple = if ready.method == STORED { multiple(name) } else { 1 };
    if extra.len() > 0xFFFF - 6 - (multiple - 1) {
        extra.clear();
    }
    if ready.method == STORED {
        // The field is there without padding too: it is how `apksigner` knows the multiple.
        let begin = at + LOCAL_LENGTH + name.len() + extra.len() + 6;
        let padding = begin.next_multiple_of(multiple) - begin;
        push_u16s(&[ALIGNMENT, 2 + padding as u16, multiple as u16], &mut extra);
        extra.resize(extra.len() + padding, 0);
    }
    out.extend_from_slice(&0x0403_4b50_u32.to_le_bytes());
    push_shared(ready, out);
    push_u16s(&[extra.len() as u16], out);
    out.extend_from_slice(name);
    out.extend_from_slice(&extra);
    out.extend_from_slice(&ready.bytes);
    Ok(())
}

fn push_central(ready: &Ready<'_>, out: &mut Vec<u8>) {
    let entry = ready.entry;
    let mut extra = Vec::new();
    push_extra(&entry.extra, &mut extra);
    // Only a caller's own value can be longer than the field; a header of an archive cannot.
    extra.truncate(0xFFFF);
    let comment = entry.comment.get(..0xFFFF).unwrap_or(&entry.comment);
    out.extend_from_slice(&0x0201_4b50_u32.to_le_bytes());
    push_u16s(&[entry.made_by], out);
    push_shared(ready, out);
    push_u16s(&[extra.len() as u16, comment.len() as u16, 0, entry.internal], out);
    push_u32s(&[entry.external, ready.at], out);
    out.extend_from_slice(entry.name.as_ref());
    out.extend_from_slice(&extra);
    out.extend_from_slice(comment);
}

#[cfg(test)]
mod tests;
