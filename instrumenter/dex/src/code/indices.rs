//! The indices that items of the tables have in a new file.

use super::opcode::Reference;
use crate::error::{Fault, Limit, Malformed};
use crate::remap::Remap;

/// Looks up new indices for the code at `at` in the file.
#[derive(Clone, Copy)]
pub(super) struct Indices<'r> {
    pub(super) remap: &'r Remap,
    pub(super) at: usize,
}

impl Indices<'_> {
    /// Returns the new index of an item.
    pub(super) fn new_index(self, kind: Reference, old: u32) -> Result<u32, Fault> {
        let Remap { strings, types, protos, fields, methods, call_sites, handles } = self.remap;
        let table = match kind {
            Reference::String => strings,
            Reference::Type => types,
            Reference::Proto => protos,
            Reference::Field => fields,
            Reference::Method | Reference::MethodAndProto => methods,
            Reference::CallSite => call_sites,
            Reference::Handle => handles,
        };
        let new = table.get(old as usize).copied().filter(|new| *new != Remap::UNUSED);
        let what = "the code of a method refers to an item that is not in the tables";
        new.ok_or(Fault::Malformed(Malformed { at: self.at, what }))
    }

    /// Returns the new index of an item that an instruction refers to by 16 bits.
    pub(super) fn short(self, kind: Reference, old: u32) -> Result<u16, Fault> {
        let name = match kind {
            Reference::String => "strings",
            Reference::Type => "types",
            Reference::Proto => "protos",
            Reference::Field => "fields",
            Reference::Method | Reference::MethodAndProto => "methods",
            Reference::CallSite => "call_sites",
            Reference::Handle => "handles",
        };
        u16::try_from(self.new_index(kind, old)?).map_err(|_| Fault::Limit(Limit::Table { name }))
    }

    /// Returns true if a string's new index does not fit in a `const-string`.
    pub(super) fn is_jumbo(self, string: u32) -> bool {
        self.remap.strings.get(string as usize).is_some_and(|new| *new > 0xFFFF)
    }
}
