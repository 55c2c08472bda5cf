//! Reading class files, and the parts of writing them that are independent of tracing.

pub(crate) mod class_file;
pub(crate) mod code;
pub(crate) mod constant_pool;
pub(crate) mod cursor;
pub(crate) mod descriptor;
pub(crate) mod opcodes;
pub(crate) mod text;
