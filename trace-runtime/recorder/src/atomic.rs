//! The atomics of the two protocols that are modelled file by file, [`gate`](crate::gate) and
//! [`time_word`](crate::time::time_word): their models include the same files with loom's atomics in this place.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

/// Keeps the compiler from moving a load in front of a store. For the CPU there is a grace period.
#[inline]
pub(crate) fn order() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}
