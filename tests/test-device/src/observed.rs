//! What a test can ask about a device's connections.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

/// What the device has seen on all connections.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The number of connections closed because of a fault.
    pub(crate) cuts: AtomicU64,
    opened: Mutex<Vec<String>>,
}

impl Observed {
    /// Records the name of a service that the host opened.
    pub(crate) fn open(&self, name: &str) {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
    }

    /// Returns the services that the host opened, in order.
    pub(crate) fn opened(&self) -> Vec<String> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
