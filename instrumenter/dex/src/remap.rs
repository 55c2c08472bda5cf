//! Where each item of the tables is written.

use crate::WriteError;

/// New indices by old ones. An item that is not written has [`Remap::UNUSED`].
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Remap {
    pub strings: Vec<u32>,
    pub types: Vec<u32>,
    pub protos: Vec<u32>,
    pub fields: Vec<u32>,
    pub methods: Vec<u32>,
    pub call_sites: Vec<u32>,
    pub handles: Vec<u32>,
}

impl Remap {
    /// The new index of an item that is not written.
    pub const UNUSED: u32 = u32::MAX;

    /// Whether every item keeps its index.
    pub(crate) fn is_identity(&self) -> bool {
        let Self { strings, types, protos, fields, methods, call_sites, handles } = self;
        let mut tables = [strings, types, protos, fields, methods, call_sites, handles].into_iter();
        tables.all(|table| table.iter().zip(0..).all(|(new, old)| *new == old))
    }

    pub(crate) fn string(&self, index: u32) -> Result<u32, WriteError> {
        find(&self.strings, index, "strings")
    }

    pub(crate) fn kind(&self, index: u32) -> Result<u32, WriteError> {
        find(&self.types, index, "types")
    }

    pub(crate) fn proto(&self, index: u32) -> Result<u32, WriteError> {
        find(&self.protos, index, "protos")
    }

    pub(crate) fn field(&self, index: u32) -> Result<u32, WriteError> {
        find(&self.fields, index, "fields")
    }

    pub(crate) fn method(&self, index: u32) -> Result<u32, WriteError> {
        find(&self.methods, index, "methods")
    }

    pub(crate) fn handle(&self, index: u32) -> Result<u32, WriteError> {
        find(&self.handles, index, "method handles")
    }
}

fn find(table: &[u32], index: u32, name: &'static str) -> Result<u32, WriteError> {
    let new = table.get(index as usize).copied().filter(|&new| new != Remap::UNUSED);
    new.ok_or(WriteError::Index { table: name, index })
}
