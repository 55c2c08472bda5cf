//! The format of the cache file.
//!
//! ```text
//! magic 8 | version u32 | crc32 of the rest u32 | key | map id u64 | states | called | class path | map files | inputs
//! key:         text                             map file:  path, stamp
//! states:      count, u64 each
//! called:      count, u64 each, flag            input:     stamp, stamp of the output, flag, directories, items
//! class path:  count, stamps                    item:      name, stamp, sum, stamp of the output, flag, flag,
//!                                                          length u32 and facts of a class, or a length of 0
//! ```
//!
//! All numbers are little-endian. Older versions are not read: a cache of another version leads to a full rebuild,
//! and so does one that is truncated or has a wrong checksum. Only the facts of classes that matter are unpacked
//! ([`super::packed`]).

use std::io::{self, Seek, SeekFrom, Write};

use libdeflater::Crc;
use trace_format::MapId;
use zip_archive::crc32;

use super::bytes::{Decoder, Encoder};
use super::packed::{Facts, Packed};
use super::saved::{DAMAGED, Listing, Saved, SavedInput, SavedItem, SavedMaps};

/// Increment [`VERSION`] when the layout or the meaning of the facts changes.
const MAGIC: [u8; 8] = *b"ANRSINCR";
const VERSION: u32 = 4;
const HEADER_LENGTH: u64 = 16;

/// What is saved about a class.
pub(crate) enum ToSave<'a> {
    /// The facts are unchanged.
    Same(Packed<'a>),
    New(Facts<'a>),
}

/// Bytes that are buffered before a write: the file is as large as all names of a program.
const CHUNK: usize = 256 << 10;

/// Writes the file. `class` returns the facts of a class, and whether the next run has to scan it even if it is
/// unchanged.
pub(super) fn write<'a>(
    file: &mut (impl Write + Seek),
    key: &str,
    maps: &SavedMaps,
    inputs: &[Listing],
    class: impl Fn(usize) -> Option<(ToSave<'a>, bool)>,
) -> io::Result<()> {
    let mut sum = Crc::new();
    let mut out = Encoder { bytes: Vec::with_capacity(CHUNK + (64 << 10)) };
    file.write_all(&MAGIC)?;
    file.write_all(&VERSION.to_le_bytes())?;
    file.write_all(&[0; 4])?;
    let mut flush = |out: &mut Encoder, above: usize| {
        if out.bytes.len() > above {
            sum.update(&out.bytes);
            file.write_all(&out.bytes)?;
            out.bytes.clear();
        }
        io::Result::Ok(sum.sum())
    };
    out.text(key);
    out.u64(maps.id.0);
    out.list(&maps.states, |out, &state| out.u64(state));
    out.list(&maps.called, |out, &key| out.u64(key));
    out.flag(maps.is_whole);
    out.list(&maps.class_path, |out, &stamp| out.stamp(stamp));
    out.list(&maps.files, |out, (path, stamp)| {
        out.text(path);
        out.stamp(*stamp);
    });
    out.count(inputs.len());
    for input in inputs {
        out.stamp(input.stamp);
        out.stamp(input.output);
        out.flag(input.is_quiet);
        out.list(&input.directories, |out, directory| out.text(directory));
        out.count(input.items.len());
        for item in &input.items {
            let class = item.class.and_then(&class);
            out.text(&item.name);
            out.stamp(item.stamp);
            out.sum(item.sum);
            out.stamp(item.output);
            out.flag(item.is_class);
            out.flag(class.as_ref().is_some_and(|&(_, again)| again));
            out.sized(|out| match class {
                None => {}
                Some((ToSave::Same(Packed(bytes)), _)) => out.bytes.extend_from_slice(bytes),
                Some((ToSave::New(facts), _)) => facts.encode(out),
            });
            flush(&mut out, CHUNK)?;
        }
    }
    let sum = flush(&mut out, 0)?;
    file.seek(SeekFrom::Start(HEADER_LENGTH - 4))?;
    file.write_all(&sum.to_le_bytes())
}

impl<'a> Decoder<'a> {
    fn maps(&mut self) -> Option<SavedMaps> {
        Some(SavedMaps {
            id: MapId(self.u64()?),
            states: self.list(Self::u64)?,
            called: self.list(Self::u64)?,
            is_whole: self.flag()?,
            class_path: self.list(Self::stamp)?,
            files: self.list(|this| Some((this.text()?.to_owned(), this.stamp()?)))?,
        })
    }

    fn item(&mut self) -> Option<SavedItem<'a>> {
        Some(SavedItem {
            name: self.text()?,
            stamp: self.stamp()?,
            sum: self.sum()?,
            output: self.stamp()?,
            is_class: self.flag()?,
            again: self.flag()?,
            class: Some(self.sized()?).filter(|facts| !facts.is_empty()).map(Packed),
        })
    }

    fn input(&mut self) -> Option<SavedInput<'a>> {
        Some(SavedInput {
            stamp: self.stamp()?,
            output: self.stamp()?,
            is_quiet: self.flag()?,
            directories: self.list(Self::text)?,
            items: self.list(Self::item)?,
        })
    }
}

/// Reads the file, if it was written with this key.
///
/// # Errors
///
/// Why the cache cannot be used.
pub(super) fn decode<'c>(bytes: &'c [u8], key: &str) -> Result<Saved<'c>, &'static str> {
    let mut head = Decoder { rest: bytes };
    if head.array() != Some(MAGIC) {
        return Err("not a cache of the instrumenter");
    }
    if head.u32() != Some(VERSION) {
        return Err("written by another version");
    }
    if head.u32() != Some(crc32(head.rest)) {
        return Err("truncated or damaged");
    }
    if head.text().ok_or(DAMAGED)? != key {
        return Err("the options, the files that they name, the inputs or the outputs have changed");
    }
    let mut saved = || Some(Saved { maps: head.maps()?, inputs: head.list(Decoder::input)? });
    let saved = saved().ok_or(DAMAGED)?;
    if head.rest.is_empty() { Ok(saved) } else { Err(DAMAGED) }
}
