//! Threads of this process as `/proc/self/task` shows them (man 5 proc). Allocates nothing, since the thread that hangs may
//! hold the allocator's lock. Not for signal handlers: it opens files.

use nix::errno::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

/// Buffer size for one file about a thread, bytes. `status`, the longest, has about 1,500, and some more on a machine with very
/// many CPUs; the rest is not read.
const ROOM: usize = 8 * 1024;

/// The first thread that is `wanted`, in the order in which the kernel lists them: oldest first.
pub(crate) fn find(mut wanted: impl FnMut(i32) -> io::Result<bool>) -> io::Result<Option<i32>> {
    let directory = File::open("/proc/self/task")?;
    let mut entries = [0u8; 4096];
    loop {
        // SAFETY: an open directory, and a buffer of the length that is passed. Not `readdir`, which allocates.
        let read = unsafe {
            libc::syscall(libc::SYS_getdents64, directory.as_raw_fd(), entries.as_mut_ptr(), entries.len())
        };
        let mut rest = match usize::try_from(read) {
            Ok(0) => return Ok(None),
            Ok(read) => &entries[..read.min(entries.len())],
            Err(_) => return Err(io::Error::last_os_error()),
        };
        while let Some((name, next)) = split_entry(rest) {
            rest = next;
            if let Some(tid) = number(name)
                && wanted(tid)?
            {
                return Ok(Some(tid));
            }
        }
    }
}

/// The name of the first of the kernel's `linux_dirent64` entries (man 2 getdents), and the entries after it.
fn split_entry(entries: &[u8]) -> Option<(&[u8], &[u8])> {
    const LENGTH_AT: usize = 16;
    const NAME_AT: usize = 19;
    let length = u16::from_ne_bytes([*entries.get(LENGTH_AT)?, *entries.get(LENGTH_AT + 1)?]);
    let (entry, next) = entries.split_at_checked(length.into())?;
    let name = entry.get(NAME_AT..)?;
    Some((name.split(|&byte| byte == 0).next()?, next))
}

fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

/// Whether this thread of the process is listed under this name.
pub(crate) fn has_name(tid: i32, name: &str) -> io::Result<bool> {
    let mut room = [0; 64];
    Ok(read(tid, "comm", &mut room)?.and_then(|text| text.strip_suffix(b"\n")) == Some(name.as_bytes()))
}

/// Reads `/proc/self/task/TID/FILE` of this process as far as there is room; `None` if the thread has ended, which it may
/// between listing and reading. Allocates nothing.
///
/// # Errors
///
/// The file cannot be opened or read.
pub fn read<'a>(tid: i32, file: &str, room: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
    let mut path = [0u8; 64];
    let mut rest = &mut path[..];
    write!(rest, "/proc/self/task/{tid}/{file}")?;
    let unused = rest.len();
    read_file(std::str::from_utf8(&path[..path.len() - unused]).map_err(io::Error::other)?, room)
}

/// Reads a file of the kernel as far as there is room; `None` if it does not exist, or its thread has ended.
/// Allocates nothing.
///
/// # Errors
///
/// The file cannot be opened or read.
pub fn read_file<'a>(path: &str, room: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
    let gone = |error: &io::Error| matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH));
    let mut opened = match File::open(path) {
        Ok(opened) => opened,
        Err(error) if gone(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut length = 0;
    while length < room.len() {
        match opened.read(&mut room[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(&room[..length]))
}

/// The fields of a thread's status that decide where a signal goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    /// `R` running, `S` sleeping, `D` uninterruptible, `t` traced, ...
    pub(crate) state: char,
    /// SigBlk: one bit a blocked signal, bit 0 being signal 1.
    pub(crate) blocked: u64,
    /// SigPnd: signals sent to this very thread that it has not taken.
    pub(crate) pending: u64,
    /// Voluntary context switches.
    pub(crate) sleeps: u64,
}

impl Status {
    /// Whether this signal is unblocked in the thread. A thread inside `sigwait` reads as having its signals unblocked.
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
    let mut room = [0; ROOM];
    Ok(read(tid, "status", &mut room)?.and_then(parse_status))
}

fn parse_status(text: &[u8]) -> Option<Status> {
    let field = |name: &str| {
        let mut lines = text.split(|&byte| byte == b'\n');
        lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b":")).map(<[u8]>::trim_ascii)
    };
    let set = |name: &str| u64::from_str_radix(std::str::from_utf8(field(name)?).ok()?, 16).ok();
    // The thread ended while the kernel wrote this, and the sets read as empty.
    if field("Threads").and_then(number::<u32>) == Some(0) {
        return None;
    }
    Some(Status {
        state: char::from(*field("State")?.first()?),
        blocked: set("SigBlk")?,
        pending: set("SigPnd")?,
        // Some kernels do not show it.
        sleeps: field("voluntary_ctxt_switches").and_then(number).unwrap_or(0),
    })
}

/// `PF_EXITING` of the kernel's `include/linux/sched.h`, as the flags of `/proc/PID/stat` show it; the same bit in every
/// kernel since 2.6.
const PF_EXITING: u64 = 0x4;

