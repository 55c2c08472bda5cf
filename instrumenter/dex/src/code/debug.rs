//! Debug information: lines, local variables, names of parameters.

use std::borrow::Cow;

use crate::code::opcode::Reference;
use crate::leb128::{Bytes, put_index, put_sleb, put_uleb};

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

/// Reads an item. The events have addresses, which do not descend. `None` if it is broken.
pub(crate) fn read(bytes: &[u8]) -> Option<Debug> {
    let mut from = Bytes::new(bytes, 0);
    let line_start = from.uleb()?;
    let count = from.uleb()?;
    let mut debug = Debug { line_start, ..Debug::default() };
    for _ in 0..count {
        debug.parameters.push(from.index()?);
    }
    let (mut at, mut line) = (0_u32, line_start);
    loop {
        let opcode = from.byte()?;
        let what = match opcode {
            END_SEQUENCE => return Some(debug),
            ADVANCE_PC => {
                at = at.saturating_add(from.uleb()?);
                continue;
            }
            ADVANCE_LINE => {
                line = line.wrapping_add_signed(from.sleb()?);
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
                at = at.saturating_add((adjusted / LINE_RANGE).cast_unsigned());
                line = line.wrapping_add_signed(LINE_BASE + adjusted % LINE_RANGE);
                What::Line(line)
            }
        };
        debug.events.push(Event { at, what });
    }
}

/// Writes an item. `address_of` gives the address of a position, `index_of` the new index of a string or type.
pub(crate) fn write<E>(
    debug: &Debug,
    address_of: impl Fn(u32) -> u32,
    index_of: &mut dyn FnMut(Reference, u32) -> Result<u32, E>,
) -> Result<Vec<u8>, E> {
    let mut out = Vec::with_capacity(8 + debug.parameters.len() + 2 * debug.events.len());
    let mut index =
        |kind: Reference, index: Option<u32>| index.map(|index| index_of(kind, index)).transpose();
    put_uleb(debug.line_start, &mut out);
    put_uleb(debug.parameters.len() as u32, &mut out);
    for name in &debug.parameters {
        put_index(index(Reference::String, *name)?, &mut out);
    }
    let (mut at, mut line) = (0, debug.line_start);
    for event in &debug.events {
        let address = address_of(event.at).max(at);
        let mut ahead = address - at;
        at = address;
        if let What::Line(next) = event.what {
            let difference = next.wrapping_sub(line).cast_signed();
            line = next;
            put_line(ahead, difference, &mut out);
            continue;
        }
        if ahead > 0 {
            out.push(ADVANCE_PC);
            put_uleb(core::mem::take(&mut ahead), &mut out);
        }
        match event.what {
            What::Line(_) => {}
            What::Start { register, name, kind, signature } => {
                out.push(if signature.is_some() { START_LOCAL_EXTENDED } else { START_LOCAL });
                put_uleb(register, &mut out);
                put_index(index(Reference::String, name)?, &mut out);
                put_index(index(Reference::Type, kind)?, &mut out);
                if let Some(signature) = signature {
                    put_index(index(Reference::String, signature)?, &mut out);
                }
            }
            What::End(register) => {
                out.push(END_LOCAL);
                put_uleb(register, &mut out);
            }
            What::Restart(register) => {
                out.push(RESTART_LOCAL);
                put_uleb(register, &mut out);
            }
            What::PrologueEnd => out.push(SET_PROLOGUE_END),
            What::EpilogueBegin => out.push(SET_EPILOGUE_BEGIN),
            What::File(file) => {
                out.push(SET_FILE);
                put_index(index(Reference::String, file)?, &mut out);
            }
        }
    }
    out.push(END_SEQUENCE);
    Ok(out)
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
        out.push(ADVANCE_PC);
        put_uleb(ahead, out);
        FIRST_SPECIAL + lines as u8
    });
    out.push(opcode);
}

/// Calls `visit` with each index in an item: where it starts and ends in `bytes`, its kind and value. Returns
/// `None` if the item is broken.
pub(crate) fn walk<E>(
    bytes: &[u8],
    visit: &mut dyn FnMut(usize, usize, Reference, u32) -> Result<(), E>,
) -> Result<Option<()>, E> {
    let mut from = Bytes::new(bytes, 0);
    let mut step = |from: &mut Bytes<'_>, kind: Reference| -> Result<Option<()>, E> {
        let start = from.at;
        match from.index() {
            None => Ok(None),
            Some(None) => Ok(Some(())),
            Some(Some(index)) => visit(start, from.at, kind, index).map(Some),
        }
    };
    macro_rules! some {
        ($value:expr) => {
            match $value {
                Some(value) => value,
                None => return Ok(None),
            }
        };
    }
    some!(from.uleb());
    for _ in 0..some!(from.uleb()) {
        some!(step(&mut from, Reference::String)?);
    }
    loop {
        match some!(from.byte()) {
            END_SEQUENCE => return Ok(Some(())),
            ADVANCE_PC | END_LOCAL | RESTART_LOCAL => {
                some!(from.uleb());
            }
            ADVANCE_LINE => {
                some!(from.sleb());
            }
            opcode @ (START_LOCAL | START_LOCAL_EXTENDED) => {
                some!(from.uleb());
                some!(step(&mut from, Reference::String)?);
                some!(step(&mut from, Reference::Type)?);
                if opcode == START_LOCAL_EXTENDED {
                    some!(step(&mut from, Reference::String)?);
                }
            }
            SET_FILE => some!(step(&mut from, Reference::String)?),
            _ => {}
        }
    }
}

/// Returns the line of the first line entry. `None` if it has no such entry, or if the item is broken before it.
pub(crate) fn first_line(bytes: &[u8]) -> Option<u32> {
    let mut from = Bytes::new(bytes, 0);
    let mut line = from.uleb()?;
    for _ in 0..from.uleb()? {
        from.uleb()?;
    }
    loop {
        match from.byte()? {
            END_SEQUENCE => return None,
            ADVANCE_LINE => line = line.wrapping_add_signed(from.sleb()?),
            ADVANCE_PC | END_LOCAL | RESTART_LOCAL | SET_FILE => {
                from.uleb()?;
            }
            opcode @ (START_LOCAL | START_LOCAL_EXTENDED) => {
                for _ in 0..if opcode == START_LOCAL { 3 } else { 4 } {
                    from.uleb()?;
                }
            }
            SET_PROLOGUE_END | SET_EPILOGUE_BEGIN => {}
            special => {
                return Some(
                    line.wrapping_add_signed(LINE_BASE + i32::from(special - FIRST_SPECIAL) % LINE_RANGE),
                );
            }
        }
    }
}

/// Replaces the indices of an item. Borrows if none changes. `Ok(None)` if the item is broken.
pub(crate) fn remapped<'a, E>(
    bytes: &'a [u8],
    index_of: &mut dyn FnMut(Reference, u32) -> Result<u32, E>,
) -> Result<Option<Cow<'a, [u8]>>, E> {
    let (mut out, mut copied) = (Vec::new(), 0);
    let walked = walk(bytes, &mut |start, end, kind, old| {
        let new = index_of(kind, old)?;
        if new != old {
            out.extend_from_slice(bytes.get(copied..start).unwrap_or_default());
            put_index(Some(new), &mut out);
            copied = end;
        }
        Ok(())
    })?;
    if walked.is_none() {
        return Ok(None);
    }
    if copied == 0 {
        return Ok(Some(Cow::Borrowed(bytes)));
    }
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    Ok(Some(Cow::Owned(out)))
}
