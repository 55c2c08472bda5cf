//! A lock and a condition that ThreadSanitizer sees, for `scripts/prove races`.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::{Duration, Instant};

/// A lock that ThreadSanitizer sees.
#[derive(Debug)]
pub(crate) struct Mutex<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: only the thread that holds the lock accesses the value.
unsafe impl<T: Send> Sync for Mutex<T> {}

pub(crate) struct MutexGuard<'a, T>(&'a Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        while self.locked.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        Ok(MutexGuard(self))
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.locked.swap(true, Ordering::Acquire) {
            false => Ok(MutexGuard(self)),
            true => Err(TryLockError::WouldBlock),
        }
    }
}

/// A condition that is polled.
#[derive(Debug)]
pub(crate) struct Condvar;

/// Whether the wait timed out.
pub(crate) struct TimedOut;

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self
    }

    pub(crate) fn notify_one(&self) {}

    pub(crate) fn notify_all(&self) {}

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let mutex = guard.0;
        drop(guard);
        std::thread::sleep(Duration::from_millis(1));
        mutex.lock()
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _longest: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, TimedOut)> {
        let guard = self.wait(guard).unwrap_or_else(PoisonError::into_inner);
        Ok((guard, TimedOut))
    }

    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        longest: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, TimedOut)> {
        let end = Instant::now() + longest;
        while condition(&mut guard) && Instant::now() < end {
            guard = self.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        Ok((guard, TimedOut))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the lock.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.0.locked.store(false, Ordering::Release);
    }
}
