//! References of code, and code with the indices of a new file.

use std::borrow::Cow;

use super::body::Body;
use super::debug::{self, What};
use super::indices::Indices;
use super::instruction::{pair, unit};
use super::opcode::{CONST_STRING, Format, Opcode, Reference};
use super::scan::{Broken, Scan, Step};
use super::{Code, Handler};
use crate::error::{Fault, Malformed};
use crate::remap::Remap;

/// An item of the tables that code refers to, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Use {
    String(u32),
    Type(u32),
    Proto(u32),
    Field(u32),
    Method(u32),
    CallSite(u32),
    Handle(u32),
}

impl Use {
    fn new(kind: Reference, index: u32) -> Self {
        match kind {
            Reference::String => Self::String(index),
            Reference::Type => Self::Type(index),
            Reference::Proto => Self::Proto(index),
            Reference::Field => Self::Field(index),
            Reference::Method | Reference::MethodAndProto => Self::Method(index),
            Reference::CallSite => Self::CallSite(index),
            Reference::Handle => Self::Handle(index),
        }
    }
}

/// The first index of an instruction, and where it stands.
fn first_index(units: &[u8], pc: u32, opcode: &Opcode) -> Option<(Reference, u32)> {
    let kind = opcode.reference?;
    let index = match opcode.format {
        Format::F31c => pair(units, pc + 1)?,
        _ => u32::from(unit(units, pc + 1)?),
    };
    Some((kind, index))
}

fn put(units: &mut Cow<'_, [u8]>, pc: u32, value: &[u8]) {
    let at = pc as usize * 2;
    if let Some(place) = units.to_mut().get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
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
            let Some((kind, index)) = first_index(&self.units, pc, opcode) else { continue };
            visit(Use::new(kind, index));
            if kind == Reference::MethodAndProto
                && let Some(proto) = unit(&self.units, pc + 3)
            {
                visit(Use::Proto(u32::from(proto)));
            }
        }
        self.handlers.iter().flat_map(|handler| &handler.typed).for_each(|(kind, _)| visit(Use::Type(*kind)));
        if let Some(bytes) = &self.debug {
            let found = debug::walk(bytes, &mut |_, _, kind, index| {
                visit(Use::new(kind, index));
                Ok::<_, Malformed>(())
            })?;
            found.ok_or(Malformed { at: self.at, what: "the debug information of a method is broken" })?;
        }
        Ok(())
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
            let Some((kind, old)) = first_index(&self.units, pc, opcode) else { continue };
            if op == CONST_STRING && indices.is_jumbo(old) {
                return Body::read(self)?.encoded(remap);
            }
            if opcode.format == Format::F31c {
                let new = indices.new_index(kind, old)?;
                if new != old {
                    put(&mut units, pc + 1, &new.to_le_bytes());
                }
                continue;
            }
            let new = indices.short(kind, old)?;
            if u32::from(new) != old {
                put(&mut units, pc + 1, &new.to_le_bytes());
            }
            if kind == Reference::MethodAndProto
                && let Some(old) = unit(&self.units, pc + 3)
            {
                let new = indices.short(Reference::Proto, u32::from(old))?;
                if new != old {
                    put(&mut units, pc + 3, &new.to_le_bytes());
                }
            }
        }
        let mut handlers: Vec<Handler> = self.handlers.clone();
        for (kind, _) in handlers.iter_mut().flat_map(|handler| &mut handler.typed) {
            *kind = indices.new_index(Reference::Type, *kind)?;
        }
        super::write::check_handlers(&handlers)?;
        let debug = self.debug.as_ref().map(|bytes| self.remapped_debug(bytes, indices)).transpose()?;
        Ok(Code { units, handlers, debug, tries: self.tries.clone(), ..*self })
    }

    fn remapped_debug(&self, bytes: &Cow<'a, [u8]>, indices: Indices<'_>) -> Result<Cow<'a, [u8]>, Fault> {
        let mut index_of = |kind, old| indices.new_index(kind, old);
        let remapped = match bytes {
            Cow::Borrowed(bytes) => debug::remapped(bytes, &mut index_of)?,
            Cow::Owned(bytes) => {
                debug::remapped(bytes, &mut index_of)?.map(|new| Cow::Owned(new.into_owned()))
            }
        };
        let broken = Broken { pc: 0, what: "the debug information of a method is broken" };
        remapped.ok_or_else(|| self.malformed(broken).into())
    }
}

impl Body {
    /// Calls `visit` with each item that the code refers to, as [`Code::uses`] does.
    pub fn uses(&self, visit: &mut dyn FnMut(Use)) {
        for (kind, index) in self.instructions.iter().flat_map(|instruction| instruction.references()) {
            visit(Use::new(kind, index));
        }
        self.handlers.iter().flat_map(|handler| &handler.typed).for_each(|(kind, _)| visit(Use::Type(*kind)));
        let Some(debug) = &self.debug else { return };
        debug.parameters.iter().flatten().for_each(|name| visit(Use::String(*name)));
        for event in &debug.events {
            match event.what {
                What::Start { name, kind, signature, .. } => {
                    name.into_iter().chain(signature.flatten()).for_each(|text| visit(Use::String(text)));
                    kind.into_iter().for_each(|kind| visit(Use::Type(kind)));
                }
                What::File(Some(file)) => visit(Use::String(file)),
                _ => {}
            }
        }
    }
}
