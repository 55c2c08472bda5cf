//! Whether a SIGQUIT came from a tool that attaches to this JVM.
//!
//! HotSpot takes a SIGQUIT for a request for a thread dump, unless the file `.attach_pid<pid>` is in its working directory
//! or in `/tmp`: then it creates the socket `/tmp/.java_pid<pid>` and listens (OpenJDK, `attachListener_posix.cpp`). The
//! tool removes its file when the socket is there, so either of them shows it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use native_signal::Sensed;

use crate::time::clock;

/// The clock of file times runs in steps, and may be one behind (10 ms at 100 Hz).
const FILE_CLOCK_STEP: Duration = Duration::from_millis(20);

/// Whether a signal was found to be a tool's. The JVM creates its socket once, so a later signal is not the socket's.
static FOUND: AtomicBool = AtomicBool::new(false);

/// Whether a tool has asked to attach by this signal. On the sensor's thread, at once: the files change.
pub(super) fn is_asked_for(sensed: &Sensed) -> bool {
    if cfg!(target_os = "android") {
        // ART has no such protocol.
        return false;
    }
    // As this process sees itself, which is how the tool names it.
    let pid = std::process::id();
    let request = format!(".attach_pid{pid}");
    let is_there = |directory: &str| Path::new(directory).join(&request).symlink_metadata().is_ok();
    if is_there("/proc/self/cwd") || is_there("/tmp") {
        FOUND.store(true, Ordering::Relaxed);
        return true;
    }
    if FOUND.load(Ordering::Relaxed) {
        return false;
    }
    let age = Duration::from_nanos(clock::boottime().saturating_sub(sensed.time_ns));
    let socket = Path::new("/tmp").join(format!(".java_pid{pid}"));
    let created = socket.symlink_metadata().and_then(|meta| meta.modified());
    let found = created.is_ok_and(|created| is_of_signal(created, SystemTime::now(), age));
    FOUND.store(found, Ordering::Relaxed);
    found
}

/// Whether a socket was created by the signal of `age` before `now`, or later.
fn is_of_signal(created: SystemTime, now: SystemTime, age: Duration) -> bool {
    now.checked_sub(age).is_some_and(|signal| created + FILE_CLOCK_STEP >= signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_socket_is_of_an_earlier_tool() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let age = Duration::from_millis(30);
        for (before_now, expected) in [(0, true), (30, true), (45, true), (60, false), (5_000, false)] {
            let created = now - Duration::from_millis(before_now);
            assert_eq!(is_of_signal(created, now, age), expected, "{before_now}");
        }
    }
}
