//! The owner of the mutex that a thread waits for, from the mutex itself.
//!
//! | library | offset of the futex word | owner |
//! | --- | --- | --- |
//! | kernel, locks with priority inheritance | any | the word's low 30 bits (man 2 futex) |
//! | glibc (`sysdeps/nptl/bits/struct_mutex.h`) | 0, `__lock` | `__owner` at 8; `__kind` at 16, on 32 bits at 12 |
//! | bionic (`libc/bionic/pthread_mutex.cpp`) from Android 6, 64 bits | 0, `state` of 16 bits | `owner_tid` at 4, 32 bits |
//! | the same, 32 bits | 0, `state` of 16 bits | `owner_tid` at 2, 16 bits |
//!
//! bionic keeps the owner of recursive and error-checking mutexes only (`state >> 14` 1 and 2). Any other word gives no owner: a
//! condition variable, a semaphore, a lock of another library. An owner counts only if it is another thread of this process.

use super::memory;
use crate::task;
use trace_format::sections::native_stack::SystemCall;

/// Bits of a word that the kernel knows the owner of (`linux/futex.h`); the crate libc has them for glibc alone.
const FUTEX_WAITERS: u32 = 0x8000_0000;
const FUTEX_TID_MASK: u32 = 0x3fff_ffff;

/// Bytes of a mutex that are read: both libraries' whole head.
const HEAD: usize = 24;

/// The mutex's address and its owner; 0 and 0 if the call waits for no mutex with a known owner.
pub(super) fn owner(tid: i32, call: &SystemCall) -> (u64, u32) {
    let [word, operation, value, ..] = call.arguments;
    if libc::c_long::try_from(call.number) != Ok(libc::SYS_futex) {
        return (0, 0);
    }
    let mut head = [0; HEAD];
    let length = memory::read(word, &mut head);
    let Some(read) = head.get(..length) else { return (0, 0) };
    match owner_in(Library::HERE, operation as libc::c_int, value as u32, read) {
        Some((owner, offset)) if owner != tid && matches!(task::lives(owner), Ok(true)) => {
            (word - offset, owner as u32)
        }
        _ => (0, 0),
    }
}

/// Whose mutexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Each build has its own; the tests have all.
#[cfg_attr(not(test), allow(dead_code))]
enum Library {
    Glibc,
    /// With addresses of 64 bits or of 32.
    Bionic64,
    Bionic32,
    Other,
}

impl Library {
    const HERE: Self = if cfg!(all(target_os = "linux", target_env = "gnu")) {
        Self::Glibc
    } else if cfg!(all(target_os = "android", target_pointer_width = "64")) {
        Self::Bionic64
    } else if cfg!(target_os = "android") {
        Self::Bionic32
    } else {
        Self::Other
    };
}

/// The owner's tid in the head of a mutex, and how far behind the mutex's start the futex word is.
fn owner_in(library: Library, operation: libc::c_int, value: u32, head: &[u8]) -> Option<(i32, u64)> {
    let u32_at = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let tid = |number: u32| i32::try_from(number).ok().filter(|&tid| tid > 0);
    match operation & libc::FUTEX_CMD_MASK {
        libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2 => {
            // bionic's word is behind the mutex's start.
            let offset = if library == Library::Bionic64 { 8 } else { 0 };
            Some((tid(u32_at(0)? & FUTEX_TID_MASK)?, offset))
        }
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => match library {
            Library::Glibc => {
                const ROBUST: u32 = 16;
                const KINDS: u32 = 3 | ROBUST | 64 | 128 | 256 | 512;
                let kind = u32_at(if size_of::<usize>() == 8 { 16 } else { 12 })?;
                let lock = u32_at(0)?;
                if kind & !KINDS != 0 {
                    return None;
                }
                if kind & ROBUST != 0 {
                    // The waiter sets the bit of waiters, and waits for the word to change.
                    return (value & FUTEX_WAITERS != 0).then_some((tid(lock & FUTEX_TID_MASK)?, 0));
                }
                // 2 is "locked, with waiters", in the word and in the call.
                (value == 2 && lock == 2).then_some((tid(u32_at(8)?)?, 0))
            }
            Library::Bionic64 | Library::Bionic32 => {
                let state = u32_at(0)? & 0xffff;
                let contended = state & 3 == 2;
                let keeps_an_owner = matches!(state >> 14, 1 | 2);
                // The rest of the word is padding, or the owner.
                if !contended || !keeps_an_owner || value & 0xffff != state {
                    return None;
                }
                let owner = if library == Library::Bionic64 { u32_at(4)? } else { u32_at(0)? >> 16 };
                Some((tid(owner)?, 0))
            }
            Library::Other => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: libc::c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;

    fn words(words: [u32; 6]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn mutexes_of_bionic() {
        // Contended recursive, error-checking, and normal.
        for (kind, owner) in [(1 << 14, Some((77, 0))), (2 << 14, Some((77, 0))), (0, None)] {
            let state = kind | 2;
            assert_eq!(owner_in(Library::Bionic64, WAIT, state, &words([state, 77, 0, 0, 0, 0])), owner);
            let word = state | 77 << 16;
            assert_eq!(owner_in(Library::Bionic32, WAIT, word, &words([word, 0, 0, 0, 0, 0])), owner);
        }
        let state = 1 << 14 | 1;
        assert_eq!(
            owner_in(Library::Bionic64, WAIT, state, &words([state, 77, 0, 0, 0, 0])),
            None,
            "not contended"
        );
        let pi = FUTEX_WAITERS | 77;
        assert_eq!(
            owner_in(Library::Bionic64, libc::FUTEX_LOCK_PI, 0, &words([pi, 0, 0, 0, 0, 0])),
            Some((77, 8))
        );
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn words_of_glibc_that_are_no_mutex() {
        let mutex = words([2, 1, 77, 1, 0, 0]);
        assert_eq!(owner_in(Library::Glibc, WAIT, 2, &mutex), Some((77, 0)));
        assert_eq!(
            owner_in(Library::Glibc, WAIT, 0, &mutex),
            None,
            "waits for another value, as a condition variable does"
        );
        assert_eq!(
            owner_in(Library::Glibc, WAIT, 2, &words([2, 1, 77, 1, 0xdead_beef, 0])),
            None,
            "no kind of mutex"
        );
        assert_eq!(owner_in(Library::Glibc, WAIT, 2, &mutex[..12]), None, "at the end of the memory");
        assert_eq!(owner_in(Library::Glibc, libc::FUTEX_WAKE, 2, &mutex), None);
    }
}
