//! A method's code item: registers, instructions, try ranges and their handlers.

use crate::bytes::{Cursor, half, word};

/// Most handlers of a method. Their list is addressed by 16 bits, so that real methods have fewer.
const MAX_HANDLERS: usize = 65_536;

/// One handler of a try range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handler {
    /// Index into the type table; `None` for a catch-all.
    pub(crate) catches: Option<u32>,
    pub(crate) address: u32,
}

/// A try range, in code units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Try {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Index into [`Code::handlers`].
    pub(crate) list: usize,
}

/// A code item.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) registers: u32,
    pub(crate) ins: u32,
    pub(crate) outs: u32,
    pub(crate) units: Vec<u16>,
    /// Sorted by start, without overlaps.
    pub(crate) tries: Vec<Try>,
    /// The handler lists, in the order of the item.
    pub(crate) handlers: Vec<Vec<Handler>>,
}

/// Returns registers, code units and tries of the code item at `at`, to judge how much work it is.
pub(crate) fn size(bytes: &[u8], at: usize) -> Option<(u32, u32, u32)> {
    let registers = u32::from(half(bytes, at)?);
    let tries = u32::from(half(bytes, at.checked_add(6)?)?);
    Some((registers, word(bytes, at.checked_add(12)?)?, tries))
}

impl Code {
    /// Reads the code item at `at`.
    ///
    /// # Errors
    ///
    /// The rule of the file format that is violated.
    pub(crate) fn read(bytes: &[u8], at: usize) -> Result<Self, &'static str> {
        const OUTSIDE: &str = "the code item is outside of the file";
        if !at.is_multiple_of(4) {
            return Err("the code item is not aligned to 4 bytes");
        }
        let field = |offset: usize| half(bytes, at.saturating_add(offset)).map(u32::from).ok_or(OUTSIDE);
        let (registers, ins, outs, tries) = (field(0)?, field(2)?, field(4)?, field(6)?);
        if ins > registers {
            return Err("ins_size is larger than registers_size");
        }
        if outs > 5 && outs > registers {
            return Err("outs_size is larger than registers_size");
        }
        let count = word(bytes, at.saturating_add(12)).ok_or(OUTSIDE)? as usize;
        let start = at + 16;
        let end = count.checked_mul(2).and_then(|size| start.checked_add(size)).ok_or(OUTSIDE)?;
        let (pairs, _) = bytes.get(start..end).ok_or(OUTSIDE)?.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|&pair| u16::from_le_bytes(pair)).collect();
        let mut code = Self { registers, ins, outs, units, tries: Vec::new(), handlers: Vec::new() };
        if tries > 0 {
            code.read_tries(bytes, end.next_multiple_of(4), tries as usize)?;
        }
        Ok(code)
    }

    fn read_tries(&mut self, bytes: &[u8], at: usize, count: usize) -> Result<(), &'static str> {
        const BROKEN: &str = "the list of handlers is broken";
        let length = self.units.len() as u32;
        let lists = at + count * 8;
        let mut cursor = Cursor::new(bytes, lists);
        let mut offsets = Vec::new();
        let mut total = 0usize;
        let list_count = cursor.unsigned().ok_or(BROKEN)?;
        if list_count == 0 {
            return Err("there are try ranges, but no handlers");
        }
        for _ in 0..list_count {
            offsets.push(cursor.at() - lists);
            let size = cursor.signed().ok_or(BROKEN)?;
            let typed = size.unsigned_abs() as usize;
            total = total.saturating_add(typed).saturating_add(1);
            if total > MAX_HANDLERS {
                return Err("the method has more than 65,536 handlers");
            }
            let mut list = Vec::with_capacity(typed.min(64) + 1);
            for _ in 0..typed {
                let catches = Some(cursor.unsigned().ok_or(BROKEN)?);
                list.push(Handler { catches, address: cursor.unsigned().ok_or(BROKEN)? });
            }
            if size <= 0 {
                list.push(Handler { catches: None, address: cursor.unsigned().ok_or(BROKEN)? });
            }
            self.handlers.push(list);
        }
        let mut last_end = 0;
        for index in 0..count {
            let item = at + index * 8;
            let start = word(bytes, item).ok_or(BROKEN)?;
            let units = u32::from(half(bytes, item + 4).ok_or(BROKEN)?);
            let offset = usize::from(half(bytes, item + 6).ok_or(BROKEN)?);
            let end = start.checked_add(units).filter(|&end| end <= length);
            let end = end.ok_or("a try range leaves the code")?;
            if units == 0 {
                return Err("a try range is empty");
            }
            if start < last_end {
                return Err("try ranges overlap or are not sorted");
            }
            last_end = end;
            let list = offsets
                .binary_search(&offset)
                .map_err(|_| "a try range has no handler list at its offset")?;
            self.tries.push(Try { start, end, list });
        }
        Ok(())
    }

    /// Returns the handlers of the instruction at `pc`.
    pub(crate) fn handlers_at(&self, pc: u32) -> &[Handler] {
        let after = self.tries.partition_point(|range| range.start <= pc);
        let range =
            after.checked_sub(1).and_then(|position| self.tries.get(position)).filter(|range| pc < range.end);
        range.and_then(|range| self.handlers.get(range.list)).map_or(&[], Vec::as_slice)
    }
}
