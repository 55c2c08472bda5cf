//! The class and constants that the methods of a class share.

use super::guard::GuardPool;
use super::waits::ClassWaits;
use crate::class::class_file::ClassFile;
use crate::class::constant_pool::Appended;
use crate::options::Exits;

/// The constants and options that are the same for all methods of a class.
pub(crate) struct Target {
    /// Index of `i`.
    pub(crate) enter: u16,
    /// Index of `o`.
    pub(crate) exit: u16,
    /// Index of the text `StackMapTable`.
    pub(crate) stack_map_name: u16,
    pub(crate) exits: Exits,
    /// Of use only if exits by exceptions or waits are recorded.
    pub(crate) guard: GuardPool,
}

/// The class that contains a method.
pub(crate) struct Context<'c, 'w> {
    pub(crate) class: &'c ClassFile<'c>,
    /// The method's number in the class.
    pub(crate) number: usize,
    pub(crate) target: &'c Target,
    pub(crate) pool: &'c mut Appended,
    /// `None` records no waits.
    pub(crate) waits: Option<&'c mut ClassWaits<'w>>,
}
