//! Writing the zip file of an APK.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rayon::prelude::*;

use zip_archive::{
    DESCRIPTOR, Deflater, END, Extra, LOCAL_LENGTH, Label, Stored, ZIP64, crc32, push_central, push_end,
    push_local,
};

use super::entry::{display, is_of_signature};
use super::{DEFLATED, Data, Entry, MAX_INFLATED, RESOURCES, STORED, Unreadable, is_library, multiple};

/// The extra field that aligns an entry: two bytes with the multiple, then zeros (apksig, `ApkSigner`).
const ALIGNMENT: u16 = 0xD935;
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
        reason: Unreadable,
    },
    /// A comment that readers could take for the end record.
    #[error(
        "the comment of the archive contains an end record, so that readers disagree about where the archive ends"
    )]
    Comment,
    /// Deflated entries that must be stored, and are too large together.
    #[error(
        "its libraries and resources, which must be stored, inflate to more than {} MiB: build the APK with them stored",
        MAX_INFLATED >> 20
    )]
    Inflated,
    /// A limit of zip files without 64-bit sizes.
    #[error("{0}, which needs a 64-bit zip file that Android does not read")]
    TooLarge(&'static str),
}

/// An entry that is ready to be written.
struct Ready<'a> {
    entry: &'a Entry<'a>,
    stored: Stored,
    bytes: Cow<'a, [u8]>,
}

/// Writes the zip file of an APK with `entries` in their order, except the files of an existing signature (see
/// [`is_of_signature`]). The result is not signed.
///
/// # Errors
/// A name that Android refuses, an entry that must be stored and cannot be inflated, a comment with the mark of an end
/// record, or more than zip files hold
/// without 64-bit sizes: 65,534 entries or 4 GiB.
pub fn lay_out(entries: &[Entry<'_>], options: &Options<'_>) -> Result<Vec<u8>, Error> {
    let kept: Vec<&Entry<'_>> = entries.iter().filter(|entry| !is_of_signature(&entry.name)).collect();
    lay_out_all(&kept, options)
}

/// As [`lay_out`], with the files of a signature.
pub(crate) fn lay_out_all<'a>(entries: &[&'a Entry<'a>], options: &Options<'_>) -> Result<Vec<u8>, Error> {
    check_names(entries)?;
    let inflated = entries.iter().filter(|entry| must_store(entry, options) && entry.is_deflated());
    if inflated.map(|entry| u64::from(entry.size())).sum::<u64>() > MAX_INFLATED {
        return Err(Error::Inflated);
    }
    // Deflating dexes takes nearly all of the time.
    let prepare = |deflater: &mut Deflater, entry: &&'a Entry<'a>| prepare(entry, deflater, options);
    let ready = entries.par_iter().map_init(|| Deflater::new(options.level), prepare);
    let ready = ready.collect::<Result<Vec<_>, Error>>()?;
    let length = |entry: &Ready<'_>| entry.bytes.len() + 2 * entry.entry.name.len() + 128;
    let mut out = Vec::with_capacity(ready.iter().map(length).sum());
    let mut directory = Vec::new();
    for Ready { entry, stored, bytes } in &ready {
        let at = u64::from(offset(out.len())?);
        let (extra, local_extra) = (kept_extra(&entry.extra), aligned_extra(entry, stored.method, out.len()));
        let label = Label {
            attributes: entry.attributes,
            name: &entry.name,
            // Only a caller's own value can be longer than the field; a header of an archive cannot.
            extra: extra.get(..0xFFFF).unwrap_or(&extra),
            local_extra: &local_extra,
            comment: entry.comment.get(..0xFFFF).unwrap_or(&entry.comment),
        };
        push_local(&label, stored, &mut out);
        out.extend_from_slice(bytes);
        push_central(&label, stored, at, &mut directory);
    }
    let at = offset(out.len())?;
    out.append(&mut directory);
    let length = offset(out.len())? - at;
    let count = u16::try_from(ready.len()).ok().filter(|&count| count != u16::MAX);
    let count = count.ok_or(Error::TooLarge("the APK has more than 65,534 entries"))?;
    if options.comment.len() > 0xFFFF {
        return Err(Error::TooLarge("the comment has more than 65,535 bytes"));
    }
    if options.comment.windows(END.len()).any(|window| window == END) {
        return Err(Error::Comment);
    }
    push_end(u64::from(count), u64::from(length), u64::from(at), options.comment, &mut out);
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

fn must_store(entry: &Entry<'_>, options: &Options<'_>) -> bool {
    let name = entry.name.as_ref();
    options.store_libraries && is_library(name) || options.store_resources && name == RESOURCES
}

fn prepare<'a>(
    entry: &'a Entry<'a>,
    deflater: &mut Deflater,
    options: &Options<'_>,
) -> Result<Ready<'a>, Error> {
    let store = must_store(entry, options);
    let (method, needed, crc, bytes, size) = match &entry.data {
        Data::Copied { method, crc, size, bytes } if !store || *method == STORED => {
            (*method, entry.needed, *crc, bytes.as_ref().into(), *size)
        }
        data => {
            let failed = |reason| Error::Entry { name: entry.display_name(), reason };
            let contents = entry.contents(MAX_INFLATED).map_err(failed)?;
            let (crc, size) = (crc32(&contents), offset(contents.len())?);
            let compress = !store && matches!(data, Data::New { deflate: true, .. });
            let deflated = if compress { deflater.deflate(&contents) } else { None };
            match deflated {
                Some(deflated) => (DEFLATED, 20, crc, Cow::Owned(deflated.to_vec()), size),
                None => (STORED, 10, crc, contents, size),
            }
        }
    };
    let flags = entry.flags & !DESCRIPTOR;
    let compressed = u64::from(offset(bytes.len())?);
    let stored = Stored { flags, method, needed, crc, compressed, size: u64::from(size) };
    Ok(Ready { entry, stored, bytes })
}

/// Returns a length or offset as a field of 32 bits. All bits set would mean "see the 64-bit field".
fn offset(value: usize) -> Result<u32, Error> {
    let value = u32::try_from(value).ok().filter(|&value| value != u32::MAX);
    value.ok_or(Error::TooLarge("the APK has more than 4 GiB"))
}

/// Returns the extra fields that stay true.
fn kept_extra(extra: &[u8]) -> Vec<u8> {
    let kept = Extra(extra).filter(|(id, _)| ![ALIGNMENT, ZIP64].contains(id));
    // An id of zero without contents is padding of older tools.
    let kept = kept.filter(|(_, field)| field.iter().any(|&byte| byte != 0));
    kept.flat_map(|(_, field)| field).copied().collect()
}

/// Returns the extra fields of the local header at `at`, which align the data behind it if that is stored.
fn aligned_extra(entry: &Entry<'_>, method: u16, at: usize) -> Vec<u8> {
    let multiple = if method == STORED { multiple(&entry.name) } else { 1 };
    let mut extra = kept_extra(&entry.local_extra);
    if extra.len() > 0xFFFF - 6 - (multiple - 1) {
        extra.clear();
    }
    if method == STORED {
        // The field is there without padding too: it is how `apksigner` knows the multiple.
        let begin = at + LOCAL_LENGTH + entry.name.len() + extra.len() + 6;
        let padding = begin.next_multiple_of(multiple) - begin;
        for value in [ALIGNMENT, 2 + padding as u16, multiple as u16] {
            extra.extend_from_slice(&value.to_le_bytes());
        }
        extra.resize(extra.len() + padding, 0);
    }
    extra
}

#[cfg(test)]
mod tests;
