//! The crash-loop guard. An app that crashes at its start, twice in a row, starts without the library until
//! its next version. A debuggable build does not, since its developer kills it at each deployment.
//!
//! The state is in small files. `starting` in the recordings' directory exists from a start until it has
//! settled; a process that finds it was preceded by one that did not settle. `disarmed` names the version
//! for which nothing is armed; main checks only that it exists, so that even a fault in arming is not met a
//! third time. `installation` has the number by which a share of all installs is chosen, and `off` exists
//! while the app is switched off.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use crate::files::file::private_directory;
use crate::files::worker;
use crate::unpoisoned::lock;

/// The number of starts that did not settle after which nothing is armed.
const MAX_FAILED_STARTS: u64 = 2;
/// A process that has lived this long has settled.
const SETTLED_AFTER: Duration = Duration::from_secs(10);

/// The mark to remove once this start has settled.
static STARTING: Mutex<Option<PathBuf>> = Mutex::new(None);

fn numbers(path: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(path).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn write(path: &Path, first: u64, second: u64) {
    let text = [first.to_string(), second.to_string(), String::new()].join("\n");
    // Atomic: a reader sees all of it or the previous content.
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(&new).and_then(|mut file| file.write_all(text.as_bytes()));
    let _ = written.and_then(|()| fs::rename(&new, path));
}

/// Whether this version is disarmed: one access(2), the only file that main checks besides [`is_off`]'s.
pub(crate) fn is_disarmed(mark_directory: &Path) -> bool {
    mark_directory.join("disarmed").exists()
}

/// The mark of an app that was switched off (option `recording`).
const OFF: &str = "off";

/// Whether an earlier start was switched off: one access(2), as above.
pub(crate) fn is_off(mark_directory: &Path) -> bool {
    mark_directory.join(OFF).exists()
}

/// Stores for later starts whether anything is recorded. On a background thread.
pub(crate) fn set_off(mark_directory: &Path, off: bool) {
    if off && !is_off(mark_directory) {
        let _ = fs::create_dir_all(mark_directory).and_then(|()| fs::write(mark_directory.join(OFF), ""));
    } else if !off {
        let _ = fs::remove_file(mark_directory.join(OFF));
    }
}

/// Returns true if the crash-loop guard admits this start, and then notes that it has begun. Only `share` in 1,000 installs are
/// admitted at all. Creates and reads files: on a background thread.
pub(crate) fn admit(
    directory: &Path,
    mark_directory: &Path,
    process: &str,
    version: u64,
    debuggable: bool,
    share: u64,
) -> bool {
    let _ = private_directory(directory);
    let disarmed = mark_directory.join("disarmed");
    if !debuggable && numbers(&disarmed).is_some_and(|(of, _)| of == version) {
        return false;
    }
    // Of another version or build, or unreadable.
    let _ = fs::remove_file(&disarmed);
    if !is_chosen(directory, share) {
        return false;
    }
    let starting = directory.join(["starting-", &crate::files::file::plain(process)].concat());
    if debuggable {
        let _ = fs::remove_file(&starting);
        return true;
    }
    let failed = numbers(&starting).filter(|(of, _)| *of == version).map_or(0, |(_, count)| count);
    if failed >= MAX_FAILED_STARTS {
        let _ = private_directory(mark_directory);
        write(&disarmed, version, failed);
        let _ = fs::remove_file(&starting);
        return false;
    }
    write(&starting, version, failed + 1);
    *lock(&STARTING) = Some(starting);
    worker::after(SETTLED_AFTER, Box::new(settled));
    true
}

/// Notes that this start went well: it has lived for a while, the user has left the app, or it ended in
/// order.
pub(crate) fn settled() {
    if let Some(starting) = lock(&STARTING).take() {
        let _ = fs::remove_file(starting);
    }
}

/// Notes that the system ended an earlier process without a fault of its own: it does not count.
pub(crate) fn was_no_fault(directory: &Path, process: &str) {
    let starting = directory.join(["starting-", &crate::files::file::plain(process)].concat());
    // This start's own is in the count.
    if let Some((version, count)) = numbers(&starting).filter(|(_, count)| *count > 1) {
        write(&starting, version, count - 1);
    }
}

/// Whether this install is in the sample, `share` in 1,000. Its number is drawn once.
fn is_chosen(directory: &Path, share: u64) -> bool {
    if share >= 1_000 {
        return true;
    }
    let path = directory.join("installation");
    let number = numbers(&path).map(|(number, _)| number).unwrap_or_else(|| {
        let number = draw();
        write(&path, number, 0);
        number
    });
    number < share
}

/// A random number under 1,000.
fn draw() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the kernel writes at most the eight bytes of the array.
    let got = unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), 0) };
    let seed = if got == 8 { u64::from_le_bytes(bytes) } else { crate::time::clock::boottime() };
    seed % 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("anrscope-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        directory
    }

    #[test]
    fn two_starts_that_do_not_settle_disarm_until_the_next_version() {
        let directory = directory("crash-loop");
        let mark = directory.join("mark");
        let start = |version| admit(&directory, &mark, "com.example:push", version, false, 1_000);
        assert!(start(7) && !is_disarmed(&mark));
        // It settled: the next starts begin with a clean record.
        settled();
        assert!(start(7) && start(7), "one bad start is allowed");
        assert!(!start(7) && is_disarmed(&mark) && !start(7));
        assert!(start(8) && !is_disarmed(&mark), "another version starts with a clean record");
        assert!(start(9), "and a bad start of another version does not count");
        // A process that was killed for its memory is not a bad start.
        assert!(start(9));
        was_no_fault(&directory, "com.example:push");
        assert!(start(9) && !start(9));
        // The same version as a debuggable build: neither this start nor the next count.
        for _ in 0..4 {
            assert!(admit(&directory, &mark, "com.example:push", 9, true, 1_000) && !is_disarmed(&mark));
        }
        assert!(start(9) && start(9) && !start(9));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn an_unreadable_mark_does_not_count() {
        let directory = directory("crash-loop-mark");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("starting-p"), b"\xff\n99999999999999999999999").unwrap();
        fs::write(directory.join("disarmed"), b"").unwrap();
        assert!(admit(&directory, &directory, "p", 1, false, 1_000) && !is_disarmed(&directory));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn an_install_keeps_its_number() {
        let directory = directory("installation");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("installation"), "400\n0\n").unwrap();
        assert!(!is_chosen(&directory, 400) && is_chosen(&directory, 401));
        fs::remove_file(directory.join("installation")).unwrap();
        let chosen = is_chosen(&directory, 500);
        assert!((0..5).all(|_| is_chosen(&directory, 500) == chosen));
        assert!(!is_chosen(&directory, 0) && is_chosen(&directory, 1_000));
        assert!((0..1_000).contains(&draw()));
        fs::remove_dir_all(directory).unwrap();
    }
}
