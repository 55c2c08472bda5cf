//! The atomics, fences and locks of the protocols that are modelled: loom's own under `--cfg loom`.
//!
//! Only protocols that have a model use this; `docs/architecture.md` names them.
//!
//! Under `--cfg anrscope_tsan` the lock is made of atomics: ThreadSanitizer does not see what the standard
//! library's lock does when threads wait for it, because that library is precompiled, and all that the lock
//! guards would look like a race.

/// The lock and the condition of protocols without a model.
pub(crate) mod plain {
    #[cfg(not(anrscope_tsan))]
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

    #[cfg(anrscope_tsan)]
    pub(crate) use super::visible::{Condvar, Mutex, MutexGuard};
}

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
#[cfg(all(not(loom), not(anrscope_tsan)))]
pub(crate) use std::sync::{Mutex, MutexGuard};
#[cfg(all(not(loom), anrscope_tsan))]
pub(crate) use visible::{Mutex, MutexGuard};

pub(crate) use std::sync::atomic::Ordering;

/// Keeps the compiler from moving a load in front of a store. For the CPU there is a grace period.
#[cfg(not(loom))]
#[inline]
pub(crate) fn order() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// Replaces the grace period, which no model has.
#[cfg(loom)]
pub(crate) fn order() {
    fence(Ordering::SeqCst);
}

/// Declares a static that is made of atomics. Loom's have no `const fn new`, so under `--cfg loom` the first use makes the value.
macro_rules! static_of_atomics {
    ($(#[$about:meta])* $name:ident: $type:ty = $value:expr) => {
        $(#[$about])*
        #[cfg(not(loom))]
        pub(crate) static $name: $type = $value;
        $(#[$about])*
        #[cfg(loom)]
        pub(crate) static $name: std::sync::LazyLock<$type> = std::sync::LazyLock::new(|| $value);
    };
}
pub(crate) use static_of_atomics;

#[cfg(anrscope_tsan)]
mod visible;
