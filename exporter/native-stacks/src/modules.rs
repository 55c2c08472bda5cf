//! Where the bytes of a module come from.

use std::sync::Arc;

use trace_format::sections::native_modules::Mapping;

/// A source of ELF files.
pub trait Files {
    /// The ELF file of a mapping, whole; `None` if no file has its build id.
    fn elf(&mut self, mapping: &Mapping) -> Option<Arc<[u8]>>;

    /// A second ELF file of the mapping, for the unwind data that the first one lacks: its debug file, or its mini debug info.
    fn debug(&mut self, mapping: &Mapping) -> Option<Arc<[u8]>> {
        let _ = mapping;
        None
    }
}

/// Bytes in hexadecimal, as build ids are written.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
