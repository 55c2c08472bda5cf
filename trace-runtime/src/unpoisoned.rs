//! Locks mutexes whose data stay usable after a panic.
//!
//! A panic in the library ends the recording and never reaches the app (`guard`). What other threads do with the data until
//! they notice must not panic either, so no lock is refused because an earlier holder panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a panic of an earlier holder.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
