//! Whether main waits for messages, according to the kernel or to its stack.
//!
//! Android's native Looper waits in epoll_wait (AOSP `libutils/Looper.cpp`: pollInner, API 21 to 34), which
//! bionic turns into epoll_pwait. `/proc/self/task/TID/syscall` says which system call a thread is in (man
//! 5 proc). Reading it requires ptrace's access mode ATTACH, of which man 2 ptrace says: "If the calling
//! thread and the target thread are in the same thread group, access is always allowed." So it also works
//! in a process that is not dumpable, and under any uid.

use trace_format::android::is_idle_poll;

use crate::kernel_files;

/// Whether this thread of the process waits in epoll; `None` if the kernel does not say (man 5 proc: the
/// file exists with CONFIG_HAVE_ARCH_TRACEHOOK). Opens, reads and closes one small file; allocates nothing.
pub(crate) fn is_polling(tid: u32) -> Option<bool> {
    kernel_files::of_thread(tid, "syscall", &mut [0; 128]).map(is_poll)
}

/// Returns true if the poll is the innermost call of this stack of main. If a call or a message is open nonetheless, it runs a
/// nested loop.
pub(crate) fn is_innermost(stack: &str) -> bool {
    stack.split_once('(').is_some_and(|(method, _)| is_idle_poll(method))
}

/// Parses `NUMBER ARGUMENTS... SP PC`, or `running`, or a number of -1 for a thread that is blocked outside
/// of a system call.
fn is_poll(text: &[u8]) -> bool {
    let number = text.split(|byte| *byte == b' ').next().and_then(|word| std::str::from_utf8(word).ok());
    number.and_then(|number| number.parse().ok()).is_some_and(|number: libc::c_long| POLLS.contains(&number))
}

/// epoll_pwait2 is 441 in every table (Linux 5.11, `include/uapi/asm-generic/unistd.h` and the others).
#[cfg(target_arch = "aarch64")]
const POLLS: [libc::c_long; 2] = [libc::SYS_epoll_pwait, 441];
/// As above; these architectures also have epoll_wait.
#[cfg(not(target_arch = "aarch64"))]
const POLLS: [libc::c_long; 3] = [libc::SYS_epoll_pwait, libc::SYS_epoll_wait, 441];

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::writing::thread::gettid;

    #[test]
    fn a_thread_in_epoll_wait_polls_and_one_that_sleeps_or_runs_does_not() {
        let Some(here) = is_polling(gettid()) else { return };
        assert!(!here, "it runs");
        let (tids, received) = mpsc::channel();
        for polls in [true, false] {
            let tids = tids.clone();
            thread::spawn(move || {
                tids.send((gettid(), polls)).unwrap();
                if polls {
                    // SAFETY: the epoll instance watches nothing, and the array has room for the one event
                    // that never arrives.
                    unsafe {
                        let epoll = libc::epoll_create1(libc::EPOLL_CLOEXEC);
                        let mut event = libc::epoll_event { events: 0, u64: 0 };
                        libc::epoll_wait(epoll, &raw mut event, 1, 60_000);
                    }
                } else {
                    thread::sleep(Duration::from_secs(60));
                }
            });
        }
        let give_up = Instant::now() + Duration::from_secs(30);
        for (tid, polls) in [received.recv().unwrap(), received.recv().unwrap()] {
            // The sleeping thread is never in it; the other one is, once it gets that far.
            while polls && is_polling(tid) != Some(true) {
                assert!(Instant::now() < give_up, "it never polls");
                thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(is_polling(tid), Some(polls));
        }
    }

    #[test]
    fn a_running_or_faulting_thread_does_not_poll() {
        assert!(!is_poll(b"running\n") && !is_poll(b"-1 0x7ffe 0x7fca\n") && !is_poll(b""));
        let poll = [libc::SYS_epoll_pwait.to_string().as_bytes(), b" 0x3 0x7fca 0x10"].concat();
        assert!(is_poll(&poll));
    }
}
