//! Debug information: lines, local variables, names of parameters.

use std::borrow::Cow;
use std::ops::Range;

use super::indices::Indices;
use crate::error::{Fault, Malformed};
use crate::leb128::{Bytes, put_index, put_sleb, put_uleb};
use crate::table::{Table, Use};

const END_SEQUENCE: u8 = 0;
const ADVANCE_PC: u8 = 1;
const ADVANCE_LINE: u8 = 2;
const START_LOCAL: u8 = 3;
const START_LOCAL_EXTENDED: u8 = 4;
const END_LOCAL: u8 = 5;
const RESTART_LOCAL: u8 = 6;
const SET_PROLOGUE_END: u8 = 7;
const SET_EPILOGUE_BEGIN: u8 = 8;
const SET_FILE: u8 = 9;
const FIRST_SPECIAL: u8 = 10;
const LINE_BASE: i32 = -4;
const LINE_RANGE: i32 = 15;

/// A `debug_info_item` as events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Debug {
    /// The line register's first value. Not a line of its own.
    pub(crate) line_start: u32,
    /// String indices of the names.
    pub(crate) parameters: Vec<Option<u32>>,
    /// In the order of [`Event::at`].
    pub(crate) events: Vec<Event>,
}

/// Something that begins or ends at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// A position in a body; an address, in units, while it is read.
    pub(crate) at: u32,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Line(u32),
    /// A variable begins: string index of the name, type index, string index of the generic signature.
    Start {
        register: u32,
        name: Option<u32>,
        kind: Option<u32>,
        signature: Option<Option<u32>>,
    },
    End(u32),
    Restart(u32),
    PrologueEnd,
    EpilogueBegin,
    /// String index.
    File(Option<u32>),
}

/// Reads the events of an item, which have addresses that do not descend.
struct Events<'a> {
    from: Bytes<'a>,
    at: u32,
    line: u32,
}

/// Reads the start of an item, without its events. `None` if it is broken.
fn begin(bytes: &[u8]) -> Option<(Debug, Events<'_>)> {
    let mut from = Bytes::new(bytes, 0);
    let line = from.uleb()?;
    let count = from.uleb()?;
    let parameters = (0..count).map(|_| from.index()).collect::<Option<_>>()?;
    Some((Debug { line_start: line, parameters, events: Vec::new() }, Events { from, at: 0, line }))
}

impl Events<'_> {
    /// Reads the next event; `Some(None)` at the end. `None` if the item is broken.
    fn event(&mut self) -> Option<Option<Event>> {
        loop {
            let from = &mut self.from;
            let opcode = from.byte()?;
            let what = match opcode {
                END_SEQUENCE => return Some(None),
                ADVANCE_PC => {
                    self.at = self.at.saturating_add(from.uleb()?);
                    continue;
                }
                ADVANCE_LINE => {
                    self.line = self.line.wrapping_add_signed(from.sleb()?);
                    continue;
                }
                START_LOCAL | START_LOCAL_EXTENDED => {
                    let (register, name, kind) = (from.uleb()?, from.index()?, from.index()?);
                    let signature = if opcode == START_LOCAL { None } else { Some(from.index()?) };
                    What::Start { register, name, kind, signature }
                }
                END_LOCAL => What::End(from.uleb()?),
                RESTART_LOCAL => What::Restart(from.uleb()?),
                SET_PROLOGUE_END => What::PrologueEnd,
                SET_EPILOGUE_BEGIN => What::EpilogueBegin,
                SET_FILE => What::File(from.index()?),
                FIRST_SPECIAL.. => {
                    let adjusted = i32::from(opcode - FIRST_SPECIAL);
                    self.at = self.at.saturating_add((adjusted / LINE_RANGE).cast_unsigned());
                    self.line = self.line.wrapping_add_signed(LINE_BASE + adjusted % LINE_RANGE);
                    What::Line(self.line)
                }
            };
            return Some(Some(Event { at: self.at, what }));
        }
    }
}

/// Reads an item. The events have addresses, which do not descend. `None` if it is broken.
pub(crate) fn read(bytes: &[u8]) -> Option<Debug> {
    let (mut debug, mut events) = begin(bytes)?;
    while let Some(event) = events.event()? {
        debug.events.push(event);
    }
    Some(debug)
}

/// Returns the line of the first line entry. `None` if it has no such entry, or if the item is broken before it.
pub(crate) fn first_line(bytes: &[u8]) -> Option<u32> {
    let (_, mut events) = begin(bytes)?;
    loop {
        if let What::Line(line) = events.event()??.what {
            return Some(line);
        }
    }
}

