//! Removes temporary files when the program is interrupted.

use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static SWEPT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn lock(paths: &Mutex<Vec<PathBuf>>) -> MutexGuard<'_, Vec<PathBuf>> {
    paths.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a file or directory that is removed on an interrupt.
pub(crate) fn add(path: &Path) {
    lock(&TEMPORARY).push(path.to_owned());
}

/// Unregisters it: it was removed, or moved to its final place.
pub(crate) fn forget(path: &Path) {
    lock(&TEMPORARY).retain(|known| known != path);
}

/// Registers a directory in which the instrumenter keeps unfinished files, as `.NAME.PID.tmp`.
pub(crate) fn sweep(directory: &Path) {
    let here = directory.as_os_str().is_empty();
    lock(&SWEPT).push(if here { ".".into() } else { directory.to_owned() });
}

/// Removes all registered files and directories.
#[cfg(unix)]
fn remove_all() {
    let mut paths = std::mem::take(&mut *lock(&TEMPORARY));
    let end = format!(".{}.tmp", std::process::id());
    for directory in std::mem::take(&mut *lock(&SWEPT)) {
        let names = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let is_ours = |name: &str| name.starts_with('.') && name.ends_with(&end);
        paths.extend(names.filter(|e| e.file_name().to_str().is_some_and(is_ours)).map(|e| e.path()));
    }
    for path in paths {
        // The program is about to end with the signal's status: a failure here cannot be reported.
        let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    }
}

/// Catches interrupts from now on: removes unfinished files, then ends the program by the signal. A second call does nothing.
#[cfg(unix)]
pub(crate) fn on_interrupts() -> std::io::Result<()> {
    static CAUGHT: AtomicBool = AtomicBool::new(false);
    if CAUGHT.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    crate::signals::on_each(crate::signals::terminating(), end_by)
}

/// Removes unfinished files and ends the process by `signal`.
#[cfg(unix)]
pub(crate) fn end_by(signal: i32) {
    remove_all();
    // It cannot fail for the signals that are caught here; if it did, the program would continue.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Without Unix signals an interrupt ends the program at once.
#[cfg(not(unix))]
pub(crate) fn on_interrupts() -> std::io::Result<()> {
    Ok(())
}
