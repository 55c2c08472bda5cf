//! An app that falls over at its start, twice in a row, starts without us until its next version. A debuggable build does not: its
//! developer kills it at each deployment.
//!
//! Small files. `starting` in the recordings' folder is there from a start until it has settled; a process that finds it was
//! preceded by one that did not. `disarmed` says for which version nothing is to be armed; its name alone is looked at on main, so that
//! even a fault in arming itself is not met a third time. `installation` has the number by which a share of all
//! installations is chosen, and `off` is there while the app is switched off.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::files::file::private_folder;
use crate::files::worker;
use crate::monitors::config::options::{self, Setting};

/// Starts that did not settle, after which nothing is armed.
const MOST: u64 = 2;
/// A process that has lived for so long has started.
const SETTLED: Duration = Duration::from_secs(10);

/// The mark that is to be removed once this start has settled.
static STARTING: Mutex<Option<PathBuf>> = Mutex::new(None);

fn numbers(path: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(path).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn write(path: &Path, first: u64, second: u64) {
    let text = [first.to_string(), second.to_string(), String::new()].join("\n");
    // In one piece: a reader sees all of it or what was there before.
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(&new).and_then(|mut file| file.write_all(text.as_bytes()));
    let _ = written.and_then(|()| fs::rename(&new, path));
}

/// Whether nothing may be armed: one access(2), the only file that main ever asks for.
pub(crate) fn is_disarmed(mark_folder: &Path) -> bool {
    mark_folder.join("disarmed").exists()
}

/// The mark of an app that was switched off (option `recording`).
const OFF: &str = "off";

/// Whether an earlier start was told to record nothing: one access(2), as above.
pub(crate) fn is_off(mark_folder: &Path) -> bool {
    mark_folder.join(OFF).exists()
}

/// Keeps for the next starts whether anything is to be recorded. On a thread of ours.
pub(crate) fn set_off(mark_folder: &Path, off: bool) {
    if off && !is_off(mark_folder) {
        let _ = fs::create_dir_all(mark_folder).and_then(|()| fs::write(mark_folder.join(OFF), ""));
    } else if !off {
        let _ = fs::remove_file(mark_folder.join(OFF));
    }
}

/// Whether this start may be, and if so notes that it is on its way. Makes and reads files: on a thread of ours.
pub(crate) fn admit(
    folder: &Path,
    mark_folder: &Path,
    process: &str,
    version: u64,
    debuggable: bool,
) -> bool {
    let share = options::number(Setting::InstallsPerMille);
    admit_share(folder, mark_folder, process, version, debuggable, share)
}

fn admit_share(
    folder: &Path,
    mark_folder: &Path,
    process: &str,
    version: u64,
    debuggable: bool,
    share: u64,
) -> bool {
    let _ = private_folder(folder);
    let disarmed = mark_folder.join("disarmed");
    if !debuggable && numbers(&disarmed).is_some_and(|(of, _)| of == version) {
        return false;
    }
    // Another version's or build's, or none that can be read.
    let _ = fs::remove_file(&disarmed);
    if !is_chosen(folder, share) {
        return false;
    }
    let starting = folder.join(["starting-", &crate::files::file::plain(process)].concat());
    if debuggable {
        let _ = fs::remove_file(&starting);
        return true;
    }
    let failed = numbers(&starting).filter(|(of, _)| *of == version).map_or(0, |(_, count)| count);
    if failed >= MOST {
        let _ = private_folder(mark_folder);
        write(&disarmed, version, failed);
        let _ = fs::remove_file(&starting);
        return false;
    }
    write(&starting, version, failed + 1);
    *STARTING.lock().unwrap_or_else(PoisonError::into_inner) = Some(starting);
    worker::after(SETTLED, Box::new(settled));
    true
}

/// This start went well: it has lived for a while, or the user has left it, or it ended in order.
pub(crate) fn settled() {
    if let Some(starting) = STARTING.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = fs::remove_file(starting);
    }
}

/// The system says that an earlier process of the app was not ended by a fault: it does not count.
pub(crate) fn was_no_fault(folder: &Path, process: &str) {
    let starting = folder.join(["starting-", &crate::files::file::plain(process)].concat());
    // This start's own is in the count.
    if let Some((version, count)) = numbers(&starting).filter(|(_, count)| *count > 1) {
        write(&starting, version, count - 1);
    }
}

/// Whether this installation is among those that were asked for, `share` in 1,000. Its number is drawn once.
fn is_chosen(folder: &Path, share: u64) -> bool {
    if share >= 1_000 {
        return true;
    }
    let path = folder.join("installation");
    let number = numbers(&path).map(|(number, _)| number).unwrap_or_else(|| {
        let number = draw();
        write(&path, number, 0);
        number
    });
    number < share
}

/// A number under 1,000.
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

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("anrscope-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn two_starts_that_do_not_settle_disarm_until_the_next_version() {
        let folder = folder("crash-loop");
        let mark = folder.join("mark");
        let start = |version| admit_share(&folder, &mark, "com.example:push", version, false, 1_000);
        assert!(start(7) && !is_disarmed(&mark));
        // It settled: nothing is held against the next ones.
        settled();
        assert!(start(7) && start(7), "one bad start is none too many");
        assert!(!start(7) && is_disarmed(&mark) && !start(7));
        assert!(start(8) && !is_disarmed(&mark), "another version begins anew");
        assert!(start(9), "and a bad start of another version does not count");
        // A process that was killed for its memory is not a bad one.
        assert!(start(9));
        was_no_fault(&folder, "com.example:push");
        assert!(start(9) && !start(9));
        // The same version as a debuggable build: nothing is held against it, nor against the next of its starts.
        for _ in 0..4 {
            assert!(admit_share(&folder, &mark, "com.example:push", 9, true, 1_000) && !is_disarmed(&mark));
        }
        assert!(start(9) && start(9) && !start(9));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_mark_that_cannot_be_read_counts_for_nothing() {
        let folder = folder("crash-loop-mark");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("starting-p"), b"\xff\n99999999999999999999999").unwrap();
        fs::write(folder.join("disarmed"), b"").unwrap();
        assert!(admit_share(&folder, &folder, "p", 1, false, 1_000) && !is_disarmed(&folder));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_installation_keeps_its_number() {
        let folder = folder("installation");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("installation"), "400\n0\n").unwrap();
        assert!(!is_chosen(&folder, 400) && is_chosen(&folder, 401));
        fs::remove_file(folder.join("installation")).unwrap();
        let chosen = is_chosen(&folder, 500);
        assert!((0..5).all(|_| is_chosen(&folder, 500) == chosen));
        assert!(!is_chosen(&folder, 0) && is_chosen(&folder, 1_000));
        assert!((0..1_000).contains(&draw()));
        fs::remove_dir_all(folder).unwrap();
    }
}
