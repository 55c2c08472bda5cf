//! The least that instrumenting a jar can cost: read it, inflate and deflate every class, copy the rest, write it.
//!
//! Uses the same compression library and as many threads as the instrumenter, and does not parse classes.

use std::error::Error;
use std::fs;
use std::path::Path;

use libdeflater::{CompressionLvl, Compressor, Decompressor};
use rayon::prelude::*;

const END: [u8; 4] = *b"PK\x05\x06";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
const CENTRAL_LENGTH: usize = 46;
const LOCAL_LENGTH: usize = 30;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

/// An entry of the jar that is read.
struct Entry<'a> {
    /// Its record in the central directory, with name, extra fields and comment.
    central: &'a [u8],
    name: &'a [u8],
    data: &'a [u8],
}

/// The entries of a jar in the order of the central directory; `None` if it is broken or needs zip64.
fn entries(jar: &[u8]) -> Option<Vec<Entry<'_>>> {
    let end = jar.windows(4).rposition(|bytes| bytes == END)?;
    let mut at = u32_at(jar, end + 16)?;
    let count = u16_at(jar, end + 10)?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let record = jar.get(at..).filter(|rest| rest.starts_with(&CENTRAL))?;
        let name_length = u16_at(record, 28)?;
        let length = CENTRAL_LENGTH + name_length + u16_at(record, 30)? + u16_at(record, 32)?;
        let central = record.get(..length)?;
        let local = u32_at(central, 42)?;
        let data = local + LOCAL_LENGTH + u16_at(jar, local + 26)? + u16_at(jar, local + 28)?;
        entries.push(Entry {
            central,
            name: central.get(CENTRAL_LENGTH..CENTRAL_LENGTH + name_length)?,
            data: jar.get(data..data + u32_at(central, 20)?)?,
        });
        at += length;
    }
    Some(entries)
}

/// The tables of one thread; without a compressor classes are stored.
struct Worker {
    inflater: Decompressor,
    compressor: Option<Compressor>,
}

impl Worker {
    fn new(level: u8) -> Self {
        let level = CompressionLvl::new(level.into()).ok().filter(|_| level > 0);
        Self { inflater: Decompressor::new(), compressor: level.map(Compressor::new) }
    }
}

/// Inflates a class and deflates it again. Returns the method and the data.
fn recompressed(entry: &Entry<'_>, worker: &mut Worker) -> Option<(u16, Vec<u8>)> {
    let mut class = vec![0; u32_at(entry.central, 24)?];
    match u16_at(entry.central, 10)? as u16 {
        STORED => class.copy_from_slice(entry.data),
        _ => drop(worker.inflater.deflate_decompress(entry.data, &mut class).ok()?),
    }
    let Some(compressor) = &mut worker.compressor else { return Some((STORED, class)) };
    let mut data = vec![0; compressor.deflate_compress_bound(class.len())];
    let length = compressor.deflate_compress(&class, &mut data).ok()?;
    data.truncate(length);
    Some((DEFLATED, data))
}

/// Copies the jar `from` to `to` with every class compressed again at `level`, by `threads` threads.
pub(crate) fn copy(from: &Path, to: &Path, level: u8, threads: usize) -> Result<(), Box<dyn Error>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let jar = fs::read(from)?;
    let entries = entries(&jar).ok_or("not a jar, or one that needs zip64")?;
    let classes: Vec<Option<(u16, Vec<u8>)>> = pool.install(|| {
        let new = |worker: &mut Worker, entry: &Entry<'_>| {
            entry.name.ends_with(b".class").then(|| recompressed(entry, worker)).flatten()
        };
        entries.par_iter().map_init(|| Worker::new(level), new).collect()
    });
    let (mut out, mut directory) = (Vec::with_capacity(jar.len()), Vec::new());
    for (entry, class) in entries.iter().zip(&classes) {
        let mut central = entry.central.to_vec();
        // The sizes are in the local header, so no data descriptor follows.
        central[8] &= !8;
        let data = match class {
            Some((method, data)) => {
                central[10..12].copy_from_slice(&method.to_le_bytes());
                central[20..24].copy_from_slice(&u32::try_from(data.len())?.to_le_bytes());
                data
            }
            None => entry.data,
        };
        central[42..46].copy_from_slice(&u32::try_from(out.len())?.to_le_bytes());
        out.extend_from_slice(&LOCAL);
        // From the version to the length of the name; no extra fields.
        out.extend_from_slice(&central[6..30]);
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(entry.name);
        out.extend_from_slice(data);
        directory.extend_from_slice(&central);
    }
    let start = u32::try_from(out.len())?.to_le_bytes();
    let count = u16::try_from(entries.len())?.to_le_bytes();
    out.extend_from_slice(&directory);
    out.extend_from_slice(&END);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&[count, count].concat());
    out.extend_from_slice(&u32::try_from(directory.len())?.to_le_bytes());
    out.extend_from_slice(&start);
    out.extend_from_slice(&[0; 2]);
    Ok(fs::write(to, out)?)
}