/// Whether a thread exists and is not about to end.
///
/// A thread that has returned is listed for a while, still under its name: the kernel wakes who joined it (it clears
/// the thread's id and calls `futex`) long before it takes it out of `/proc`, and on a machine under load that may take
/// many milliseconds. It even accepts signals, which go away with it. Its state reads `R` most of that time; but it
/// has PF_EXITING from its first step in the kernel on, before a thread that joins it can know that it has ended.
pub(crate) fn lives(tid: i32) -> io::Result<bool> {
    let mut room = [0; 1024];
    Ok(read(tid, "stat", &mut room)?.is_some_and(is_alive))
}

fn is_alive(stat: &[u8]) -> bool {
    // The name stands in brackets and may hold any byte, brackets too.
    let after_name = stat.rsplit(|&byte| byte == b')').next().unwrap_or_default();
    let mut fields = after_name.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let state = fields.next().unwrap_or_default();
    let flags = fields.nth(5).and_then(number::<u64>).unwrap_or(0);
    !matches!(state, b"Z" | b"X" | b"x" | b"") && flags & PF_EXITING == 0
}

/// Sends a signal to one thread of this process (man 2 tgkill), or with signal 0 asks whether that is allowed. Safe in a signal
/// handler. The error is the kernel's.
pub(crate) fn send(pid: i32, tid: i32, signal: i32) -> Result<(), i32> {
    // SAFETY: three integers; the kernel checks them.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, signal) };
    if result == 0 { Ok(()) } else { Err(Errno::last_raw()) }
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
    fn a_signal_is_unblocked_if_its_own_bit_is_clear() {
        let status = |mask: &str| {
            let text = format!("Name:\tx\nState:\tS (sleeping)\nSigPnd:\t4\nSigBlk:\t{mask}\n");
            parse_status(text.as_bytes()).unwrap()
        };
        // In sigwait on stock Android and on a vendor's that blocks more; and outside sigwait.
        assert!(status("0000000000001000").is_open(libc::SIGQUIT));
        assert!(status("0000000000005000").is_open(libc::SIGQUIT));
        assert!(!status("0000000000001204").is_open(libc::SIGQUIT));
        assert_eq!(status("0000000000001204").state, 'S');
        assert!(status("0").is_pending(libc::SIGQUIT) && !status("0").is_pending(libc::SIGHUP));
        assert_eq!(status("0").sleeps, 0);
        assert_eq!(parse_status(b"State:\tS\n"), None);
        let text = b"State:\tR\nThreads:\t0\nSigPnd:\t0\nSigBlk:\t0\nvoluntary_ctxt_switches:\t7\n";
        assert_eq!(parse_status(text), None, "a thread that ended while it was read");
        let text = String::from_utf8(text.to_vec()).unwrap().replace("Threads:\t0", "Threads:\t12");
        assert_eq!(parse_status(text.as_bytes()).unwrap().sleeps, 7);
    }

    #[test]
    fn this_thread_is_listed() {
        assert!(!has_name(i32::MAX, "x").unwrap());
        let own = File::open("/proc/thread-self/comm").and_then(io::read_to_string).unwrap();
        assert!(has_name(own_id(), own.trim_end()).unwrap());
        assert_eq!(find(|tid| Ok(tid == own_id())).unwrap(), Some(own_id()));
        assert_eq!(find(|_| Ok(false)).unwrap(), None);
        assert!(find(|_| Err(io::ErrorKind::Other.into())).is_err());
        assert!(status(own_id()).unwrap().is_some());
        assert!(lives(own_id()).unwrap());
        assert!(!lives(i32::MAX).unwrap());
    }

    #[test]
    fn each_of_many_threads_is_listed_once() {
        // More threads than one read of the directory returns.
        let stop = std::sync::Barrier::new(301);
        std::thread::scope(|scope| {
            for _ in 0..300 {
                std::thread::Builder::new()
                    .stack_size(64 * 1024)
                    .spawn_scoped(scope, || stop.wait())
                    .unwrap();
            }
            let mut seen = std::collections::BTreeSet::new();
            let found = find(|tid| {
                assert!(seen.insert(tid), "{tid} twice");
                Ok(false)
            });
            stop.wait();
            assert_eq!(found.unwrap(), None);
            assert!(seen.len() > 300, "{}", seen.len());
        });
    }

    #[test]
    fn damaged_entries_end_the_list() {
        let mut entry = vec![0; 24];
        entry[16] = 24;
        entry[19..22].copy_from_slice(b"123");
        assert_eq!(split_entry(&entry), Some((&b"123"[..], &[][..])));
        assert_eq!(split_entry(&entry[..23]), None);
        entry[16] = 18;
        assert_eq!(split_entry(&entry), None);
        assert_eq!(split_entry(&[]), None);
    }

    #[test]
    fn a_thread_that_ends_does_not_live() {
        let stat = |state: &str, flags: u64| format!("7 (a ) R 1 (b) {state} 1 2 3 4 5 {flags} 6 7");
        let is_alive = |stat: &str| is_alive(stat.as_bytes());
        assert!(is_alive(&stat("S", 0x40_0040)));
        assert!(!is_alive(&stat("R", 0x40_0044)), "in do_exit");
        assert!(!is_alive(&stat("Z", 0)) && !is_alive(&stat("X", 0)) && !is_alive(""));
        // Once the joiner knows, this function must know too.
        for _ in 0..200 {
            let tid = std::thread::spawn(own_id).join().unwrap();
            assert!(!lives(tid).unwrap());
        }
    }
}
