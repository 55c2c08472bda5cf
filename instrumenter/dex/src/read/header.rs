//! The header and the map of a dex file.

use super::cursor::Cursor;
use crate::Malformed;
use crate::table::{TABLES, Table};

/// The place of a table in a dex file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Entries.
    pub(super) size: u32,
    /// Offset of the first.
    pub(super) at: u32,
}

impl Extent {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(Self { size: cursor.u32()?, at: cursor.u32()? })
    }
}

/// What the header and the map say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// 35 to 41.
    pub(super) version: u8,
    /// Bytes from the header on. Data of a container may be outside of them.
    pub(super) file_size: usize,
    /// In the order of [`TABLES`].
    tables: [Extent; TABLES.len()],
    pub(super) classes: Extent,
}

const SIZE: u32 = 0x70;
const CONTAINER_HEADER_SIZE: u32 = 0x78;
/// The version that came with containers.
const CONTAINER_VERSION: u8 = 41;

impl Header {
    /// Reads and checks the header at offset `at` of a file or container.
    pub(super) fn read(bytes: &[u8], at: usize) -> Result<Self, Malformed> {
        let bad = |offset: usize, what| Malformed { at: at.saturating_add(offset), what };
        let refuse =
            |is_so: bool, offset: usize, what| Malformed::when(is_so, at.saturating_add(offset), what);
        let mut cursor = Cursor::new(bytes, at);
        let version = version(cursor.take(8)?).map_err(|what| bad(0, what))?;
        let checksum = cursor.u32()?;
        cursor.take(20)?;
        let file_size = cursor.u32()? as usize;
        let header_size = cursor.u32()?;
        let expected = if version >= CONTAINER_VERSION { CONTAINER_HEADER_SIZE } else { SIZE };
        match cursor.u32()? {
            0x1234_5678 => {}
            0x7856_3412 => return Err(bad(0x28, "big-endian dex files are not supported")),
            _ => return Err(bad(0x28, "the endian tag is wrong")),
        }
        refuse(header_size != expected, 0x24, "the header has a wrong size")?;
        let own = at.checked_add(file_size).and_then(|end| bytes.get(at..end));
        let own = own.ok_or(bad(0x20, "the file is shorter than its header says"))?;
        let summed = own.get(12..).filter(|_| file_size >= expected as usize);
        let summed = summed.ok_or(bad(0x20, "the file is shorter than its header"))?;
        if version < CONTAINER_VERSION && file_size != bytes.len() {
            return Err(bad(0x20, "the file is longer than its header says"));
        }
        refuse(libdeflater::adler32(summed) != checksum, 8, "the checksum is wrong")?;
        let link = cursor.u32()?;
        let _link_at = cursor.u32()?;
        refuse(link != 0, 0x2c, "statically linked dex files are not supported")?;
        let map_at = cursor.u32()?;
        let mut listed = [Extent::default(); 6];
        for extent in &mut listed {
            *extent = Extent::read(&mut cursor)?;
        }
        let _data = Extent::read(&mut cursor)?;
        if version >= CONTAINER_VERSION {
            if cursor.u32()? as usize != bytes.len() {
                return Err(bad(0x70, "the container has another size than its header says"));
            }
            refuse(cursor.u32()? as usize != at, 0x74, "the header is at another offset than it says")?;
        } else if at != 0 {
            return Err(bad(4, "a container has a dex file of a version without containers"));
        }
        let [call_sites, handles] = read_map(bytes, map_at as usize, listed)?;
        let [strings, types, protos, fields, methods, classes] = listed;
        let tables = [strings, types, protos, fields, methods, call_sites, handles];
        Ok(Self { version, file_size, tables, classes })
    }

    /// Returns the place of a table.
    pub(super) fn table(&self, table: Table) -> Extent {
        self.tables[table as usize]
    }

    /// Checks that an item is in its table. `at` is where it is referred to.
    pub(super) fn check(&self, table: Table, index: u32, at: usize) -> Result<(), Malformed> {
        let is_inside = index < self.table(table).size;
        if is_inside { Ok(()) } else { Err(Malformed { at, what: table.outside() }) }
    }
}

/// Checks the map, which alone knows of call sites and method handles, and returns those. `listed` are the tables in the header.
fn read_map(bytes: &[u8], at: usize, listed: [Extent; 6]) -> Result<[Extent; 2], Malformed> {
    let mut cursor = Cursor::new(bytes, at);
    Malformed::when(!at.is_multiple_of(4), cursor.at(), "the map is not aligned")?;
    let size = cursor.u32()?;
    let mut previous = None;
    let mut seen = [Extent::default(); 9];
    for _ in 0..size {
        let entry = cursor;
        let kind = cursor.u16()?;
        cursor.u16()?;
        let table = Extent::read(&mut cursor)?;
        if previous.is_some_and(|previous| previous >= table.at) {
            return Err(entry.error("the sections of the map are not in order"));
        }
        previous = Some(table.at);
        if table.at as usize >= bytes.len() {
            return Err(entry.error("a section of the map is outside of the file"));
        }
        match kind {
            0x0000 | 0x1000..=0x1003 | 0x2000..=0x2006 => {}
            0x0001..=0x0008 => {
                let slot = seen.get_mut(usize::from(kind)).filter(|slot| slot.size == 0 && table.size != 0);
                *slot.ok_or_else(|| entry.error("the map has a table twice, or an empty one"))? = table;
            }
            0xf000 => {
                return Err(entry.error("hidden API flags, which only dex files of the boot class path have"));
            }
            _ => return Err(entry.error("the map has an unknown section")),
        }
    }
    let [_, mapped @ .., call_sites, handles] = seen;
    for (listed, mapped) in listed.into_iter().zip(mapped) {
        if listed.size != mapped.size || listed.size != 0 && listed.at != mapped.at {
            return Err(Malformed { at, what: "the map and the header differ" });
        }
    }
    Ok([call_sites, handles])
}

/// The version in a magic number.
fn version(magic: &[u8]) -> Result<u8, &'static str> {
    match magic {
        [b'd', b'e', b'x', b'\n', b'0', tens @ b'3'..=b'4', ones @ b'0'..=b'9', 0] => {
            match (tens - b'0') * 10 + (ones - b'0') {
                version @ (35 | 37..=41) => Ok(version),
                _ => Err("the version of the dex format is not supported"),
            }
        }
        [b'd', b'e', b'x', b'\n', ..] => Err("the version of the dex format is not supported"),
        [b'c', b'd', b'e', b'x', ..] => Err("compact dex, which only ART itself writes"),
        [b'd', b'e', b'y', b'\n', ..] => Err("an optimized dex file (odex), which belongs to one device"),
        _ => Err("not a dex file"),
    }
}
