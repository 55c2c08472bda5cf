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
    /// SigPnd: signals sent to this very thread that it has not taken.
    pub(crate) pending: u64,
    /// How often it went to sleep of itself (`voluntary_ctxt_switches`).
    pub(crate) sleeps: u64,
}

impl Status {
    /// Whether the thread has this signal open. A thread inside `sigwait` reads as open to what it waits for.
    pub(crate) fn is_open(self, signal: i32) -> bool {
        self.blocked & (1 << (signal - 1)) == 0
    }

    /// Whether this signal was sent to the thread itself and not taken.
    pub(crate) fn is_pending(self, signal: i32) -> bool {
        self.pending & (1 << (signal - 1)) != 0
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
        pending: u64::from_str_radix(field("SigPnd")?, 16).ok()?,
        // Some kernels do not tell.
        sleeps: field("voluntary_ctxt_switches").and_then(|sleeps| sleeps.parse().ok()).unwrap_or(0),
    })
}

/// `PF_EXITING` of the kernel's `include/linux/sched.h`, as the flags of `/proc/PID/stat` show it; the same bit in every
/// kernel since 2.6.
const PF_EXITING: u64 = 0x4;

/// Whether a thread is there and is not about to end.
///
/// A thread that has returned is listed for a while, still under its name: the kernel wakes who joined it (it clears
/// the thread's id and calls `futex`) long before it takes it out of `/proc`, and on a machine under load that may take
/// many milliseconds. It even accepts signals, which go away with it. Its state reads `R` most of that time; but it
/// bears PF_EXITING from its first step in the kernel on, before anybody who joined it can know that it has ended.
pub(crate) fn lives(tid: i32) -> io::Result<bool> {
    Ok(read(tid, "stat")?.as_deref().is_some_and(is_alive))
}

fn is_alive(stat: &str) -> bool {
    // The name stands in brackets and may hold any character, brackets too.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let state = fields.next().unwrap_or_default();
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u64>().ok()).unwrap_or(0);
    !matches!(state, "Z" | "X" | "x" | "") && flags & PF_EXITING == 0
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
            parse_status(&format!("Name:\tx\nState:\tS (sleeping)\nSigPnd:\t4\nSigBlk:\t{mask}\n")).unwrap()
        };
        // In sigwait on stock Android and on a vendor's that blocks more; and outside sigwait.
        assert!(status("0000000000001000").is_open(libc::SIGQUIT));
        assert!(status("0000000000005000").is_open(libc::SIGQUIT));
        assert!(!status("0000000000001204").is_open(libc::SIGQUIT));
        assert_eq!(status("0000000000001204").state, 'S');
        assert!(status("0").is_pending(libc::SIGQUIT) && !status("0").is_pending(libc::SIGHUP));
        assert_eq!(status("0").sleeps, 0);
        assert_eq!(parse_status("State:\tS\n"), None);
    }

    #[test]
    fn this_thread_is_listed() {
        assert_eq!(name(i32::MAX).unwrap(), None);
        assert!(all().unwrap().contains(&own_id()));
        assert!(status(own_id()).unwrap().is_some());
        assert!(lives(own_id()).unwrap());
        assert!(!lives(i32::MAX).unwrap());
    }

    #[test]
    fn a_thread_that_ends_does_not_live() {
        let stat = |state: &str, flags: u64| format!("7 (a ) R 1 (b) {state} 1 2 3 4 5 {flags} 6 7");
        assert!(is_alive(&stat("S", 0x40_0040)));
        assert!(!is_alive(&stat("R", 0x40_0044)), "in do_exit");
        assert!(!is_alive(&stat("Z", 0)) && !is_alive(&stat("X", 0)) && !is_alive(""));
        // Every time that the joiner knows, it is seen here too.
        for _ in 0..200 {
            let tid = std::thread::spawn(own_id).join().unwrap();
            assert!(!lives(tid).unwrap());
        }
    }
}
