//! Reading: the chunks of a file, checked so that edits can rely on them.

use zip_archive::u32_at;

use super::super::error::Malformed;
use super::super::{MAX_DEPTH, MAX_SIZE};
use super::chunk::{Chunk, Kind, header};
use super::pool::StringPool;
use super::{Document, Element, NONE};

impl Document {
    /// Reads a file of at most [`MAX_SIZE`] bytes.
    ///
    /// # Errors
    ///
    /// Names the offset of what does not follow the format: chunks that reach out of the file, references to strings that do not
    /// exist, elements that are not closed or nested deeper than [`MAX_DEPTH`], a second string pool or resource map.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        Malformed::when(bytes.len() > MAX_SIZE, 0, "the file is larger than 16 MiB")?;
        let (kind, header_size, size) = header(bytes, 0, bytes.len())?;
        Malformed::when(kind != 0x0003, 0, "not a binary XML file")?;
        let mut chunks = Vec::new();
        let mut at = header_size;
        while size - at >= 8 {
            let chunk = Chunk::read(bytes, at, size)?;
            at = chunk.end;
            chunks.push(chunk);
        }
        let (pool, map) = tables(bytes, &chunks)?;
        for chunk in &chunks {
            for reference in chunk.references(bytes) {
                let string = u32_at(bytes, reference).unwrap_or(NONE);
                if string != NONE && string >= pool.len() {
                    let what = "a reference to a string that the pool does not have";
                    return Err(Malformed::new(reference, what));
                }
            }
        }
        let elements = elements(&chunks)?;
        Ok(Self {
            bytes: bytes.to_vec(),
            header_rest: 8..header_size,
            chunks,
            inner_rest: at..size,
            outer_rest: size..bytes.len(),
            pool,
            map,
            map_edited: false,
            elements,
        })
    }
}

/// The string pool and the resource map, if any.
fn tables(bytes: &[u8], chunks: &[Chunk]) -> Result<(StringPool, Vec<u32>), Malformed> {
    let only = |kind| {
        let mut all = chunks.iter().filter(move |chunk| chunk.kind == kind);
        (all.next(), all.next())
    };
    let pool = match only(Kind::Pool) {
        (Some(chunk), None) => StringPool::read(bytes, chunk.start, chunk.end)?,
        (None, _) => return Err(Malformed::new(8, "the file has no string pool")),
        // The system takes the last one, other readers the first.
        (_, Some(second)) => return Err(Malformed::new(second.start, "a second string pool")),
    };
    let map = match only(Kind::Map) {
        // Entries without a string have no effect.
        (Some(chunk), None) => {
            let entries =
                (chunk.fields()..chunk.end.saturating_sub(3)).step_by(4).map_while(|at| u32_at(bytes, at));
            entries.take(pool.len() as usize).collect()
        }
        (None, _) => Vec::new(),
        (_, Some(second)) => return Err(Malformed::new(second.start, "a second resource map")),
    };
    Ok((pool, map))
}

/// The elements in document order.
pub(super) fn elements(chunks: &[Chunk]) -> Result<Vec<Element>, Malformed> {
    let mut elements = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        match chunk.kind {
            Kind::StartElement => {
                Malformed::when(open.len() >= MAX_DEPTH, chunk.start, "elements are nested deeper than 256")?;
                let parent = open.last().copied();
                open.push(elements.len());
                elements.push(Element { chunk: index, parent });
            }
            Kind::EndElement => {
                open.pop()
                    .ok_or(Malformed::new(chunk.start, "the end of an element that was not started"))?;
            }
            _ => {}
        }
    }
    match chunks.last() {
        Some(last) if !open.is_empty() => Err(Malformed::new(last.end, "the file ends within an element")),
        _ => Ok(elements),
    }
}
