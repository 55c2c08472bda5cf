//! What is around a method.

use super::waits::ClassWaits;
use crate::class::class_file::ClassFile;
use crate::class::constant_pool::Appended;
use crate::options::Exits;

/// What is the same for all methods of a class.
pub(crate) struct Target {
    /// Index of `i`.
    pub(crate) enter: u16,
    /// Index of `o`.
    pub(crate) exit: u16,
    /// Types of the exit handler's frame.
    pub(crate) handler_types: [u8; 7],
    /// Index of the class `java/lang/Throwable`.
    pub(crate) throwable: u16,
    /// Index of the text `StackMapTable`.
    pub(crate) stack_map_name: u16,
    pub(crate) exits: Exits,
}

/// The class around a method.
pub(crate) struct Context<'c, 'w> {
    pub(crate) class: &'c ClassFile<'c>,
    pub(crate) target: &'c Target,
    pub(crate) pool: &'c mut Appended,
    /// `None` leaves waits alone.
    pub(crate) waits: Option<&'c mut ClassWaits<'w>>,
}
