//! Code items with their tries and handlers.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Reader;
use super::cursor::Cursor;
use super::debug;
use crate::code::{Code, Handler, Try};
use crate::{Malformed, Table};

/// Items that were read, by offset, with the offsets of their ends.
#[derive(Debug, Default)]
pub(super) struct Seen {
    code: HashMap<u32, usize>,
    debug: HashMap<u32, usize>,
}

impl<'a> Reader<'a, '_> {
    /// The `code_item` at an offset.
    pub(super) fn code(&self, offset: u32, seen: &mut Seen) -> Result<Code<'a>, Malformed> {
        let at = offset as usize;
        let bad = |what| Malformed { at, what };
        Malformed::when(!at.is_multiple_of(4), at, "a code item is not aligned")?;
        let mut cursor = Cursor::new(self.bytes, at);
        let (registers, ins, outs) = (cursor.u16()?, cursor.u16()?, cursor.u16()?);
        Malformed::when(ins > registers, at, "a method has more parameters than registers")?;
        // A short call may name a register several times.
        if outs > 5 && outs > registers {
            return Err(bad("a method passes more arguments than it has registers"));
        }
        let tries_size = usize::from(cursor.u16()?);
        let debug = self.debug(cursor.u32()?, seen)?;
        let length = cursor.u32()?;
        let units = cursor.take((length as usize).saturating_mul(2))?;
        let units = Cow::Borrowed(units);
        let mut code = Code { at, registers, ins, outs, units, debug, ..Code::default() };
        if tries_size != 0 {
            cursor.align()?;
            self.budget.memory::<Try>(at, tries_size)?;
            self.tries(&mut cursor, tries_size, length, &mut code)?;
        }
        if seen.code.insert(offset, cursor.at()).is_none() {
            self.budget.item(at, cursor.at())?;
        }
        Ok(code)
    }

    fn tries(
        &self,
        cursor: &mut Cursor<'_>,
        size: usize,
        length: u32,
        code: &mut Code<'_>,
    ) -> Result<(), Malformed> {
        let mut tries = *cursor;
        cursor.take(size.saturating_mul(8))?;
        let offsets = self.handlers(cursor, length, &mut code.handlers)?;
        code.tries = Vec::with_capacity(size);
        let mut free = 0;
        for _ in 0..size {
            let at = tries.at();
            let (start, count) = (tries.u32()?, tries.u16()?);
            let end = start.checked_add(u32::from(count)).filter(|&end| end <= length);
            let end = end.ok_or(Malformed { at, what: "a try range is outside of the code" })?;
            Malformed::when(start < free, at, "try ranges overlap or are not in order")?;
            free = end;
            let handler = offsets.binary_search(&usize::from(tries.u16()?));
            let handler = handler.map_err(|_| Malformed { at, what: "a try range has no handler" })?;
            code.tries.push(Try { start, length: count, handler });
        }
        Ok(())
    }

    /// Reads an `encoded_catch_handler_list`, and returns the offset of each handler in it.
    fn handlers(
        &self,
        cursor: &mut Cursor<'_>,
        length: u32,
        handlers: &mut Vec<Handler>,
    ) -> Result<Vec<usize>, Malformed> {
        let list = cursor.at();
        let size = cursor.uleb()? as usize;
        Malformed::when(size > cursor.left(), list, "a handler list is longer than the file")?;
        self.budget.memory::<(Handler, usize)>(list, size)?;
        let mut offsets = Vec::with_capacity(size);
        handlers.reserve_exact(size);
        let address = |cursor: &mut Cursor<'_>| {
            let at = cursor.at();
            let address = cursor.uleb()?;
            let inside = Some(address).filter(|&address| address < length);
            inside.ok_or(Malformed { at, what: "a handler is outside of the code" })
        };
        for _ in 0..size {
            let at = cursor.at();
            offsets.push(at - list);
            let clauses = cursor.sleb()?;
            let count = clauses.unsigned_abs() as usize;
            Malformed::when(count > cursor.left() / 2, at, "a handler is longer than the file")?;
            self.budget.memory::<(u32, u32)>(at, count)?;
            let mut handler = Handler { typed: Vec::with_capacity(count), catch_all: None };
            for _ in 0..count {
                let kind = cursor.uleb()?;
                self.header.check(Table::Types, kind, at)?;
                handler.typed.push((kind, address(cursor)?));
            }
            if clauses <= 0 {
                handler.catch_all = Some(address(cursor)?);
            }
            handlers.push(handler);
        }
        Ok(offsets)
    }

    fn debug(&self, offset: u32, seen: &mut Seen) -> Result<Option<Cow<'a, [u8]>>, Malformed> {
        if offset == 0 {
            return Ok(None);
        }
        let at = offset as usize;
        let end = match seen.debug.get(&offset) {
            Some(&end) => end,
            None => {
                let end = debug::end(self.bytes, at)?;
                self.budget.item(at, end)?;
                seen.debug.insert(offset, end);
                end
            }
        };
        let item = self
            .bytes
            .get(at..end)
            .ok_or(Malformed { at, what: "debug information is outside of the file" })?;
        Ok(Some(Cow::Borrowed(item)))
    }
}
