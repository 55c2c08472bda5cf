//! Parses the `Code` attribute.

use super::class_file::{Attributes, ClassFile, Method, attribute, attributes};
use super::cursor::Cursor;
use crate::error::Malformed;

/// A row of the exception table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handler {
    pub(crate) start: u16,
    pub(crate) end: u16,
    pub(crate) handler: u16,
    pub(crate) catch_type: u16,
}

impl Handler {
    /// True if the row covers the instruction at `pc`.
    pub(crate) fn covers(&self, pc: u32) -> bool {
        (u32::from(self.start)..u32::from(self.end)).contains(&pc)
    }
}

/// The parts of a `Code` attribute.
pub(crate) struct Code<'a> {
    pub(crate) name_index: u16,
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    /// 1 to 65,535 bytes.
    pub(crate) bytes: &'a [u8],
    /// The position of `bytes` in the class file.
    pub(crate) at: usize,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) attributes: Attributes<'a>,
}

impl<'a> Code<'a> {
    /// Returns the code of `method`, which must belong to `class`; `None` if it has none.
    pub(crate) fn for_method(class: &ClassFile<'a>, method: &Method<'a>) -> Result<Option<Self>, Malformed> {
        let Some(range) = &method.code else { return Ok(None) };
        let mut cursor = Cursor::new(class.bytes);
        cursor.skip(range.start)?;
        let (name_index, mut contents) = attribute(&mut cursor)?;
        Self::read(name_index, &mut contents).map(Some)
    }

    fn read(name_index: u16, cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let max_stack = cursor.u2()?;
        let max_locals = cursor.u2()?;
        let length = cursor.u4()?;
        Malformed::when(!(1..=0xFFFF).contains(&length), cursor.at(), "a code length outside 1 to 65,535")?;
        let at = cursor.at();
        let bytes = cursor.bytes(length as usize)?;
        let count = cursor.u2()?;
        let mut rows = cursor.sub(8 * usize::from(count))?;
        let mut handlers = Vec::with_capacity(usize::from(count));
        while !rows.is_empty() {
            handlers.push(Handler {
                start: rows.u2()?,
                end: rows.u2()?,
                handler: rows.u2()?,
                catch_type: rows.u2()?,
            });
        }
        let attributes = attributes(cursor)?;
        Malformed::when(!cursor.is_empty(), cursor.at(), "bytes after the end of a Code attribute")?;
        Ok(Self { name_index, max_stack, max_locals, bytes, at, handlers, attributes })
    }

    /// Returns position and source line of each row of its line tables.
    fn line_rows(&self, class: &ClassFile<'_>) -> impl Iterator<Item = (u16, u16)> {
        let lines = self.attributes.iter().filter(|(name, _)| class.pool.is_text(*name, b"LineNumberTable"));
        lines.flat_map(|(_, contents)| {
            let mut cursor = *contents;
            let count = cursor.u2().unwrap_or(0);
            (0..count).map_while(move |_| Some((cursor.u2().ok()?, cursor.u2().ok()?)))
        })
    }

    /// Returns the source line of the first instruction that has one.
    pub(crate) fn first_line(&self, class: &ClassFile<'_>) -> Option<u16> {
        self.line_rows(class).min_by_key(|&(pc, _)| pc).map(|(_, line)| line)
    }

    /// Returns where each source line starts, sorted by position.
    pub(crate) fn lines(&self, class: &ClassFile<'_>) -> Vec<(u16, u16)> {
        let mut rows: Vec<(u16, u16)> = self.line_rows(class).collect();
        rows.sort_by_key(|&(pc, _)| pc);
        rows
    }
}

/// Returns the source line at `pc`, in lines that are sorted by their start.
pub(crate) fn line_at(lines: &[(u16, u16)], pc: u32) -> Option<u16> {
    let behind = lines.partition_point(|&(start, _)| u32::from(start) <= pc);
    lines.get(behind.checked_sub(1)?).map(|&(_, line)| line)
}
