//! Where the bytes of a module come from.

use std::sync::Arc;

use trace_format::sections::native_modules::Mapping;

/// A source of ELF files.
pub trait Files {
    /// The ELF file of a mapping, whole; `None` if no file has its build id.
    fn elf(&mut self, mapping: &Mapping) -> Option<Arc<[u8]>>;
}
