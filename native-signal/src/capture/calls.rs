//! Which system calls go on after a handler with SA_RESTART (man 7 signal). Those that are not known here count as ended by it.

use std::io::Write as _;
use trace_format::sections::native_stack::SystemCall;

/// Whether the kernel restarts this call of a thread of this process after a signal, so that the caller does not notice it.
pub(super) fn is_restarted(call: &SystemCall) -> bool {
    let Ok(number) = libc::c_long::try_from(call.number) else { return false };
    let first = call.arguments[0];
    match number {
        libc::SYS_futex => is_restarted_futex(call.arguments[1], call.arguments[3]),
        libc::SYS_ioctl => is_binder(first),
        libc::SYS_openat | libc::SYS_wait4 | libc::SYS_waitid | libc::SYS_flock => true,
        libc::SYS_read | libc::SYS_readv | libc::SYS_pread64 | libc::SYS_preadv => !has_timeout(first),
        libc::SYS_write | libc::SYS_writev | libc::SYS_pwrite64 | libc::SYS_pwritev => !has_timeout(first),
        libc::SYS_accept4 | libc::SYS_connect => !has_timeout(first),
        libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_sendto | libc::SYS_sendmsg => !has_timeout(first),
        #[cfg(not(target_arch = "x86"))]
        libc::SYS_accept => !has_timeout(first),
        #[cfg(any(target_arch = "arm", target_arch = "x86"))]
        libc::SYS_fcntl64 => true,
        libc::SYS_fcntl => true,
        _ => false,
    }
}

/// A wait without a timeout is restarted; so is a wait for a lock with priority inheritance, whose timeout is a point in time.
fn is_restarted_futex(operation: u64, timeout: u64) -> bool {
    match operation as libc::c_int & libc::FUTEX_CMD_MASK {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => timeout == 0,
        libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2 => true,
        _ => false,
    }
}

/// Whether this is a socket with a timeout: a call on one ends with EINTR.
fn has_timeout(descriptor: u64) -> bool {
    [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO].into_iter().any(|option| {
        // SAFETY: `timeval` is plain integers, for which all zeroes is a value.
        let mut timeout: libc::timeval = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::timeval>() as libc::socklen_t;
        let place = (&raw mut timeout).cast();
        // SAFETY: a live place of this length. What is no socket answers with an error.
        let answer = unsafe {
            libc::getsockopt(descriptor as libc::c_int, libc::SOL_SOCKET, option, place, &mut length)
        };
        answer == 0 && (timeout.tv_sec != 0 || timeout.tv_usec != 0)
    })
}

/// Whether this is binder, whose call returns EINTR to a library that repeats it (AOSP `libs/binder/IPCThreadState.cpp`, `talkWithDriver`). Other
/// drivers may return EINTR to a caller that does not.
fn is_binder(descriptor: u64) -> bool {
    let mut path = [0u8; 64];
    let mut rest = &mut path[..63];
    if write!(rest, "/proc/self/fd/{}", descriptor as libc::c_int).is_err() {
        return false;
    }
    let mut target = [0u8; 64];
    // SAFETY: a path that ends with a zero, and a live place of this length.
    let length = unsafe { libc::readlink(path.as_ptr().cast(), target.as_mut_ptr().cast(), target.len()) };
    let target = usize::try_from(length).ok().and_then(|length| target.get(..length)).unwrap_or_default();
    target.starts_with(b"/dev/")
        && [&b"binder"[..], b"hwbinder", b"vndbinder"]
            .contains(&target.rsplit(|&byte| byte == b'/').next().unwrap_or_default())
}

/// Whether a thread that sleeps in this function of the kernel is in a call that is always restarted. Sockets and futexes are not: their
/// timeouts are not known.
pub(super) fn is_restarted_function(name: &[u8]) -> bool {
    const ALWAYS: [&[u8]; 14] = [
        b"pipe_read",
        b"pipe_write",
        b"pipe_wait",
        b"anon_pipe_read",
        b"anon_pipe_write",
        b"pipe_wait_readable",
        b"pipe_wait_writable",
        b"wait_for_partner",
        b"do_wait",
        b"binder_thread_read",
        b"binder_wait_for_work",
        b"binder_ioctl_write_read",
        b"locks_lock_inode_wait",
        b"flock_lock_inode_wait",
    ];
    // The compiler's copies of a function have a suffix.
    let name = name.split(|&byte| byte == b'.').next().unwrap_or_default();
    ALWAYS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    fn call(number: libc::c_long, arguments: [u64; 4]) -> SystemCall {
        let [a, b, c, d] = arguments;
        SystemCall { number: number as u64, arguments: [a, b, c, d, 0, 0] }
    }

    #[test]
    fn calls_with_a_timeout_are_ended() {
        assert!(!is_restarted(&call(libc::SYS_clock_nanosleep, [0; 4])));
        assert!(!is_restarted(&call(libc::SYS_epoll_pwait, [0; 4])));
        assert!(!is_restarted(&call(libc::SYS_ppoll, [0; 4])));
        assert!(!is_restarted(&SystemCall { number: u64::MAX, arguments: [0; 6] }));
        let (wait, private) = (libc::FUTEX_WAIT as u64, libc::FUTEX_PRIVATE_FLAG as u64);
        assert!(is_restarted(&call(libc::SYS_futex, [8, wait | private, 2, 0])));
        assert!(!is_restarted(&call(libc::SYS_futex, [8, wait | private, 2, 0x7fff])));
        assert!(is_restarted(&call(libc::SYS_futex, [8, libc::FUTEX_LOCK_PI as u64, 2, 0x7fff])));
        assert!(!is_restarted(&call(libc::SYS_futex, [8, libc::FUTEX_WAIT_REQUEUE_PI as u64, 2, 0])));
        // A device that is not binder.
        let null = std::fs::File::open("/dev/null").unwrap();
        assert!(!is_restarted(&call(libc::SYS_ioctl, [null.as_raw_fd() as u64, 0, 0, 0])));
    }

    #[test]
    fn a_socket_with_a_timeout_is_known() {
        let (one, _other) = UnixStream::pair().unwrap();
        let read = call(libc::SYS_read, [one.as_raw_fd() as u64, 0, 0, 0]);
        assert!(is_restarted(&read));
        one.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        assert!(!is_restarted(&read));
    }

    #[test]
    fn functions_of_the_kernel() {
        assert!(is_restarted_function(b"pipe_read") && is_restarted_function(b"do_wait.isra.0"));
        assert!(
            !is_restarted_function(b"hrtimer_nanosleep")
                && !is_restarted_function(b"0")
                && !is_restarted_function(b"")
        );
        assert!(!is_restarted_function(b"futex_wait_queue"));
    }
}
