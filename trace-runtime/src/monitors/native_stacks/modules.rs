//! The thread `anrscope-maps`: records the native code that captures touch, with build ids and unwind rows.
//!
//! Each section has all that the captures since the last change of the loaded libraries touched, so the newest one is enough.

use std::collections::HashSet;
use std::mem::offset_of;
use std::sync::{Mutex, OnceLock};
use std::thread::Thread;

use libc::{c_int, c_void, dl_phdr_info, size_t};
use trace_format::section::SectionKind;
use trace_format::sections::native_modules::{self, NativeModules};

use super::start_thread;
use crate::files::worker;
use crate::recorder::{Recorder, notice};
use crate::time::clock;
use crate::unpoisoned::lock;

/// The most words that wait, or that count as touched.
const MAX_TOUCHED: usize = 1 << 16;
/// Sections of modules take at most this many bytes of a recording.
const MAX_MODULE_BYTES: usize = 8 << 20;
/// No code is mapped below the first page.
const FIRST_ADDRESS: u64 = 4096;

static WAITING: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static THREAD: OnceLock<Option<Thread>> = OnceLock::new();

/// Has the code recorded that these words may be addresses of. On the worker, which does not wait.
pub(super) fn record(words: impl Iterator<Item = u64>) {
    {
        let mut waiting = lock(&WAITING);
        let room = MAX_TOUCHED.saturating_sub(waiting.len());
        waiting.extend(words.filter(|word| *word >= FIRST_ADDRESS).take(room));
    }
    let start = || start_thread("anrscope-maps", "native stacks have no modules", run);
    if let Some(thread) = THREAD.get_or_init(start) {
        thread.unpark();
    }
}

fn run() {
    let mut known = Known::default();
    while Recorder::active().is_some() {
        let words = std::mem::take(&mut *lock(&WAITING));
        if words.is_empty() {
            std::thread::park();
        } else {
            known.add(&words);
        }
    }
}

/// What is recorded of the libraries that are loaded.
#[derive(Default)]
struct Known {
    generation: Option<(u64, u64)>,
    words: HashSet<u64>,
    newest: NativeModules,
    bytes: usize,
    full: bool,
}

impl Known {
    fn add(&mut self, words: &[u64]) {
        let generation = generation();
        if self.generation != generation || self.words.len() + words.len() > MAX_TOUCHED {
            self.generation = generation;
            self.words.clear();
        }
        let before = self.words.len();
        self.words.extend(words);
        if self.words.len() == before || self.full {
            return;
        }
        let mut modules = native_signal::capture::modules(self.words.iter().copied());
        modules.at = self.newest.at;
        if modules == self.newest {
            return;
        }
        modules.at = clock::boottime();
        let payload = modules.encode();
        if payload.len() > native_modules::MAX_LEN || self.bytes + payload.len() > MAX_MODULE_BYTES {
            self.full = true;
            notice("native stacks: no more modules are recorded, the recording has the most it may have");
            return;
        }
        self.bytes += payload.len();
        self.newest = modules;
        worker::append(SectionKind::NativeModules, payload);
    }
}

/// How many libraries were loaded and unloaded so far; `None` where the loader does not say (Android below 11).
fn generation() -> Option<(u64, u64)> {
    unsafe extern "C" fn first(info: *mut dl_phdr_info, size: size_t, found: *mut c_void) -> c_int {
        if size >= offset_of!(dl_phdr_info, dlpi_subs) + size_of::<u64>() {
            // SAFETY: the loader passes an object that lives during this call, and says that it has both fields; `found` is what
            // `generation` passed.
            unsafe { *found.cast::<Option<(u64, u64)>>() = Some(((*info).dlpi_adds, (*info).dlpi_subs)) };
        }
        1
    }
    let mut found = None;
    // SAFETY: `first` gets `found` during the call alone, and stores only what is of its type.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut found).cast()) };
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_counts_libraries() {
        let (loaded, unloaded) = generation().expect("glibc says it");
        assert!(loaded > 0 && loaded >= unloaded);
    }
}