/// Writes an item. `address_of` gives the address of a position.
pub(super) fn write(
    debug: &Debug,
    address_of: impl Fn(u32) -> u32,
    indices: Indices<'_>,
) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::with_capacity(8 + debug.parameters.len() + 2 * debug.events.len());
    let index = |table: Table, old: Option<u32>| old.map(|old| indices.new_index(table, old)).transpose();
    put_uleb(debug.line_start, &mut out);
    put_uleb(debug.parameters.len() as u32, &mut out);
    for name in &debug.parameters {
        put_index(index(Table::Strings, *name)?, &mut out);
    }
    let (mut at, mut line) = (0, debug.line_start);
    for event in &debug.events {
        let address = address_of(event.at).max(at);
        let ahead = address - at;
        at = address;
        if ahead > 0 && !matches!(event.what, What::Line(_)) {
            put_operation(ADVANCE_PC, ahead, &mut out);
        }
        match event.what {
            What::Line(next) => {
                put_line(ahead, next.wrapping_sub(line).cast_signed(), &mut out);
                line = next;
            }
            What::Start { register, name, kind, signature } => {
                let opcode = if signature.is_some() { START_LOCAL_EXTENDED } else { START_LOCAL };
                put_operation(opcode, register, &mut out);
                put_index(index(Table::Strings, name)?, &mut out);
                put_index(index(Table::Types, kind)?, &mut out);
                if let Some(signature) = signature {
                    put_index(index(Table::Strings, signature)?, &mut out);
                }
            }
            What::End(register) => put_operation(END_LOCAL, register, &mut out),
            What::Restart(register) => put_operation(RESTART_LOCAL, register, &mut out),
            What::PrologueEnd => out.push(SET_PROLOGUE_END),
            What::EpilogueBegin => out.push(SET_EPILOGUE_BEGIN),
            What::File(file) => {
                out.push(SET_FILE);
                put_index(index(Table::Strings, file)?, &mut out);
            }
        }
    }
    out.push(END_SEQUENCE);
    Ok(out)
}

fn put_operation(opcode: u8, operand: u32, out: &mut Vec<u8>) {
    out.push(opcode);
    put_uleb(operand, out);
}

/// Moves ahead by units and lines, and makes an entry there.
fn put_line(ahead: u32, difference: i32, out: &mut Vec<u8>) {
    let in_special = (LINE_BASE..LINE_BASE + LINE_RANGE).contains(&difference);
    if !in_special {
        out.push(ADVANCE_LINE);
        put_sleb(difference, out);
    }
    let lines = (if in_special { difference } else { 0 } - LINE_BASE).cast_unsigned();
    let special = |ahead: u32| {
        let number = ahead.checked_mul(LINE_RANGE.cast_unsigned())?.checked_add(lines)?;
        u8::try_from(number.checked_add(u32::from(FIRST_SPECIAL))?).ok()
    };
    let opcode = special(ahead).unwrap_or_else(|| {
        put_operation(ADVANCE_PC, ahead, out);
        FIRST_SPECIAL + lines as u8
    });
    out.push(opcode);
}

/// Returns the operands of an opcode, which are all LEB128 numbers: the table of an index plus one, and `None` for other numbers.
/// Returns `None` for the opcode that ends the item.
pub(crate) fn operands(opcode: u8) -> Option<&'static [Option<Table>]> {
    Some(match opcode {
        END_SEQUENCE => return None,
        ADVANCE_PC | ADVANCE_LINE | END_LOCAL | RESTART_LOCAL => &[None],
        START_LOCAL => &[None, Some(Table::Strings), Some(Table::Types)],
        START_LOCAL_EXTENDED => &[None, Some(Table::Strings), Some(Table::Types), Some(Table::Strings)],
        SET_FILE => &[Some(Table::Strings)],
        _ => &[],
    })
}

/// Calls `visit` with each index in an item, after its place in `bytes`. `broken` is the error of a broken item.
pub(crate) fn walk<E: From<Malformed>>(
    bytes: &[u8],
    broken: Malformed,
    visit: &mut dyn FnMut(Range<usize>, Use) -> Result<(), E>,
) -> Result<(), E> {
    let mut from = Bytes::new(bytes, 0);
    let mut operand = |from: &mut Bytes<'_>, table: Option<Table>| -> Result<(), E> {
        let start = from.at;
        match (table, from.index().ok_or(broken)?) {
            (Some(table), Some(index)) => visit(start..from.at, (table, index)),
            _ => Ok(()),
        }
    };
    operand(&mut from, None)?;
    for _ in 0..from.uleb().ok_or(broken)? {
        operand(&mut from, Some(Table::Strings))?;
    }
    while let Some(operands) = operands(from.byte().ok_or(broken)?) {
        operands.iter().try_for_each(|table| operand(&mut from, *table))?;
    }
    Ok(())
}

/// Replaces the indices of an item. Borrows if none changes and the item is borrowed. `broken` is the error of a broken item.
pub(super) fn remapped<'a>(
    bytes: &Cow<'a, [u8]>,
    broken: Malformed,
    indices: Indices<'_>,
) -> Result<Cow<'a, [u8]>, Fault> {
    let (mut out, mut copied) = (Vec::new(), 0);
    walk::<Fault>(bytes, broken, &mut |place, (table, old)| {
        let new = indices.new_index(table, old)?;
        if new != old {
            out.extend_from_slice(bytes.get(copied..place.start).unwrap_or_default());
            put_index(Some(new), &mut out);
            copied = place.end;
        }
        Ok(())
    })?;
    if copied == 0 {
        return Ok(bytes.clone());
    }
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    Ok(Cow::Owned(out))
}
