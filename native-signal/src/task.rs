//! Threads of this process as `/proc/self/task` shows them (man 5 proc). Not for signal handlers: it opens files and
//! allocates.

use std::{fs, io};

/// The ids of all threads, oldest first as the kernel lists them.
pub(crate) fn all() -> io::Result<Vec<i32>> {
    let entries = fs::read_dir("/proc/self/task")?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// A thread's name, if it lives.
pub(crate) fn name(tid: i32) -> io::Result<Option<String>> {
    let text = read(tid, "comm")?;
    Ok(text.map(|text| text.trim_end_matches('\n').to_owned()))
}

/// One file about a thread; `None` if the thread has ended, which it may between listing and reading.
fn read(tid: i32, file: &str) -> io::Result<Option<String>> {
    match fs::read(format!("/proc/self/task/{tid}/{file}")) {
        // A name may be any bytes.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What of a thread's status matters to who gets a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    /// `R` running, `S` sleeping, `D` uninterruptible, `t` traced, ...
    pub(crate) state: char,
    /// SigBlk: one bit a blocked signal, bit 0 being signal 1.
    pub(crate) blocked: u64,
}

impl Status {
    /// Whether the thread has this signal open. A thread inside `sigwait` reads as open to what it waits for.
    pub(crate) fn is_open(self, signal: i32) -> bool {
        self.blocked & (1 << (signal - 1)) == 0
    }
}

/// A thread's status, if it lives.
pub(crate) fn status(tid: i32) -> io::Result<Option<Status>> {
    Ok(read(tid, "status")?.as_deref().and_then(parse_status))
}

fn parse_status(text: &str) -> Option<Status> {
    let field =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    Some(Status {
        state: field("State")?.chars().next()?,
        blocked: u64::from_str_radix(field("SigBlk")?, 16).ok()?,
    })
}

/// The calling thread's id.
pub(crate) fn own_id() -> i32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// This process's id, asked from the kernel: a cached one can be stale in a child made by raw `clone` or `vfork`.
pub(crate) fn process_id() -> i32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_getpid) as i32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bit_is_tested_and_nothing_else() {
        let status = |mask: &str| {
            parse_status(&format!("Name:\tx\nState:\tS (sleeping)\nSigPnd:\t0\nSigBlk:\t{mask}\n")).unwrap()
        };
        // In sigwait on stock Android and on a vendor's that blocks more; and outside sigwait.
        assert!(status("0000000000001000").is_open(libc::SIGQUIT));
        assert!(status("0000000000005000").is_open(libc::SIGQUIT));
        assert!(!status("0000000000001204").is_open(libc::SIGQUIT));
        assert_eq!(status("0000000000001204").state, 'S');
        assert_eq!(parse_status("State:\tS\n"), None);
    }

    #[test]
    fn this_thread_is_listed() {
        assert_eq!(name(i32::MAX).unwrap(), None);
        assert!(all().unwrap().contains(&own_id()));
        assert!(status(own_id()).unwrap().is_some());
    }
}
