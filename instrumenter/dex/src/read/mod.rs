//! Reads dex files.
//!
//! A file is checked for what ART refuses at once and for what later steps rely on: sums, ranges of indices, and order. Instructions are
//! not read. What a file can make the reader do is bounded by the file's size (`budget.rs`).

mod annotations;
mod budget;
mod classes;
mod code;
pub(crate) mod cursor;
mod debug;
mod header;
mod tables;
mod values;

use self::budget::Budget;
use self::cursor::Cursor;
use self::header::Header;
use self::values::ValueReader;
use crate::{Dex, Malformed};

/// Reads every dex file of a file: one, or with version 041 those of the container.
///
/// # Errors
///
/// A file that is not valid, or of a kind that no APK has: compact and optimized dex, and dex files of the boot class path.
pub fn all(bytes: &[u8]) -> Result<Vec<Dex<'_>>, Malformed> {
    let budget = Budget::new(bytes.len(), SHARES);
    let mut at = 0;
    let mut files = Vec::new();
    while at < bytes.len() {
        let header = Header::read(bytes, at)?;
        at = at.saturating_add(header.file_size);
        files.push(read(bytes, header, &budget)?);
    }
    Malformed::when(files.is_empty(), 0, "the file is empty")?;
    Ok(files)
}

/// How often dex files of a container may use the same data, on average.
const SHARES: usize = 16;

impl<'a> Dex<'a> {
    /// Reads a file with one dex file.
    ///
    /// # Errors
    ///
    /// As of [`all`], and if the file is a container of several dex files.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let header = Header::read(bytes, 0)?;
        if header.file_size != bytes.len() {
            return Err(Malformed { at: header.file_size, what: "the file contains several dex files" });
        }
        read(bytes, header, &Budget::new(bytes.len(), 1))
    }
}

fn read<'a>(bytes: &'a [u8], header: Header, budget: &Budget) -> Result<Dex<'a>, Malformed> {
    let reader = Reader { bytes, header, budget };
    let mut dex = Dex { version: header.version, ..Dex::default() };
    dex.strings = reader.strings()?;
    dex.types = reader.types(&dex.strings)?;
    dex.protos = reader.protos(&dex.strings, &dex.types)?;
    dex.fields = reader.fields()?;
    dex.methods = reader.methods()?;
    dex.tables_are_sorted();
    dex.handles = reader.handles()?;
    dex.call_sites = reader.call_sites()?;
    dex.classes = reader.classes(&dex)?;
    Ok(dex)
}

/// What is needed to read the items of a file.
#[derive(Clone, Copy)]
struct Reader<'a, 'b> {
    bytes: &'a [u8],
    header: Header,
    budget: &'b Budget,
}

impl<'a> Reader<'a, '_> {
    /// A reader of the values at an offset.
    fn values(&self, at: usize) -> ValueReader<'_, 'a> {
        ValueReader { cursor: Cursor::new(self.bytes, at), header: &self.header, budget: self.budget }
    }
}
