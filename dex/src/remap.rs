//! Where each item of the tables is written.

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
}
