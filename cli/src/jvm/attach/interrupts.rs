//! Ctrl-C, SIGTERM and SIGHUP: the first one ends the recording, a further one this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::iterator::Signals;

use crate::{cleanup, signals};

/// What the signals do from here on.
#[derive(Clone, Debug)]
pub(super) struct Interrupts {
    /// The recording ends, or has ended.
    ends: Arc<AtomicBool>,
}

impl Interrupts {
    /// Catches the signals, unless they are ignored.
    ///
    /// # Errors
    /// If they cannot be caught.
    pub(super) fn catch() -> anyhow::Result<Self> {
        let this = Self { ends: Arc::default() };
        let mut signals = Signals::new(signals::terminating()).context("cannot catch signals")?;
        let ends = Arc::clone(&this.ends);
        let wait = move || {
            for signal in signals.forever() {
                if ends.swap(true, Ordering::Relaxed) {
                    // The program may be stuck. The agent restores its classes when this process is gone.
                    cleanup::end_by(signal);
                }
            }
        };
        std::thread::Builder::new().name("interrupts".into()).spawn(wait).context("cannot catch signals")?;
        Ok(this)
    }

    /// Whether the recording is to end.
    pub(super) fn came(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Notes that the recording has ended: any signal now ends this process.
    pub(super) fn recording_has_ended(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}
