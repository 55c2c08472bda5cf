//! References of code, and code with the indices of a new file.

use super::body::Body;
use super::debug::{self, What};
use super::indices::Indices;
use super::instruction::{pair, unit};
use super::opcode::{CONST_STRING, Format, Opcode};
use super::scan::{Broken, Scan, Step};
use super::{Code, Handler};
use crate::error::{Fault, Malformed};
use crate::remap::Remap;
use crate::table::{Table, Use};

const BROKEN_DEBUG: &str = "the debug information of a method is broken";

/// The indices of an instruction, each with where it stands. One at most has 32 bits, which [`Format::F31c`] says.
fn references(units: &[u8], pc: u32, opcode: &Opcode) -> impl Iterator<Item = (u32, Use)> + use<> {
    let short = |at: u32| unit(units, at).map(u32::from);
    let index = if opcode.format == Format::F31c { pair(units, pc + 1) } else { short(pc + 1) };
    let first = opcode.reference.zip(index).map(|item| (pc + 1, item));
    let proto = if opcode.format.has_proto() { short(pc + 3) } else { None };
    first.into_iter().chain(proto.map(|proto| (pc + 3, (Table::Protos, proto))))
}

impl<'a> Code<'a> {
    /// Calls `visit` with each item that the code refers to, those of exception handlers and debug information included. An item
    /// comes as often as it is referred to.
    ///
    /// # Errors
    ///
    /// If an instruction or the debug information is broken.
    pub fn uses(&self, visit: &mut dyn FnMut(Use)) -> Result<(), Malformed> {
        for step in Scan::new(&self.units) {
            let (pc, step) = step.map_err(|broken| self.malformed(broken))?;
            let Step::Instruction { opcode, .. } = step else { continue };
            references(&self.units, pc, opcode).for_each(|(_, item)| visit(item));
        }
        let caught = self.handlers.iter().flat_map(|handler| &handler.typed);
        caught.for_each(|(kind, _)| visit((Table::Types, *kind)));
        let Some(bytes) = &self.debug else { return Ok(()) };
        let broken = Malformed { at: self.at, what: BROKEN_DEBUG };
        debug::walk::<Malformed>(bytes, broken, &mut |_, item| {
            visit(item);
            Ok(())
        })
    }

    /// Returns the code with the indices of a new file: the same instructions, unless a `const-string` must become a
    /// `const-string/jumbo`.
    ///
    /// # Errors
    ///
    /// If the code is broken, or if an index does not fit where it stands.
    pub fn remapped(&self, remap: &Remap) -> Result<Code<'a>, Fault> {
        let indices = Indices { remap, at: self.at };
        let mut units = self.units.clone();
        for step in Scan::new(&self.units) {
            let (pc, step) = step.map_err(|broken| self.malformed(broken))?;
            let Step::Instruction { op, opcode } = step else { continue };
            for (at, (table, old)) in references(&self.units, pc, opcode) {
                if op == CONST_STRING && indices.is_jumbo(old) {
                    return Body::read(self)?.encoded(remap);
                }
                let (new, size) = match opcode.format {
                    Format::F31c => (indices.new_index(table, old)?, 4),
                    _ => (u32::from(indices.short(table, old)?), 2),
                };
                let place = at as usize * 2..at as usize * 2 + size;
                if new != old
                    && let Some(place) = units.to_mut().get_mut(place)
                {
                    place.copy_from_slice(&new.to_le_bytes()[..size]);
                }
            }
        }
        let mut handlers: Vec<Handler> = self.handlers.clone();
        for (kind, _) in handlers.iter_mut().flat_map(|handler| &mut handler.typed) {
            *kind = indices.new_index(Table::Types, *kind)?;
        }
        super::write::check_handlers(&handlers)?;
        let broken = self.malformed(Broken { pc: 0, what: BROKEN_DEBUG });
        let debug = self.debug.as_ref().map(|bytes| debug::remapped(bytes, broken, indices)).transpose()?;
        Ok(Code { units, handlers, debug, tries: self.tries.clone(), ..*self })
    }
}

impl Body {
    /// Calls `visit` with each item that the code refers to, as [`Code::uses`] does.
    pub fn uses(&self, visit: &mut dyn FnMut(Use)) {
        self.instructions.iter().flat_map(|instruction| instruction.references()).for_each(&mut *visit);
        let caught = self.handlers.iter().flat_map(|handler| &handler.typed);
        caught.for_each(|(kind, _)| visit((Table::Types, *kind)));
        let Some(debug) = &self.debug else { return };
        debug.parameters.iter().flatten().for_each(|name| visit((Table::Strings, *name)));
        for event in &debug.events {
            match event.what {
                What::Start { name, kind, signature, .. } => {
                    let texts = name.into_iter().chain(signature.flatten());
                    texts.for_each(|text| visit((Table::Strings, text)));
                    kind.into_iter().for_each(|kind| visit((Table::Types, kind)));
                }
                What::File(Some(file)) => visit((Table::Strings, file)),
                _ => {}
            }
        }
    }
}
