//! Reading class files, and the parts of writing them that are independent of tracing.

pub(crate) mod class_file;
pub(crate) mod code;
pub(crate) mod constant_pool;
pub(crate) mod cursor;
pub(crate) mod descriptor;
pub(crate) mod opcodes;
pub(crate) mod text;

/// Overwrites the bytes of `out` from `at` on.
pub(crate) fn overwrite(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(slot) = out.get_mut(at..at + bytes.len()) {
        slot.copy_from_slice(bytes);
    }
}
