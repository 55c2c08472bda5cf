//! Notices that the process which has attached is gone, however it ended.
//!
//! It keeps a lock on a file (man 2 flock), which the kernel releases at its end, also after SIGKILL.

use std::fs::File;
use std::io;
use std::path::Path;

/// Calls `then`, on a thread of its own, once no process has `path` locked.
///
/// # Errors
/// If the file cannot be opened, or there is no thread.
pub(crate) fn when_unlocked(path: &Path, then: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let file = File::open(path)?;
    let wait = move || {
        loop {
            match file.lock_shared() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Released at once: the next process that attaches needs the lock.
                locked => break drop((locked, file)),
            }
        }
        then();
    };
    trace_runtime::spawn_quiet("anrscope-client", wait).map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_end_of_the_lock_is_noticed_and_the_lock_is_free_then() {
        let path = std::env::temp_dir().join(format!("anrscope-client-watch-{}", std::process::id()));
        let client = File::create(&path).unwrap();
        client.lock().unwrap();
        let (sender, receiver) = channel();
        when_unlocked(&path, move || sender.send(()).unwrap()).unwrap();
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "it is locked");
        drop(client);
        receiver.recv().unwrap();
        File::open(&path).unwrap().try_lock().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(when_unlocked(&path, || ()).is_err());
    }
}
