//! The functions for native code of the app, declared in `include/anrscope.h`.

use std::ffi::c_int;

use crate::guard::disarm_on_panic;
use crate::monitors::native_stacks::{capturing, watched};
use crate::recorder::Recorder;

/// Watches the calling thread. Returns its tid, 0 if it is not watched.
pub(crate) fn watch(limit_ms: u32) -> u32 {
    if Recorder::active().is_none() {
        return 0;
    }
    let tid = watched::watch(limit_ms);
    if tid != 0 {
        capturing::start();
    }
    tid
}

/// Watches the calling thread: it must call [`anrscope_beat`] at least once in `limit_ms`, 100 to 600,000. Returns 1, or 0 if nothing is recorded or
/// 16 threads are watched already.
#[unsafe(no_mangle)]
extern "C" fn anrscope_watch(limit_ms: u32) -> c_int {
    disarm_on_panic(|| c_int::from(watch(limit_ms) != 0)).unwrap_or(0)
}

/// The calling thread's heartbeat: one store.
#[unsafe(no_mangle)]
extern "C" fn anrscope_beat() {
    watched::beat();
}

/// Stops watching the calling thread. A thread that ends need not call it.
#[unsafe(no_mangle)]
extern "C" fn anrscope_unwatch() {
    disarm_on_panic(watched::unwatch);
}
