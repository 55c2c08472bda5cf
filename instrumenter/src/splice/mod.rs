//! Inserts calls into a method's code, and moves everything that refers to positions in it.

pub(crate) mod calls;
pub(crate) mod code_attribute;
pub(crate) mod constructor;
pub(crate) mod context;
pub(crate) mod debug_tables;
pub(crate) mod emit;
pub(crate) mod exception_table;
pub(crate) mod flow;
pub(crate) mod frames;
pub(crate) mod guard;
pub(crate) mod layout;
mod local;
pub(crate) mod lock;
pub(crate) mod method;
pub(crate) mod report;
mod site;
pub(crate) mod stack_map;
pub(crate) mod stubs;
pub(crate) mod task;
pub(crate) mod type_annotations;
pub(crate) mod waits;
