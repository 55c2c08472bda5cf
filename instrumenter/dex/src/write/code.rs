//! Code items and debug information.

use std::borrow::Cow;
use std::collections::HashMap;

use super::file::File;
use super::output::Output;
use super::pool::Pool;
use crate::code::{Code, Fault};
use crate::leb128::{put_sleb, put_uleb};
use crate::{Class, ClassMethod, Limit, MethodCode, Remap, WriteError};

/// Writes the code of every method and the debug information behind it. Returns the offset of each method's code, 0 where it has none:
/// class by class, direct methods before virtual ones.
pub(super) fn write(classes: &[&Class<'_>], remap: &Remap, file: &mut File) -> Result<Vec<u32>, WriteError> {
    let mut section = Section {
        remap,
        keeps_indices: remap.is_identity(),
        debug: Pool::new(0, 1),
        debug_at: Vec::new(),
        count: 0,
        shared: HashMap::new(),
    };
    let start = file.begin(4);
    let methods = classes.iter().flat_map(|class| class.methods());
    let offsets =
        methods.map(|method| section.method(method, &mut file.bytes)).collect::<Result<Vec<u32>, _>>()?;
    let Section { debug, debug_at, count, .. } = section;
    file.section(0x2001, count, start);
    let debug_section = file.append(0x2003, &debug);
    for (place, offset) in debug_at {
        if let Some(room) = file.bytes.get_mut(place..).and_then(|rest| rest.first_chunk_mut()) {
            *room = debug_section.wrapping_add(offset).to_le_bytes();
        }
    }
    Ok(offsets)
}

struct Section<'a> {
    remap: &'a Remap,
    /// Then code that was read is copied without being decoded, so that what is not understood can be kept.
    keeps_indices: bool,
    debug: Pool,
    /// Where a `debug_info_off` is, and what it is in the section of debug information.
    debug_at: Vec<(usize, u32)>,
    count: usize,
    /// Code that was read, and where it is written, by its offset in the file that was read.
    shared: HashMap<usize, (&'a Code<'a>, u32)>,
}

impl<'a> Section<'a> {
    fn method(&mut self, method: &'a ClassMethod<'_>, to: &mut Vec<u8>) -> Result<u32, WriteError> {
        let failed = |fault| WriteError::Code { method: method.method, fault };
        match &method.code {
            None => Ok(0),
            Some(MethodCode::Read(code)) => {
                if let Some((first, offset)) = self.shared.get(&code.at)
                    && *first == code
                {
                    return Ok(*offset);
                }
                let new = match self.keeps_indices {
                    true => Cow::Borrowed(code),
                    false => Cow::Owned(code.remapped(self.remap).map_err(failed)?),
                };
                let offset = self.item(&new, to).map_err(failed)?;
                self.shared.entry(code.at).or_insert((code, offset));
                Ok(offset)
            }
            Some(MethodCode::Edited(body)) => {
                let code = body.encoded(self.remap).map_err(failed)?;
                self.item(&code, to).map_err(failed)
            }
        }
    }

    /// Appends a `code_item` with new indices.
    fn item(&mut self, code: &Code<'_>, to: &mut Vec<u8>) -> Result<u32, Fault> {
        let tries = u16::try_from(code.tries.len()).map_err(|_| Limit::Tries)?;
        let (units, _) = code.units.as_chunks::<2>();
        to.align(4);
        let offset = to.len() as u32;
        for half in [code.registers, code.ins, code.outs, tries] {
            to.u16(half);
        }
        if let Some(debug) = &code.debug {
            self.debug_at.push((to.len(), self.debug.add(debug)));
        }
        to.u32(0);
        to.u32(units.len() as u32);
        to.extend_from_slice(units.as_flattened());
        self.count += 1;
        if tries == 0 {
            return Ok(offset);
        }
        to.align(4);
        let mut list = Vec::new();
        put_uleb(code.handlers.len() as u32, &mut list);
        let mut starts = Vec::with_capacity(code.handlers.len());
        for handler in &code.handlers {
            starts.push(list.len());
            let typed = handler.typed.len() as i32;
            put_sleb(if handler.catch_all.is_some() { -typed } else { typed }, &mut list);
            for &(kind, address) in &handler.typed {
                put_uleb(kind, &mut list);
                put_uleb(address, &mut list);
            }
            handler.catch_all.into_iter().for_each(|address| put_uleb(address, &mut list));
        }
        for item in &code.tries {
            to.u32(item.start);
            to.u16(item.length);
            let start = starts.get(item.handler).and_then(|&start| u16::try_from(start).ok());
            to.u16(start.ok_or(Limit::Handlers)?);
        }
        to.extend_from_slice(&list);
        Ok(offset)
    }
}
